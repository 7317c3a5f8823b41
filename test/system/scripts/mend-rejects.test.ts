import { spawn } from 'node:child_process';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';
import { mendRejects, UsageError } from '../../../scripts/mend-rejects';
import { startTestService, type TestService } from '../../support/service';
import { project } from '../../support/harness';

/** Mends in this process. @throws UsageError */
async function mend(rejects: string, ...options: string[]): Promise<{ stdout: string; stderr: string }> {
  const target = new PassThrough();
  const lines: string[] = [];
  const [stdout] = await Promise.all([
    text(target),
    mendRejects(options, Readable.from([Buffer.from(rejects)]), target, (line) => lines.push(`${line}\n`)),
  ]);
  return { stdout, stderr: lines.join('') };
}

/** Runs the script as the README says. */
async function runScript(rejects: string, ...options: string[]) {
  const tsx = join(project, 'node_modules/.bin/tsx');
  const child = spawn(tsx, [join(project, 'scripts/mend-rejects.ts'), ...options]);
  const exit = new Promise<number | null>((resolve) => child.once('close', resolve));
  child.stdin.on('error', () => undefined).end(rejects);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await exit, stdout, stderr };
}

const head = '_line,_codes,_messages,sku,product_name,price,currency';
const reject = (line: number, codes: string, cells: string) => `${line},${codes},"Why, in words.",${cells}`;
const badPrice = (line: number, price: string) => reject(line, 'invalid_price', `A,Tent,${price},EUR`);

describe('mend-rejects with real rejects', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });

  const prices = async () =>
    Object.fromEntries(
      (await service.db('products').select('sku', 'price', 'currency')).map(({ sku, price, currency }) => [
        sku as string,
        `${String(price && Number(price))} ${currency}`,
      ]),
    );

  it('never sets a live price or currency to null: converts declared prices and omits the rest', async () => {
    const { api } = service;
    const columns = 'sku,product_name,price,currency\n';
    await api.loadFeed(
      `${columns}A,Tent,10,EUR\nB,Lamp,20,EUR\nC,Mat,30,EUR\nD,Stove,40,EUR\nE,Mug,50,EUR\n`,
    );
    const { jobId, job } = await api.loadFeed(
      `${columns}A,Tent,"1.299,50",EUR\nB,Lamp,ask us,EUR\nC,Mat,31,Euro\nD,Stove,USD 5,EUR\nE,Mug,"5,5",Euro\n`,
    );
    expect(job.summary.skipped).toBe(5);
    const { body: rejects } = await api.get(`/jobs/${jobId}/rejects.csv`);

    const { code, stdout, stderr } = await runScript(
      rejects as string,
      '--decimal=comma',
      '--thousands=point',
    );
    const { job: again } = await api.loadFeed(stdout);

    expect(code).toBe(0);
    expect(again.summary).toMatchObject({ processed: 1, updated: 1, skipped: 0 });
    expect(await prices()).toEqual({
      A: '1299.5 EUR',
      B: '20 EUR',
      C: '30 EUR',
      D: '40 EUR',
      E: '50 EUR',
    });
    expect(stderr).toBe(
      'line 3 left out: the price "ask us" is not written as declared\n' +
        'line 4 left out: invalid_currency\n' +
        'line 5 left out: currency_conflict\n' +
        'line 6 left out: invalid_currency invalid_price\n' +
        'mended: 1, left out: 4\n',
    );
  });
});

it.each([
  [['--decimal=comma'], '"4,20"', '4.20'],
  [['--decimal=comma'], '"EUR 1299,5"', 'EUR 1299.5'],
  [['--decimal=comma'], '"12,3456 €"', '12.3456 €'],
  [['--decimal=comma', '--thousands=point'], '"1.299.000,00"', '1299000.00'],
  [['--decimal=comma', '--thousands=space'], '"1 299,00"', '1299.00'],
  [['--decimal=comma', '--thousands=space'], '"1\u00a0299,00"', '1299.00'],
  [['--decimal=point', '--thousands=space'], '1 299.00', '1299.00'],
  [['--thousands=apostrophe'], "1'299.00", '1299.00'],
  [['--thousands=apostrophe'], '1’299', '1299'],
])('mend-rejects %j turns %s into %s', async (options, price, mended) => {
  const { stdout } = await mend(`${head}\n${badPrice(2, price)}\n`, ...options);

  expect(stdout.split('\n')[1]).toBe(`2,invalid_price,"Why, in words.",A,Tent,${mended},EUR`);
});

it('mend-rejects omits prices that are not written as declared', async () => {
  const others = [
    '"1.299,00"',
    '"1,2,3"',
    '"1,23456"',
    '-1',
    'NaN',
    '"12,"',
    '",5"',
    '"1.29,00"',
    '"1 299,00"',
  ];
  const rejects = [head, ...others.map((price, at) => badPrice(at + 2, price)), badPrice(99, '"4,20"')];

  const { stdout, stderr } = await mend(`${rejects.join('\n')}\n`, '--decimal=comma');

  expect(stdout.split('\n')).toEqual([head, '99,invalid_price,"Why, in words.",A,Tent,4.20,EUR', '']);
  expect(stderr).toContain(`mended: 1, left out: ${others.length}`);
});

it.each([';', '\t'])('mend-rejects reads and writes the delimiter of the feed: %j', async (delimiter) => {
  const line = ['2', 'invalid_price', 'Why.', 'A', 'Tent', '1.299,00'].join(delimiter);
  const names = ['_line', '_codes', '_messages', 'sku', 'product_name', 'price'].join(delimiter);

  const { stdout } = await mend(`${names}\n${line}\n`, '--decimal=comma', '--thousands=point');

  expect(stdout).toBe(`${names}\n${line.replace('1.299,00', '1299.00')}\n`);
});

it('mend-rejects ignores blank lines, as an upload does', async () => {
  const { stdout, stderr } = await mend(`${head}\n\n${badPrice(2, '"4,20"')}\n\n`, '--decimal=comma');

  expect(stdout).toBe(`${head}\n${badPrice(2, '4.20')}\n`);
  expect(stderr).toBe('mended: 1, left out: 0\n');
});

it('mend-rejects rejects another file', async () => {
  await expect(mend('sku,product_name\nA,Tent\n', '--decimal=comma')).rejects.toEqual(
    new UsageError('Not a rejects.csv with prices: missing column _line.'),
  );
});

it('mend-rejects exits with 2 and one line without options', async () => {
  expect(await runScript(`${head}\n`)).toEqual({
    code: 2,
    stdout: '',
    stderr: 'Missing option: --decimal=comma, --thousands=point|space|apostrophe, or both.\n',
  });
});

it.each([
  [['--decimal=dot'], 'Wrong option: --decimal is comma or point.'],
  [['--thousands=comma'], 'Wrong option: --thousands is point, space or apostrophe.'],
  [['--decimal=point', '--thousands=point'], 'Wrong options: one sign cannot be both decimal and thousands.'],
  [['--thousands=point'], 'Wrong options: one sign cannot be both decimal and thousands.'],
])('mend-rejects %j is refused: %s', async (options, message) => {
  await expect(mend(`${head}\n`, ...options)).rejects.toEqual(new UsageError(message));
});

import { writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { runFeedCommand } from '../../support/commands';
import { createTestFolder } from '../../support/harness';

const csv = `sku,product_name,price,currency,availability
TENT-2,Two-person tent,189.90,EUR,in stock
LAMP-1,Head lamp,"1.299,00",EUR,in stock
TENT-2,Tent,179.90,EUR,ask us
`;

const german = 'Artikelnummer;Bezeichnung;Preis;Währung\nA-1;Tisch;1,20;EUR\nA-2;Stuhl;2,30;EUR\n';

const definition = {
  delimiter: ';',
  decimal_separator: ',',
  columns: {
    sku: { from: ['Artikelnummer'] },
    product_name: { from: ['Bezeichnung'] },
    price: { from: ['Preis'] },
    currency: { from: ['Währung'] },
  },
};

function write(content: string | Buffer, name = 'spring.csv'): string {
  const path = join(createTestFolder(), name);
  writeFileSync(path, content);
  return path;
}

/** Without an address, a key or a service. */
const check = (...args: string[]) => runFeedCommand(['check', ...args], {});

describe('npm run feed -- check', () => {
  it.concurrent(
    'shows what a first run would load, each issue, and what only the service knows',
    async () => {
      const { code, stdout, stderr } = await check(write(csv));

      expect(code).toBe(0);
      expect(stdout).toBe(`spring.csv: a first run would load 1 of 3 rows.

rows                   3
loadable               1
skipped                2
superseded             1

Issues: 1 invalid_price, 1 duplicate_sku, 1 unknown_availability (warning)

line  sku     field         code                  value     message
2     TENT-2  sku           duplicate_sku         TENT-2    A later valid row of this feed has the same sku; the last
                                                            one is used. Keep one row per sku.
3     LAMP-1  price         invalid_price         1.299,00  price has a decimal comma. Write it with a decimal point,
                                                            for example 1299.00, or use a format that has a decimal
                                                            comma.
4     TENT-2  availability  unknown_availability  ask us    Unknown availability: the product cannot be ordered. Use a
                                                            word such as in_stock or out_of_stock, or map this one in a
                                                            format.

Not checked, because only the service knows it:
- A partner with a format named default: an upload that names none is read by it.
- Newer feeds of the partner that are loaded already.
- Prices that rise or fall by a factor of five or more.
`);
      expect(stderr).toMatch(/^checking: /);
    },
  );

  it.concurrent('exits with 3 with --strict, and with 1 beyond --max-skipped-percent', async () => {
    const path = write(csv);

    expect(await check(path, '--strict')).toMatchObject({ code: 3 });
    expect(await check(path, '--max-skipped-percent', '50', '--issues', '0')).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(
        /^spring\.csv: a run would fail\. 2 of 3 rows were skipped, more than the 50 % that max_skipped_percent allows\.\n/,
      ),
    });
  });

  it.concurrent('reads a file by a built-in format and by a definition, packed too', async () => {
    const format = write(JSON.stringify(definition), 'german.json');

    const own = await check(write(gzipSync(german), 'list.csv.gz'), '--format', format, '--json');
    const builtIn = await check(write('id,title\nA,Tent\n'), '--format=google-merchant', '--json');

    expect(JSON.parse(own.stdout)).toMatchObject({
      file: 'list.csv.gz',
      format: 'german.json',
      accepted: true,
      summary: { rows: 2, loadable: 2, skipped: 0, superseded: 0 },
      issues: [],
    });
    expect(JSON.parse(builtIn.stdout)).toMatchObject({ format: 'google-merchant', summary: { loadable: 1 } });
  });

  it.concurrent('suggests the format that can read a refused file, which then reads it', async () => {
    const path = write(german, 'list.csv');

    const refused = await check(path);
    const { suggested_format } = JSON.parse((await check(path, '--json')).stdout) as Record<string, unknown>;
    const read = await check(path, '--format', write(JSON.stringify(suggested_format), 'F.json'));

    expect(refused).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(
        /^list\.csv: an upload would refuse it\.\nInvalid CSV file: Missing required CSV headers: product_name, sku\nA format can read it as it is: /,
      ),
    });
    expect(read).toMatchObject({ code: 0, stdout: expect.stringContaining('would load 2 of 2 rows') });
  });

  it.concurrent('reads standard input, and annotates lines for GitHub', async () => {
    const { code, stdout } = await runFeedCommand(['check', '-', '--output-format', 'github'], {}, csv);

    expect(code).toBe(0);
    expect(stdout.split('\n').map((line) => line.replace(/::.*/s, (rest) => rest.slice(0, 50)))).toEqual([
      '::error line=2,endLine=2,title=duplicate_sku::A la',
      '::error line=3,endLine=3,title=invalid_price::pric',
      '::warning line=4,endLine=4,title=unknown_availabil',
      '::notice title=partner-feed check::a first run wou',
      '',
    ]);
  });

  it.concurrent('annotates the file by its path in the workspace of GitHub Actions', async () => {
    const path = write(csv);

    const { stdout } = await runFeedCommand(['check', path, '--output-format', 'github', '--issues', '0'], {
      GITHUB_WORKSPACE: dirname(dirname(path)),
    });

    expect(stdout).toMatch(`::notice file=${basename(dirname(path))}/spring.csv,`);
  });

  it.concurrent('suggests a format that is JSON, whatever characters a header has', async () => {
    const { stdout } = await check(write(german.replace('Artikel', 'Artikel\u00ad'), 'list.csv'));
    const suggested = stdout.split('\n').find((line) => line.startsWith('{'))!;

    expect(suggested).not.toContain('\u00ad');
    expect(JSON.parse(suggested)).toMatchObject({ columns: { sku: { from: ['Artikel\u00adnummer'] } } });
  });

  it.concurrent('refuses a wrong command line, a missing file and a faulty format', async () => {
    const path = write(csv);
    const faulty = write('{"columns":{"sku":{"value":"A"}},"colour":1}', 'F.json');

    expect(await check(path, '--mode', 'merge')).toMatchObject({ code: 2 });
    // Its errors would not be JSON: --json is the only way.
    expect(await check(path, '--output-format', 'json')).toMatchObject({ code: 2 });
    expect(await check(`${path}.gz`)).toMatchObject({ code: 2, stderr: expect.stringContaining('ENOENT') });
    expect(await check(path, '--format', 'none')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/ENOENT.*\n?The built-in formats are excel-eu, /s),
    });
    expect(await check(path, '--format', faulty)).toMatchObject({
      code: 1,
      stderr: `F.json is not a format:
colour: Extra inputs are not permitted
columns.sku.value: Input should be absent: each row has its own sku
`,
    });
  });

  it.concurrent('uses no colors where standard output is not a terminal', async () => {
    expect((await check(write(csv))).stdout).not.toContain('\u001b');
  });
});

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import document from '../../../generated/openapi.json';
import { runFeedCommand } from '../../support/commands';
import { excelWorkbook } from '../../support/other-file-formats';
import { createTestFolder } from '../../support/harness';
import { startUsedService, type ServiceProcess } from '../../support/process';
import { ServiceFront } from '../../support/faults';

const csv = `sku,product_name,price,currency,availability
TENT-2,Two-person tent,189.90,EUR,in stock
LAMP-1,Head lamp,"1.299,00",EUR,in stock
`;

let service: ServiceProcess;
let env: Record<string, string>;
let jobId: string;
beforeAll(async () => {
  service = await startUsedService();
  env = { CATALOG_URL: service.url!, DATA_DIR: service.dataDir };
  ({ jobId } = await service.api.loadFeed(csv, 'Acme Outdoor'));
  const items = [{ product_id: 'PR00001', quantity: 2 }];
  await service.api.post('/orders', { partner_name: 'Birch', customer_reference: 'B-17', items });
});

function write(content: string | Buffer, name = 'spring.csv'): string {
  const path = join(createTestFolder(), name);
  writeFileSync(path, content);
  return path;
}

const feed = (...args: string[]) => runFeedCommand(args, env);
const acme = ['--partner', 'Acme Outdoor'];
const bodyOf = async (path: string) => (await service.api.get(path)).body as unknown;

describe('npm run feed -- inspect', () => {
  it('shows columns, first rows and issues of a file, and stores nothing', async () => {
    const { code, stdout } = await feed('inspect', write(csv), ...acme);

    expect(code).toBe(3);
    expect(stdout).toBe(`spring.csv: an upload would store it.
Encoding utf-8, delimiter ",", line ends lf, 2 rows.
1 of 2 skus are known.

column  header        read as
1       sku           sku
2       product_name  product_name
3       price         price
4       currency      currency
5       availability  availability

The first rows that a run would load:
line  values
2     sku: TENT-2; product_name: Two-person tent; price: 189.90; currency: EUR; availability: in_stock

Issues: 1 invalid_price

line  sku     field  code           value     message
3     LAMP-1  price  invalid_price  1.299,00  price has a decimal comma. Write it with a decimal point, for example
                                              1299.00, or use a format that has a decimal comma.

In doubt: answer with --answer ABOUT=NUMBER for each.
decimal_separator: Some prices in "price" have a decimal comma, others a decimal point.
  decimal_separator=1  The decimal separator is a point (TENT-2; Two-person tent; 189.90 EUR)
  decimal_separator=2  The decimal separator is a comma (LAMP-1; Head lamp; 1299.00 EUR)
`);
    expect((await service.api.get('/feeds/FD00002')).status).toBe(404);
  });

  it('exits with 3 while there are doubts, and saves the format made from the answers', async () => {
    const path = write('Item Number;Title;Cost;RRP\n1;Tent;4,10;9,99\n');
    const seen = ['--partner', 'Seen Ltd'];
    const open = await feed('inspect', path, '--save', 'rrp', '--answer', 'price=1', ...seen);
    const answers = ['--answer', 'price=1', '--answer', 'currency=1:EUR'];
    const saved = await feed('inspect', path, '--save', 'rrp', ...answers, ...seen);
    const wrong = await Promise.all(
      ['price=9', 'sku=1', 'price', 'currency=1', 'currency=1: '].map((answer) =>
        feed('inspect', path, '--answer', answer, ...seen),
      ),
    );

    expect(open.code).toBe(3);
    expect(open.stdout).not.toContain('The price is');
    expect(open.stdout).toContain(
      '\n  currency=1  All prices are in one currency: name it: --answer currency=1:VALUE\n',
    );
    expect(saved.code).toBe(0);
    const { body } = await service.api.get('/partners/Seen%20Ltd/formats/rrp');
    expect(body.definition).toEqual({
      delimiter: ';',
      decimal_separator: ',',
      columns: {
        sku: { from: ['Item Number'] },
        product_name: { from: ['Title'] },
        price: { from: ['RRP'] },
        currency: { value: 'EUR' },
      },
    });
    expect(wrong.map(({ code, stderr }) => [code, stderr.includes('Wrong --answer: ')])).toEqual(
      wrong.map(() => [2, true]),
    );
  });

  it('exits with 1 and advice for a file that an upload would reject', async () => {
    const { code, stdout } = await feed('inspect', write('Item Number;Title\n1;Tent\n'), ...acme);

    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^spring\.csv: an upload would refuse it\. Invalid CSV file: .*\nHeader 'Item Number' \(column 1\): rename it to sku\.\nHeader 'Title' \(column 2\): rename it to product_name\.\n/,
    );
    expect(stdout).toMatch(
      /\n1 {7}Item Number {2}sku \(confidence 0\.\d+: its name is English for article number\)\n/,
    );
    expect(stdout).toContain('The first rows that a run would load with the suggested format:\n');
  });

  it('saves the suggested format with --save, and the file then loads with it', async () => {
    const path = write('Item Number;Title\n1;Tent\n');
    const saved = await feed('inspect', path, '--save', 'seen', '--partner', 'Seen Ltd');
    const loaded = await feed('upload', path, '--format', 'seen', '--partner', 'Seen Ltd');
    const nothing = await feed('inspect', write('a;b\n1;2\n'), '--save', 'seen', '--partner', 'Seen Ltd');

    expect([saved.code, saved.stdout]).toEqual([
      0,
      expect.stringContaining('Format seen of partner Seen Ltd is saved.\n'),
    ]);
    expect(loaded.code).toBe(0);
    expect([nothing.code, nothing.stderr]).toEqual([
      1,
      expect.stringContaining('There is no suggested format to save.'),
    ]);
  });

  it('prints the response of the service as JSON with --json', async () => {
    const { code, stdout } = await feed('inspect', write(excelWorkbook(), 'spring.csv'), '--json', ...acme);

    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ accepted: false, hint: { code: 'excel_workbook' } });
  });
});

describe('a rejected upload', () => {
  it('prints how to rename the headers', async () => {
    const { code, stdout, stderr } = await feed('upload', write('SKU Code,name\n1,Tent\n'), ...acme);

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /400 \(missing_columns\): Invalid CSV file: Missing .*\nHeader 'SKU Code' \(column 1\): rename it to sku\.\nHeader 'name' \(column 2\): rename it to product_name\.\nA format can read it as it is: .*--save.*\n$/,
    );
  });

  it('names the kind of the file, from standard input too', async () => {
    const path = write(excelWorkbook(), 'spring.csv');
    const utf16 = Buffer.from(csv, 'utf16le').toString('latin1');

    expect((await feed('upload', path, ...acme)).stderr).toMatch(
      /400 \(wrong_encoding\): CSV file must be UTF-8 encoded\. .*\nThis is an Excel workbook: save it as CSV UTF-8\.\n$/,
    );
    const piped = await runFeedCommand(['upload', '-', ...acme], env, utf16);
    expect(piped.stderr).toMatch(
      /\nThis text is encoded in UTF-16: save it as CSV UTF-8\.\nA format can read it as it is: /,
    );
  });

  it('has the response and the inspection in the error with --json', async () => {
    const { code, stdout } = await feed('upload', write('SKU Code,name\n1,Tent\n'), '--json', ...acme);

    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toEqual({
      error: {
        message: expect.stringContaining('rename it to sku.'),
        exit_code: 1,
        status: 400,
        error_code: 'missing_columns',
        request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        response: { detail: 'Invalid CSV file: Missing required CSV headers: product_name, sku' },
        inspection: expect.objectContaining({ accepted: false, hint: null }),
      },
    });
  });

  it('is reported also when the file cannot be inspected', async () => {
    const front = await ServiceFront.open(service.url!, (request) =>
      request === 'POST /feeds/inspect' ? { status: 404, body: { detail: 'Not Found' } } : 'pass',
    );

    const { code, stderr } = await runFeedCommand(['upload', write('a,b\n'), ...acme], {
      ...env,
      CATALOG_URL: front.url,
      CATALOG_API_KEY: service.key!,
    });

    expect(code).toBe(1);
    expect(stderr).toMatch(/400 \(missing_columns\): Invalid CSV file: Missing .* \(request \S+\)\n$/);
  });
});

describe('npm run feed -- plan', () => {
  it('lists the changes that a run would make', async () => {
    const { jobId: changed } = await service.api.uploadFeed(
      csv.replace('189.90', '179.90').replace('"1.299,00"', '24.50'),
      'Acme Outdoor',
    );

    const { code, stdout } = await feed('plan', changed);

    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^Job ${changed} of feed FD\\d+: a run would change this\\.\n`));
    expect(stdout).toMatch(/\ninserted +1\nupdated +1\nunchanged +0\nskipped +0\n/);
    expect(stdout).toMatch(/\n2 +TENT-2 +update +price: 189\.9 -> 179\.9\n/);
    expect(stdout).toMatch(/\n3 +LAMP-1 +insert +product_name: Head lamp; price: 24\.5; /);
    const page = await feed('plan', changed, '--limit', '1');
    expect(page.stdout).toMatch(/\n\nMore: --cursor (\S+)\n$/);
    const [, cursor] = /--cursor (\S+)/.exec(page.stdout)!;
    expect((await feed('plan', changed, '--cursor', cursor!)).stdout).not.toContain('TENT-2');
    const json = await feed('plan', changed, '--json');
    expect(JSON.parse(json.stdout)).toEqual((await service.api.post(`/jobs/${changed}/plan`)).body);
  });

  it('exits with 1 and the reason when the run would fail', async () => {
    const { jobId: broken } = await service.api.uploadFeed('sku,product_name\nA,"Tent\n', 'Acme Outdoor');

    const { code, stdout } = await feed('plan', broken);

    expect(code).toBe(1);
    expect(stdout).toContain('a run would fail. ETL processing failed: The quote that opens');
  });
});

describe('npm run feed -- issues', () => {
  it('lists the issues of the last run, and filters them', async () => {
    const { code, stdout } = await feed('issues', jobId);

    expect(code).toBe(0);
    expect(stdout).toMatch(/^line +sku +field +code +value +message\n3 +LAMP-1 +price +invalid_price /);
    expect(JSON.parse((await feed('issues', jobId, '--json')).stdout)).toEqual(
      await bodyOf(`/jobs/${jobId}/issues`),
    );
    expect(await feed('issues', jobId, '--severity', 'warning')).toMatchObject({
      code: 0,
      stdout: 'There are no issues.\n',
    });
    const wrong = await feed('issues', jobId, '--code', 'no_such_code');
    expect(wrong).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('with 422 (validation_error): code: '),
    });
  });
});

describe('npm run feed -- rejects', () => {
  it('prints the skipped rows as CSV, or writes them to a file', async () => {
    const expected = (await service.api.get(`/jobs/${jobId}/rejects.csv`)).body as string;
    expect(expected).toContain('LAMP-1');
    const output = join(createTestFolder(), 'rejects.csv');

    expect(await feed('rejects', jobId)).toMatchObject({ code: 0, stdout: expected, stderr: '' });
    expect(await feed('rejects', jobId, '--output', output)).toMatchObject({
      code: 0,
      stdout: '',
      stderr: `Written to ${output}.\n`,
    });
    expect(readFileSync(output, 'utf8')).toBe(expected);
  });

  it('exits with 1 and leaves the file unchanged when there is nothing to download', async () => {
    const { jobId: waiting } = await service.api.uploadFeed(csv, 'Acme Outdoor');
    const output = write('mine', 'rejects.csv');

    const { code, stderr } = await feed('rejects', waiting, '--output', output);

    expect(code).toBe(1);
    expect(stderr).toContain(`with 409 (no_finished_run): Job ${waiting} has no finished run.`);
    expect(readFileSync(output, 'utf8')).toBe('mine');
  });

  it('exits with 2 when the file cannot be written', async () => {
    const output = join(createTestFolder(), 'nowhere', 'rejects.csv');

    const { code, stdout, stderr } = await feed('rejects', jobId, '--output', output);

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/rejects\.csv cannot be written: ENOENT/);
  });
});

describe('npm run feed -- products', () => {
  it('lists products by filters, order and page', async () => {
    await service.api.loadFeed('sku,product_name,price\nA,Awl,1\nB,Bag,2\n', 'Cedar');

    const { code, stdout } = await feed('products', ...acme, '--availability', 'in_stock');

    expect(code).toBe(0);
    expect(stdout).toBe(
      'product  partner       sku     price  currency  availability  name\n' +
        'PR00001  Acme Outdoor  TENT-2  189.9  EUR       in_stock      Two-person tent\n',
    );
    const sorted = await feed(
      'products',
      '--partner',
      'Cedar',
      '--sort-by',
      'price',
      '--order',
      'asc',
      '--json',
    );
    expect(JSON.parse(sorted.stdout)).toEqual(
      await bodyOf('/products?partner_name=Cedar&sort_by=price&order=asc'),
    );
    const page = await feed('products', '--partner', 'Cedar', '--sort-by', 'product_id', '--limit', '1');
    const [, cursor] = /\n\nMore: --cursor (PR\d+)\n$/.exec(page.stdout)!;
    const rest = await feed('products', '--partner', 'Cedar', '--sort-by', 'product_id', '--cursor', cursor!);
    expect([/Awl|Bag/.exec(page.stdout)![0], /Awl|Bag/.exec(rest.stdout)![0]].sort()).toEqual(['Awl', 'Bag']);
    expect((await feed('products', '--sku', 'none')).stdout).toBe('There are no products.\n');
  });
});

describe('npm run feed -- orders', () => {
  it('lists orders with their items', async () => {
    const { code, stdout } = await feed('orders', '--partner', 'Birch');

    expect(code).toBe(0);
    const [head, first] = stdout.split('\n');
    expect(head!.split(/ {2,}/)).toEqual([
      'order',
      'created',
      'partner',
      'total',
      'currency',
      'reference',
      'items',
    ]);
    expect(first!.split(/ {2,}/)).toEqual([
      'OR00001',
      expect.stringMatching(/^20.*Z$/),
      'Birch',
      '379.8',
      'EUR',
      'B-17',
      '2 x TENT-2',
    ]);
    expect(JSON.parse((await feed('orders', '--json')).stdout)).toEqual(await bodyOf('/orders?limit=10'));
  });
});

describe('npm run feed -- feeds', () => {
  it('lists feeds with the state of their last runs, by filters and page', async () => {
    const { feedId } = await service.api.loadFeed('sku,product_name,price\nA,Awl,1\nB,Bag,x\n', 'Dogwood');
    const waiting = await service.api.uploadFeed('sku,product_name\nC,Cup\n', 'Dogwood');

    const { code, stdout } = await feed('feeds', '--partner', 'Dogwood');

    expect(code).toBe(0);
    const time = expect.stringMatching(/^20.*Z$/);
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/ {2,}/)),
    ).toEqual([
      ['feed', 'uploaded', 'partner', 'format', 'job', 'run', 'rows', 'skipped', 'file'],
      [waiting.feedId, time, 'Dogwood', waiting.jobId, 'queued', 'feed.csv'],
      [feedId, time, 'Dogwood', expect.stringMatching(/^JV/), 'completed', '2', '1', 'feed.csv'],
    ]);
    const page = await feed('feeds', '--partner', 'Dogwood', '--limit', '1');
    const [, cursor] = /\n\nMore: --cursor (FD\d+)\n$/.exec(page.stdout)!;
    const rest = await feed('feeds', '--partner', 'Dogwood', '--cursor', cursor!, '--json');
    expect(JSON.parse(rest.stdout)).toEqual(await bodyOf(`/feeds?partner_name=Dogwood&cursor=${cursor}`));
    const from = ['--uploaded-from', '2126-03-01T00:00:00Z'];
    expect((await feed('feeds', ...from)).stdout).toBe('There are no feeds.\n');
    const processed = await feed('feeds', '--partner', 'Dogwood', '--status', 'processed');
    expect(processed.stdout).not.toContain(waiting.feedId);
    expect(processed.stdout).toContain(feedId);
  });
});

describe('npm run feed -- partners', () => {
  it('lists partners with their products and last feeds, by name prefix', async () => {
    const { feedId } = await service.api.loadFeed('sku,product_name\nA,Awl\nB,Bag\n', 'Elm Works');
    await service.api.loadFeed('sku,product_name\nA,Awl\n', 'Elm Yard');

    const { code, stdout } = await feed('partners', '--name', 'elm', '--limit', '1');

    expect(code).toBe(0);
    const [head, first, , more] = stdout.split('\n');
    expect(head!.split(/ {2,}/)).toEqual(['partner', 'products', 'feeds', 'last feed', 'last completed run']);
    expect(first!.split(/ {2,}/)).toEqual(['Elm Works', '2', '1', feedId, expect.stringMatching(/^20.*Z$/)]);
    expect(more).toBe("More: --cursor 'Elm Works'");
    const rest = await feed('partners', '--name', 'elm', '--cursor', 'Elm Works', '--json');
    expect(JSON.parse(rest.stdout)).toEqual(await bodyOf('/partners?q=elm&cursor=Elm%20Works'));
    expect((await feed('partners', '--name', 'zz')).stdout).toBe('There are no partners.\n');
  });
});

describe('npm run feed -- mend', () => {
  const rules = ['--decimal-comma', 'price', '--set', 'brand=Acme'];

  it('lists the changes of the rules and writes a new file, without a service', async () => {
    const path = write(csv);
    const output = join(createTestFolder(), 'mended.csv');

    const { code, stdout } = await runFeedCommand(['mend', path, ...rules, '--output', output], {});

    expect(code).toBe(0);
    expect(stdout).toBe(`        1  --decimal-comma price
        2  --set brand=Acme

Changes:
line  column  before    after    rule
2     brand             Acme     --set brand=Acme
3     price   1.299,00  1299.00  --decimal-comma price
3     brand             Acme     --set brand=Acme

Written to ${output}.
`);
    const { job } = await service.api.loadFeed(readFileSync(output), 'Mended');
    expect(job).toMatchObject({ issue_counts: [], summary: { inserted: 2, skipped: 0 } });
    expect(readFileSync(path, 'utf8')).toBe(csv);
  });

  it('writes nothing without --output, and shows the first changes', async () => {
    const { code, stdout } = await feed('mend', write(csv), ...rules, '--changes', '1', '--json');

    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      output: null,
      rules: [
        { rule: '--decimal-comma price', changes: 1 },
        { rule: '--set brand=Acme', changes: 2 },
      ],
      changes: [{ line: 2, column: 'brand', before: '', after: 'Acme', rule: '--set brand=Acme' }],
    });
  });

  it('mends rejects, which then load', async () => {
    const rejects = join(createTestFolder(), 'rejects.csv');
    await feed('rejects', jobId, '--output', rejects);
    const output = join(createTestFolder(), 'mended.csv');

    expect((await feed('mend', rejects, '--decimal-comma', 'price', '--output', output)).code).toBe(0);

    const { job } = await service.api.loadFeed(readFileSync(output), 'Mended Rejects');
    expect(job).toMatchObject({ issue_counts: [], summary: { inserted: 1, skipped: 0 } });
  });

  it('never empties a live price or currency by mended rejects: rows that no rule mends are skipped again', async () => {
    const partnerName = 'Mended Beside Live';
    const columns = 'sku,product_name,price,currency\n';
    await service.api.loadFeed(
      `${columns}A,Tent,10,EUR\nB,Lamp,20,EUR\nC,Mat,30,EUR\nD,Stove,40,EUR\nE,Mug,50,EUR\n`,
      partnerName,
    );
    const bad = await service.api.loadFeed(
      `${columns}A,Tent,"1.299,50",EUR\nB,Lamp,ask us,EUR\nC,Mat,31,Euro\nD,Stove,USD 5,EUR\nE,Mug,"5,5",Euro\n`,
      partnerName,
    );
    expect(bad.job.summary.skipped).toBe(5);
    const rejects = join(createTestFolder(), 'rejects.csv');
    await feed('rejects', bad.jobId, '--output', rejects);
    const output = join(createTestFolder(), 'mended.csv');

    expect((await feed('mend', rejects, '--decimal-comma', 'price', '--output', output)).code).toBe(0);

    const { job } = await service.api.loadFeed(readFileSync(output), partnerName);
    expect(job.summary).toMatchObject({ updated: 1, skipped: 4 });
    const { body } = await service.api.get(`/products?partner_name=${encodeURIComponent(partnerName)}`);
    const items = body.items as { sku: string; price: number; currency: string }[];
    expect(
      Object.fromEntries(items.map(({ sku, price, currency }) => [sku, `${price} ${currency}`])),
    ).toEqual({
      A: '1299.5 EUR',
      B: '20 EUR',
      C: '30 EUR',
      D: '40 EUR',
      E: '50 EUR',
    });
  });

  it('exits with 2 and keeps an existing file, and leaves no part of a file that it cannot write', async () => {
    const path = write(csv);
    const nowhere = join(createTestFolder(), 'new.csv');

    const itself = await feed('mend', path, ...rules, '--output', path);
    const unknown = await feed('mend', path, '--decimal-comma', 'cost', '--output', nowhere);

    expect(itself).toMatchObject({ code: 2, stderr: expect.stringContaining('it exists already.') });
    expect(readFileSync(path, 'utf8')).toBe(csv);
    expect(unknown).toMatchObject({ code: 2, stderr: 'The file has no column cost.\n' });
    expect(existsSync(nowhere)).toBe(false);
  });
});

describe('npm run feed -- upload-mended', () => {
  /** Loads a feed, and downloads its rejects. @returns its job, and the rejects by their path */
  async function rejectsOf(content: string | Buffer, partner: string, fields: Record<string, string> = {}) {
    const loaded = await service.api.loadFeed(content, partner, fields);
    const path = join(createTestFolder(), 'rejects.csv');
    await feed('rejects', loaded.jobId, '--output', path);
    return { ...loaded, path };
  }

  const pricesOf = async (partner: string) => {
    const { items } = (await service.api.get(`/products?partner_name=${encodeURIComponent(partner)}`)).body;
    return Object.fromEntries(
      (items as { sku: string; price: number }[]).map(({ sku, price }) => [sku, price]),
    );
  };

  it('stores the changed rows with format, mode and collection of their feed, and loads nothing', async () => {
    const partner = 'Edited Only';
    const columns = { sku: { from: ['Nr'] }, product_name: { from: ['Name'] }, price: { from: ['Preis'] } };
    const format = { delimiter: ';', encoding: 'windows-1252', columns };
    const save = (separator: string) =>
      service.api.put(`/partners/${encodeURIComponent(partner)}/formats/liste`, {
        ...format,
        decimal_separator: separator,
      });
    await save('.');
    const csv = 'Nr;Name;Preis\nÄ-1;Öse;502,93\nÄ-2;Öse;x\nÄ-3;"breit; 12"" lang";y\nÄ-2;Zwei;z\n';
    const fields = { format: 'liste', mode: 'replace', collection: 'winter' };
    const { jobId: rejected, path } = await rejectsOf(Buffer.from(csv, 'latin1'), partner, fields);
    // By now, the unedited row would be read, and a newer feed has its value.
    await save(',');
    await service.api.loadFeed(Buffer.from('Nr;Name;Preis\nÄ-1;Öse;9,90\n', 'latin1'), partner, {
      format: 'liste',
    });
    const text = readFileSync(path, 'latin1');
    writeFileSync(path, Buffer.from(text.replace(';y\n', ';3,50\n').replace(';z\n', ';2,50\n'), 'latin1'));

    const { code, stdout, stderr } = await feed('upload-mended', rejected, path, '--json');

    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('2 of 4 rows differ') });
    const plan = JSON.parse(stdout);
    expect(plan.summary).toMatchObject({ processed: 2, inserted: 2, skipped: 0 });
    expect(await pricesOf(partner)).toEqual({ 'Ä-1': 9.9 });
    expect(await bodyOf(`/feeds/${plan.feed_id}`)).toMatchObject({
      mode: 'upsert',
      collection: 'winter',
      format_name: 'liste',
    });
    await feed('run', plan.job_id);
    expect(await pricesOf(partner)).toEqual({ 'Ä-1': 9.9, 'Ä-2': 2.5, 'Ä-3': 3.5 });
  });

  it.each(['utf8', 'latin1'] as const)(
    'sends no unedited row of rejects in Windows-1252 that a spreadsheet saved as %s',
    async (encoding) => {
      const partner = `Edited ${encoding}`;
      const columns = {
        sku: { from: ['Nr'] },
        product_name: { from: ['Name'] },
        price: { from: ['Preis in €'] },
      };
      await service.api.put(`/partners/${encodeURIComponent(partner)}/formats/liste`, {
        delimiter: ';',
        encoding: 'windows-1252',
        columns,
      });
      const csv = 'Nr;Name;Preis in \x80\nÄ-1;Öse;x\nÄ-2;Größe;y\nÄ-3;Öse;1\nÄ-3;Öse;2\n';
      const { jobId, path } = await rejectsOf(Buffer.from(csv, 'latin1'), partner, { format: 'liste' });
      const edited = readFileSync(path, 'latin1').replace(';y\n', ';3.50\n');
      writeFileSync(path, encoding === 'latin1' ? edited : edited.replace('\x80', '€'), encoding);

      const { code, stdout, stderr } = await feed('upload-mended', jobId, path, '--json');

      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('1 of 3 rows differ') });
      await feed('run', JSON.parse(stdout).job_id);
      expect(await pricesOf(partner)).toEqual({ 'Ä-2': 3.5, 'Ä-3': 2 });
    },
  );

  it('sends no unedited row of a feed in UTF-8 that its format reads as Windows-1252', async () => {
    const partner = 'Edited Mistaken';
    const columns = { sku: { from: ['Nr'] }, product_name: { from: ['Name'] }, price: { from: ['Preis'] } };
    const path = `/partners/${encodeURIComponent(partner)}/formats/liste`;
    await service.api.put(path, { encoding: 'windows-1252', columns });
    const csv = 'Nr,Name,Preis\nÄ-1,Öse,x\nÄ-2,Größe,y\n';
    const loaded = await rejectsOf(csv, partner, { format: 'liste' });
    writeFileSync(loaded.path, readFileSync(loaded.path, 'utf8').replace(',y\n', ',3.50\n'));

    const { stderr } = await feed('upload-mended', loaded.jobId, loaded.path);

    expect(stderr).toContain('1 of 2 rows differ');
  });

  it('reports that the format of the feed was saved again since, and stores nothing if it was deleted', async () => {
    const partner = 'Edited Formats';
    const path = `/partners/${encodeURIComponent(partner)}/formats/list`;
    const columns = { sku: { from: ['sku'] }, product_name: { from: ['name'] }, price: { from: ['price'] } };
    await service.api.put(path, { columns });
    const loaded = await rejectsOf('sku,name,price\nA,Tent,x\n', partner, { format: 'list' });
    writeFileSync(loaded.path, readFileSync(loaded.path, 'utf8').replace(',x', ',1'));
    const upload = () => feed('upload-mended', loaded.jobId, loaded.path);

    const same = await upload();
    await service.api.put(path, { columns, decimal_separator: ',' });
    const changed = await upload();
    await service.api.send('DELETE', path);
    const gone = await upload();

    expect(same.stderr).not.toContain('format');
    expect(changed).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('The format list was saved again after feed'),
    });
    expect(gone).toMatchObject({ code: 1, stderr: expect.stringContaining('has no format list any more') });
    expect(await bodyOf(`/feeds?partner_name=${encodeURIComponent(partner)}`)).toMatchObject({ count: 3 });
  });

  it('keeps the mode update, reads a feed without a format as before, and accepts the output of mend', async () => {
    const partner = 'Edited Update';
    await service.api.loadFeed('sku,product_name,price\nA,Tent,1\nB,Lamp,2\n', partner);
    const { jobId: rejected, path } = await rejectsOf(
      'sku;price;currency\nA;"1,50";\nNEW;"2,50";\nB;x;\n',
      partner,
      { mode: 'update' },
    );
    const swapped = { sku: { from: ['price'] }, product_name: { from: ['sku'] } };
    await service.api.put(`/partners/${encodeURIComponent(partner)}/formats/default`, { columns: swapped });
    const mended = join(createTestFolder(), 'mended.csv');
    await feed('mend', path, '--decimal-comma', 'price', '--set', 'brand=Acme', '--output', mended);

    const { stdout } = await feed('upload-mended', rejected, mended, '--json');
    const plan = JSON.parse(stdout);
    expect(await bodyOf(`/feeds/${plan.feed_id}`)).toMatchObject({
      mode: 'update',
      collection: null,
      format_name: 'standard',
    });
    await feed('run', plan.job_id);
    expect(await pricesOf(partner)).toEqual({ A: 1.5, B: 2 });
  });

  it('loads a superseded row only if it is edited', async () => {
    const partner = 'Edited Superseded';
    const { jobId: rejected, path } = await rejectsOf(
      'sku,product_name,price\nA,Tent,1\nA,Tent,2\nB,Lamp,3\nB,Lamp,4\n',
      partner,
    );
    writeFileSync(path, readFileSync(path, 'utf8').replace('A,Tent,1', 'A,Tent,1.50'));
    const { stdout } = await feed('upload-mended', rejected, path, '--json');

    await feed('run', JSON.parse(stdout).job_id);
    expect(await pricesOf(partner)).toEqual({ A: 1.5, B: 4 });
  });

  it('exits with 2 for a file without a correction or with other columns, and stores nothing', async () => {
    const partner = 'Edited Not';
    const { jobId: rejected, path } = await rejectsOf('sku,product_name,price\nA,Tent,x\n', partner);
    const text = readFileSync(path, 'utf8');
    const cases: [content: string | Buffer, problem: string][] = [
      [text, 'No row of the file differs from the skipped rows.'],
      [
        text.replace('product_name,price', 'price,product_name'),
        'The columns of the file differ from the columns',
      ],
      ['sku,product_name\nA,Tent\n', 'is not a file of rejects'],
      [`${text}9,,"`, 'a quote is never closed'],
      [Buffer.from(text.replace('Tent', 'Zelt ü'), 'latin1'), 'name it with --encoding'],
    ];
    for (const [content, problem] of cases)
      expect(await feed('upload-mended', rejected, write(content))).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringContaining(problem),
      });
    const unknown = await feed('upload-mended', rejected, path, '--encoding', 'klingon');
    expect(unknown).toMatchObject({ code: 2, stderr: 'Unknown encoding: klingon.\n' });
    expect(await bodyOf(`/feeds?partner_name=${encodeURIComponent(partner)}`)).toMatchObject({ count: 1 });
  });

  it('exits with 1 for a row that the last run has not skipped', async () => {
    const partner = 'Edited Since';
    await service.api.loadFeed('sku,product_name\nA,Tent\n', partner);
    const { jobId: rejected, path } = await rejectsOf('sku,price\nA,1\nB,2\n', partner, { mode: 'update' });
    writeFileSync(path, readFileSync(path, 'utf8').replace('B,2', 'B,2.50'));
    await service.api.loadFeed('sku,product_name\nB,Lamp\n', partner);
    await service.api.post(`/jobs/${rejected}/run`);

    expect(await feed('upload-mended', rejected, path)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('has not skipped line 3'),
    });
    expect(await pricesOf(partner)).toEqual({ A: 1, B: 2 });
  });
});

describe('npm run feed', () => {
  it.each([
    ['follow', 'the request for the job'],
    ['cancel', 'the cancellation'],
    ['plan', 'the plan'],
    ['issues', 'the request for issues'],
    ['rejects', 'the download'],
  ])('exits with 1 and reports an unknown job: %s', async (command, what) => {
    const { code, stdout, stderr } = await feed(command, 'JV99999');

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      new RegExp(
        `^The service responded to ${what} with 404 \\(job_not_found\\): Job (JV99999 )?not found \\(request .*\\)\n$`,
      ),
    );
  });

  it('prints errors as JSON with --json: of the service, the network and the command line', async () => {
    const unknown = await feed('follow', 'JV99999', '--json');
    expect(unknown.code).toBe(1);
    expect(JSON.parse(unknown.stdout)).toMatchObject({
      error: { exit_code: 1, status: 404, response: { error_code: 'JOB_NOT_FOUND' } },
    });

    const usage = await feed('follow', '--json');
    expect(usage).toMatchObject({ code: 2, stderr: '' });
    expect(JSON.parse(usage.stdout)).toEqual({
      error: {
        message: 'Missing argument: JOB.\nHelp: node dist/cli/partner-feed.cjs follow --help',
        exit_code: 2,
      },
    });

    const down = ['orders', '--json', '--url', 'http://127.0.0.1:1', '--key', 'k', '--retries', '0'];
    const unreachable = await runFeedCommand(down, {});
    expect(unreachable.code).toBe(4);
    expect(JSON.parse(unreachable.stdout)).toMatchObject({ error: { exit_code: 4 } });
  });

  it('prints the API version with --version', async () => {
    expect(await feed('--version')).toMatchObject({
      code: 0,
      stdout: `${document.info.version}\n`,
      stderr: '',
    });
  });

  it('reports the response of another server', async () => {
    const front = await ServiceFront.open(service.url!, () => ({ status: 200, body: 'Welcome!' }));
    const elsewhere = { CATALOG_URL: front.url, CATALOG_API_KEY: 'k' };

    for (const [args, what] of [
      [['products'], 'a list'],
      [['plan', 'JV1'], 'a plan'],
      [['inspect', write(csv), ...acme], 'an inspection'],
    ] as const) {
      const { code, stderr } = await runFeedCommand([...args], elsewhere);
      expect(code).toBe(1);
      expect(stderr).toMatch(new RegExp(`Unexpected response \\(not ${what}\\)\\. Check --url\\.\n$`));
    }
  });
});

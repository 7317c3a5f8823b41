import { createHash } from 'node:crypto';
import { encode } from 'iconv-lite';
import { gzipSync } from 'node:zlib';
import type { FormatDefinition } from '../../src/feed-format/format-definition';
import type { Upload } from '../support/api-client';
import { putFormat } from '../support/format-requests';
import { startTestService, type TestService } from '../support/service';
import { pruneFiles } from '../support/provenance';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

/** A price list from Excel. */
const german: FormatDefinition = {
  delimiter: ';',
  encoding: 'windows-1252',
  skip_lines: 1,
  decimal_separator: ',',
  null_values: ['-'],
  columns: {
    sku: { from: ['Art.-Nr.'] },
    product_name: { join: ['Bezeichnung', 'Farbe'], with: ', ' },
    price: { from: ['Preis'] },
    currency: { value: 'EUR' },
    availability: { from: ['Bestand'] },
  },
  availability: { 'auf Lager': 'in_stock' },
};

const germanRows = [
  'Preisliste März',
  'Art.-Nr.;Bezeichnung;Farbe;Preis;Bestand;EK',
  'A-1;Größte Lampe;grün;1.299,00 €;Auf Lager;9',
  'A-2;Zelt;-;24,50;Pre-Order;8',
  '"A-3";"Seil',
  '20 m";;12.50;auf Lager;7',
  'A-4;Topf;;-;ask us;6',
];
const germanFile = encode(germanRows.join('\r\n'), 'windows-1252');

async function load(
  csv: string | Buffer,
  partnerName: string,
  fields: Record<string, string>,
  more: Partial<Upload> = {},
) {
  const { status, body } = await service.api.upload({ csv, partnerName, fields, ...more });
  expect([status, body.detail]).toEqual([201, undefined]);
  const { body: job } = await service.api.post(`/jobs/${body.validation_job_id}/run`);
  return { feedId: body.feed_id as string, jobId: body.validation_job_id as string, job };
}

async function productsOf(partnerName: string) {
  const query = new URLSearchParams({ partner_name: partnerName, limit: '100' });
  const { body } = await service.api.get(`/products?${query.toString()}`);
  return (body.items as Record<string, string>[]).sort((a, b) => (a.sku! < b.sku! ? -1 : 1));
}

const productBy = async (partnerName: string, sku: string) =>
  (await productsOf(partnerName)).find((product) => product.sku === sku)!;

const digestOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

const counted = (inserted: number, updated: number, unchanged: number, skipped: number) => ({
  processed: inserted + updated + unchanged + skipped,
  inserted,
  updated,
  unchanged,
  skipped,
});

test('a run loads a feed by its format, with the lines of the file in its issues', async () => {
  await putFormat(service.api, 'German', 'list', german);
  const { job, jobId } = await load(germanFile, 'German', { format: 'list' });

  expect(job).toMatchObject({ status: 'completed', summary: counted(3, 0, 0, 1) });
  expect(await productsOf('German')).toMatchObject([
    {
      sku: 'A-1',
      product_name: 'Größte Lampe, grün',
      price: 1299,
      currency: 'EUR',
      availability: 'in_stock',
    },
    { sku: 'A-2', product_name: 'Zelt', price: 24.5, availability: 'preorder' },
    { sku: 'A-4', product_name: 'Topf', currency: 'EUR', availability: 'ask_us' },
  ]);
  const { body } = await service.api.get(`/jobs/${jobId}/issues`);
  expect(body.items).toMatchObject([
    { line: 5, last_line: 6, row: 3, sku: 'A-3', code: 'invalid_price', column_number: 4, value: '12.50' },
    { line: 7, row: 4, code: 'unknown_availability', column_number: 5, value: 'ask us' },
  ]);
});

test('a plan agrees with the run', async () => {
  await putFormat(service.api, 'Planner', 'list', german);
  const { body } = await service.api.upload({
    csv: germanFile,
    partnerName: 'Planner',
    fields: { format: 'list' },
  });
  const { body: plan } = await service.api.post(`/jobs/${body.validation_job_id}/plan`);
  const { body: job } = await service.api.post(`/jobs/${body.validation_job_id}/run`);

  expect(plan.summary).toEqual(job.summary);
  expect(plan.items.map(({ line, sku }: { line: number; sku: string }) => [line, sku])).toEqual([
    [3, 'A-1'],
    [4, 'A-2'],
    [7, 'A-4'],
  ]);
});

test('each feed is run by the definition of its upload', async () => {
  await putFormat(service.api, 'Changing', 'list', german);
  const { body } = await service.api.upload({
    csv: germanFile,
    partnerName: 'Changing',
    fields: { format: 'list' },
  });
  await putFormat(service.api, 'Changing', 'list', { ...german, encoding: 'utf-16le' });
  const { body: job } = await service.api.post(`/jobs/${body.validation_job_id}/run`);

  expect(job).toMatchObject({ status: 'completed', summary: counted(3, 0, 0, 1) });
});

test('a second run skips unchanged records, and another definition compares them again', async () => {
  await putFormat(service.api, 'Again', 'list', german);
  // Without the sign, which contradicts the other currency.
  const file = encode(germanRows.slice(0, 4).join('\n').replace(' €', ''), 'windows-1252');
  await load(file, 'Again', { format: 'list' });
  expect((await load(file, 'Again', { format: 'list' })).job).toMatchObject({ summary: counted(0, 0, 2, 0) });

  const second = { ...german, columns: { ...german.columns, currency: { value: 'CHF' } } };
  await putFormat(service.api, 'Again', 'list', second);
  expect((await load(file, 'Again', { format: 'list' })).job).toMatchObject({ summary: counted(0, 2, 0, 0) });
  expect(await productBy('Again', 'A-2')).toMatchObject({ currency: 'CHF' });

  const euro = { ...second, availability: { 'auf Lager': 'sold_out' as const } };
  await putFormat(service.api, 'Again', 'list', euro);
  expect((await load(file, 'Again', { format: 'list' })).job).toMatchObject({ summary: counted(0, 1, 1, 0) });
});

describe('a feed that fills down', () => {
  const filling = {
    columns: { sku: { from: ['sku'] }, product_name: { from: ['title'] } },
    fill_down: [{ column: 'product_name', by: 'handle' }],
  };
  const file = (title: string) => `handle,sku,title\na,A1,${title}\na,A2,\n`;

  test('changes a product whose own record is unchanged', async () => {
    await putFormat(service.api, 'Filler', 'fill', filling);
    await load(file('Shirt'), 'Filler', { format: 'fill' });
    const { job } = await load(file('Hat'), 'Filler', { format: 'fill' });

    expect(job).toMatchObject({ summary: counted(0, 2, 0, 0) });
    expect(await productBy('Filler', 'A2')).toMatchObject({ product_name: 'Hat' });
  });

  test('makes the next run of a feed without fill-down compare its records again', async () => {
    await putFormat(service.api, 'Mixed', 'fill', filling);
    const plain = 'sku,product_name\nA1,Plain\nA2,Plain\n';
    await load(plain, 'Mixed', {});
    await load(file('Shirt'), 'Mixed', { format: 'fill' });
    const { job } = await load(plain, 'Mixed', {});

    expect(job).toMatchObject({ summary: counted(0, 2, 0, 0) });
    expect(await productBy('Mixed', 'A2')).toMatchObject({ product_name: 'Plain' });
  });

  test('leaves the cells of an incomplete group unchanged in mode update, in any column', async () => {
    const { columns } = filling;
    await putFormat(service.api, 'Keeper', 'fill', {
      columns: {
        ...columns,
        product_name: { join: ['title', 'size'], with: ' ' },
        brand: { from: ['brand'] },
        price: { from: ['price'] },
        category: { from: ['category'] },
      },
      fill_down: (['product_name', 'brand', 'price'] as const).map((column) => ({ column, by: 'handle' })),
    });
    const whole =
      'handle,sku,title,size,brand,price,category\na,A1,Shirt,S,Acme,5,Top\na,A2,,M,,,\nb,B1,Hat,S,,7,\n';
    await load(whole, 'Keeper', { format: 'fill' });
    const part = 'handle,sku,title,size,brand,price,category\na,A1,,S,,,Tops\na,A2,,M,,6,\nb,B1,Cap,S,,8,\n';
    const { jobId, job } = await load(part, 'Keeper', { format: 'fill', mode: 'update' });

    expect(job).toMatchObject({ summary: counted(0, 3, 0, 0), issue_counts: [] });
    const values = (await productsOf('Keeper')).map((each) =>
      ['sku', 'product_name', 'brand', 'price', 'category'].map((name) => each[name]),
    );
    expect(values).toEqual([
      ['A1', 'Shirt S', 'Acme', 5, 'Tops'],
      ['A2', 'Shirt M', 'Acme', 6, undefined],
      ['B1', 'Cap S', undefined, 8, undefined],
    ]);
    const { body: again } = await service.api.post(`/jobs/${jobId}/run`);
    expect(again.summary).toMatchObject(counted(0, 0, 3, 0));
  });

  test('withdraws nothing in mode replace when a sku is unknown', async () => {
    await putFormat(service.api, 'Unknown', 'fill', {
      columns: { sku: { join: ['style', 'size'], with: '-' }, product_name: { from: ['name'] } },
      fill_down: [{ column: 'sku', by: 'handle' }],
    });
    const replace = { format: 'fill', mode: 'replace' };
    await load('handle,style,size,name\na,X,S,a\na,,M,b\n', 'Unknown', replace);
    const { job } = await load('handle,style,size,name\na,,M,b\nb,Y,S,c\n', 'Unknown', replace);

    expect(job).toMatchObject({ summary: { inserted: 1, withdrawn: 0, is_withdrawal_withheld: true } });
  });

  test('is unchanged when it is loaded again', async () => {
    await putFormat(service.api, 'Stable', 'fill', filling);
    await load(file('Shirt'), 'Stable', { format: 'fill' });

    expect((await load(file('Shirt'), 'Stable', { format: 'fill' })).job).toMatchObject({
      summary: counted(0, 0, 2, 0),
    });
  });
});

describe('mode replace', () => {
  const format = { columns: { sku: { join: ['nr', 'size'], with: '-' }, product_name: { from: ['name'] } } };
  const replace = { format: 'joined', mode: 'replace' };

  test('withdraws products without a row, by joined skus', async () => {
    await putFormat(service.api, 'Replacer', 'joined', format);
    await load('nr,size,name\nA,S,a\nA,M,b\nB,S,c\n', 'Replacer', replace);
    const { job } = await load('nr,size,name\nA,S,a\nA,M,\n', 'Replacer', replace);

    expect(job).toMatchObject({ summary: { withdrawn: 1, skipped: 1, unchanged: 1 } });
    expect((await productsOf('Replacer')).map(({ sku }) => sku)).toEqual(['A-M', 'A-S']);
  });

  test('withdraws nothing if a record has too many fields to determine its joined sku', async () => {
    await putFormat(service.api, 'Careful', 'joined', format);
    await load('nr,size,name\nA,S,a\nA,M,b\nB,S,c\n', 'Careful', replace);
    const { job } = await load('nr,size,name\nA,S,a\nA,M,b,c\n', 'Careful', replace);

    expect(job).toMatchObject({ summary: { withdrawn: 0, is_withdrawal_withheld: true } });
  });
});

test('mode update needs no name', async () => {
  await load('sku,product_name,price\nA,Lamp,5\nB,Tent,6\n', 'Updater', {});
  await putFormat(service.api, 'Updater', 'prices', {
    delimiter: ';',
    decimal_separator: ',',
    columns: { sku: { from: ['Nr'] }, price: { from: ['Preis'] } },
  });
  const { job } = await load('Nr;Preis\nA;7,50\nC;1\n', 'Updater', { format: 'prices', mode: 'update' });

  expect(job).toMatchObject({ summary: counted(0, 1, 0, 1) });
  expect(await productsOf('Updater')).toMatchObject([
    { sku: 'A', product_name: 'Lamp', price: 7.5 },
    { sku: 'B', price: 6 },
  ]);
});

test("unmapped headers are not issues, unless the format uses the service's names", async () => {
  await putFormat(service.api, 'Header', 'list', { columns: german.columns, delimiter: ';' });
  const csv = 'Art.-Nr.;Bezeichnung;EK\nA;a;1\n';
  expect((await load(csv, 'Header', { format: 'list' })).job.issue_counts).toMatchObject([
    { code: 'no_prices', count: 1 },
  ]);

  const typo = 'sku,product_name,pirce\nA,a,1\n';
  expect((await load(typo, 'Header', { format: 'standard' })).job.issue_counts).toMatchObject([
    { code: 'unknown_column', count: 1, first_rows: [{ value: 'pirce' }] },
  ]);
});

describe('the source of a product', () => {
  const third = germanRows[2]!;

  test.each<[string, Buffer, string]>([
    ['in its encoding', germanFile, 'feed.csv'],
    ['in a gzip file', gzipSync(germanFile), 'feed.csv.gz'],
  ])('is its record %s', async (what, csv, fileName) => {
    const partner = `Source ${what}`;
    await putFormat(service.api, partner, 'list', german);
    const { feedId } = await load(
      csv,
      partner,
      { format: 'list' },
      { fileName, mediaType: fileName.endsWith('.gz') ? 'application/gzip' : 'text/csv' },
    );
    const bytes = encode(third, 'windows-1252');
    const source = {
      feed_id: feedId,
      file_sha256: digestOf(csv),
      record_sha256: digestOf(bytes),
      record_base64: bytes.toString('base64'),
      record_text: third,
      encoding: 'windows-1252',
    };
    const { product_id: id } = await productBy(partner, 'A-1');

    expect((await service.api.get(`/products/${id}/source`)).body).toEqual(source);
  });

  test.each(['utf-16le', 'utf-16be', 'shift_jis', 'gb18030', 'utf-8'] as const)(
    'in %s is exact for the first, a malformed and the last record, and its digest outlives the file',
    async (encoding) => {
      const partner = `Source ${encoding}`;
      await putFormat(service.api, partner, 'plain', {
        encoding,
        columns: { sku: { from: ['番号'] }, product_name: { from: ['名'] } },
      });
      const records = ['A,表ソ', '"B","上\r下\n"', 'C,末'];
      const text = ['番号,名', ...records].join('\r');
      const mark = encoding.startsWith('utf');
      await load(encode(text, encoding, { addBOM: mark }), partner, { format: 'plain' });
      const ids = (await productsOf(partner)).map(({ product_id }) => product_id);
      const sources = await Promise.all(ids.map((id) => service.api.get(`/products/${id}/source`)));

      expect(sources.map(({ body }) => body.record_text as string)).toEqual(records);
      const digests = records.map((record) => digestOf(encode(record, encoding, { addBOM: false })));
      expect(sources.map(({ body }) => body.record_sha256 as string)).toEqual(digests);
      expect(sources[0]!.body).toMatchObject({ encoding });

      // A later feed, so that the file expires.
      await load('sku,product_name\nZ,z\n', partner, {});
      await pruneFiles(service);
      const kept = await Promise.all(ids.map((id) => service.api.get(`/products/${id}/source`)));
      expect(kept.map(({ body }) => [body.record_text, body.record_sha256])).toEqual(
        digests.map((digest) => [null, digest]),
      );
    },
  );
});

import fc from 'fast-check';
import { decode, encode } from 'iconv-lite';
import { builtInFormats } from '../../../../src/feed-format/built-in-formats';
import type { FormatDefinition } from '../../../../src/feed-format/format-definition';
import { casesFor } from '../../../support/fuzz';
import { toCsv, type FeedRow } from '../../../support/catalog';
import { putFormat } from '../../../support/format-requests';
import { startTestService, testKey, withStoredKey, type TestService } from '../../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

/** Downloads the products of a partner in a format. @returns the status, the charset and the bytes */
async function download(partnerName: string, format: string) {
  const url = `${service.url}/partners/${encodeURIComponent(partnerName)}/products.csv?format=${format}`;
  const response = await fetch(url, { headers: { 'x-api-key': testKey } });
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    bytes: Buffer.from(await response.arrayBuffer()),
  };
}

const storedProducts = (partnerName: string) =>
  service
    .db('products')
    .join('partners', 'partners.partner_id', 'products.partner_id')
    .where({ partner_name: partnerName })
    .orderBy('product_id')
    .select(
      'sku',
      'product_name',
      'description',
      'brand',
      'category',
      'price',
      'currency',
      'availability',
      'withdrawn_at',
    );

/** Loads a file again without digests, so that every product is compared. */
async function loadAgain(file: Buffer, partnerName: string, format: string) {
  await service.db('digest_blocks').delete();
  const { job } = await service.api.loadFeed(file, partnerName, { format });
  return job;
}

let partners = 0;
const newPartner = () => `Partner ${++partners}`;

const weekly: FormatDefinition = {
  delimiter: ';',
  encoding: 'windows-1252',
  skip_lines: 1,
  decimal_separator: ',',
  columns: {
    sku: { from: ['Nr', 'Artikel'] },
    product_name: { join: ['Bezeichnung', 'Farbe'], with: ' ' },
    price: { from: ['Preis'] },
    availability: { from: ['Bestand'] },
  },
  availability: { 'auf Lager': 'in_stock', vorhanden: 'in_stock', weg: 'sold_out' },
};

describe('GET /partners/{partner_name}/products.csv?format=', () => {
  describe('200', () => {
    it("has the partner's columns, words, numbers and encoding", async () => {
      const partner = newPartner();
      await putFormat(service.api, partner, 'weekly', weekly);
      await service.api.loadFeed(
        'sku,product_name,price,currency,availability,brand\n' +
          'A,"Hängematte; grün",1299.50,EUR,in stock,Acme\nB,Zelt,,,sold out,\nC,Tasse,5,,on demand,\n',
        partner,
      );

      const { status, type, bytes } = await download(partner, 'weekly');

      expect([status, type]).toEqual([200, 'text/csv; charset=windows-1252']);
      expect(decode(bytes, 'windows-1252')).toBe(
        '\nNr;Bezeichnung;Preis;Bestand\nA;"Hängematte; grün";1299,5 EUR;auf Lager\nB;Zelt;;weg\nC;Tasse;5;on_demand\n',
      );
    });

    const rows: FeedRow[] = [
      { sku: '007', product_name: 'one\ntwo\r\nthree', description: '"quoted", a;b\tc|d', price: '0.0001' },
      { sku: 'B', product_name: 'Café', brand: 'é', category: 'A > B', price: '189.90', currency: 'EUR' },
      {
        sku: '=1+1',
        product_name: '"',
        price: '999999999999.9999',
        currency: 'JPY',
        availability: 'in_stock',
      },
      { sku: 'D', product_name: 'lone\rreturn', currency: 'USD', availability: 'backorder' },
      { sku: 'E', product_name: 'E', availability: 'out_of_stock' },
      { sku: 'F', product_name: 'F', availability: 'preorder' },
    ];

    it.each(builtInFormats.map(({ name }) => name))(
      'leaves all products unchanged when it is loaded again: %s',
      async (format) => {
        const partner = newPartner();
        await service.api.loadFeed(toCsv(rows), partner);
        const before = await storedProducts(partner);

        const { status, bytes } = await download(partner, format);
        const job = await loadAgain(bytes, partner, format);

        expect([status, before.length]).toEqual([200, rows.length]);
        expect(job).toMatchObject({
          issue_counts: [],
          summary: { processed: rows.length, unchanged: rows.length },
        });
        expect(await storedProducts(partner)).toEqual(before);
        expect((await download(partner, format)).bytes).toEqual(bytes);
      },
    );

    it.each(['utf-16le', 'utf-16be', 'gb18030', 'shift_jis', 'euc-jp', 'big5', 'euc-kr'] as const)(
      'leaves all products unchanged when it is loaded again in %s',
      async (encoding) => {
        const partner = newPartner();
        await putFormat(service.api, partner, 'own', { ...weekly, encoding });
        await service.api.loadFeed('sku,product_name,price\nA,"日本, ""茶""",5\nB,x|y~z\\,6\n', partner);

        const { type, bytes } = await download(partner, 'own');
        const job = await loadAgain(bytes, partner, 'own');

        expect(type).toBe(`text/csv; charset=${encoding}`);
        expect(job).toMatchObject({
          issue_counts: [{ code: 'no_currency' }],
          summary: { processed: 2, unchanged: 2 },
        });
      },
    );

    const header = fc.constantFrom('A', 'B', 'C', 'D', 'E;', '"F"', 'Größe', ' g ');
    const source = fc.oneof(
      {
        weight: 5,
        arbitrary: fc.uniqueArray(header, { minLength: 1, maxLength: 3 }).map((from) => ({ from })),
      },
      fc.record({
        join: fc.uniqueArray(header, { minLength: 2, maxLength: 3 }),
        with: fc.constantFrom(' ', ', ', ''),
      }),
    );
    const definition = fc.record(
      {
        delimiter: fc.constantFrom(',', ';', '\t', '|'),
        encoding: fc.constantFrom('utf-8', 'windows-1252', 'utf-16be', 'iso-8859-15'),
        skip_lines: fc.integer({ min: 0, max: 3 }),
        decimal_separator: fc.constantFrom('.', ','),
        null_values: fc.constantFrom(['-'], ['a', 'n/a']),
        availability: fc.constantFrom(
          { da: 'in_stock', yes: 'in_stock' },
          { '1': 'in_stock', '0': 'sold_out' },
        ),
        ignore_rows_without: fc.uniqueArray(header, { minLength: 1, maxLength: 2 }),
        quote: fc.constantFrom('"', 'none'),
        text_marks: fc.constant('strip'),
        only_rows_where: header.map((each) => [{ header: each, values: ['x', ''] }]),
        fill_down: fc.constant([{ column: 'brand', by: 'C' }]),
        columns: fc.record(
          {
            sku: header.map((each) => ({ from: [each] })),
            product_name: source,
            brand: source,
            price: source,
            currency: fc.oneof(source, fc.constant({ value: 'EUR' })),
            availability: source,
          },
          { requiredKeys: ['sku', 'product_name'] },
        ),
      },
      { requiredKeys: ['columns'] },
    );
    const text = fc.string({
      unit: fc.constantFrom('a', '"', ',', ';', '\t', '\n', '-', ' ', 'é', '|', '€'),
      maxLength: 5,
    });
    const product = fc.record({
      product_name: text.filter((name) => name.trim() !== ''),
      brand: text,
      price: fc.constantFrom('', '5', '1299.5', '0.0001'),
      currency: fc.constantFrom('', 'EUR', 'USD'),
      availability: fc.constantFrom('', 'in_stock', 'sold_out', '1'),
    });

    type ValueOf<A> = A extends fc.Arbitrary<infer T> ? T : never;
    const named: ValueOf<typeof definition> = {
      columns: { sku: { from: ['A'] }, product_name: { from: ['B'] } },
    };
    const plain: ValueOf<typeof product> = {
      product_name: 'a',
      brand: '',
      price: '',
      currency: '',
      availability: '',
    };

    it('leaves all products unchanged, or is 422, for any format and products', async () => {
      const seen = { written: 0, refused: 0 };
      await fc.assert(
        fc.asyncProperty(
          definition,
          fc.array(product, { minLength: 1, maxLength: 4 }),
          async (format, products) => {
            const partner = newPartner();
            const saved = await putFormat(service.api, partner, 'own', format);
            fc.pre(saved.status === 200);
            await service.api.loadFeed(
              toCsv(products.map((each, at) => ({ sku: `S${at}`, ...each }))),
              partner,
            );
            const before = await storedProducts(partner);

            const { status, bytes } = await download(partner, 'own');
            if (status === 422) {
              seen.refused++;
              return;
            }
            seen.written++;
            const job = await loadAgain(bytes, partner, 'own');

            expect(status).toBe(200);
            expect(job.summary).toMatchObject({ processed: products.length, unchanged: products.length });
            expect(await storedProducts(partner)).toEqual(before);
          },
        ),
        {
          ...casesFor('files of formats', 20),
          // Random formats may all be of one kind.
          examples: [
            [named, [plain]],
            [{ ...named, null_values: ['a', 'n/a'] }, [plain]],
          ],
        },
      );
      expect(Math.min(seen.written, seen.refused)).toBeGreaterThan(0);
    });
  });

  describe('422', () => {
    const refused = (column: string, sku: string, why: string) => ({
      type: 'not_in_format',
      loc: ['query', 'format'],
      msg: expect.stringMatching(
        new RegExp(`^Format should be able to represent every product: ${column} of PR\\d+ ${why}$`),
      ),
      input: 'own',
      ctx: { product_id: expect.stringMatching(/^PR/), sku, column },
    });

    it.each<[string, Partial<FormatDefinition>, string, ReturnType<typeof refused>]>([
      [
        'characters that the encoding lacks',
        { encoding: 'windows-1252' },
        'A,เต็นท์,,,',
        refused('product_name', 'A', 'has characters that windows-1252 does not have'),
      ],
      [
        'a currency beside a constant one',
        { columns: { ...weekly.columns, currency: { value: 'EUR' } } },
        'A,Tent,5,USD,',
        refused('currency', 'A', 'would be read as another value'),
      ],
      [
        'a value that means nothing',
        { null_values: ['-'] },
        'A,-,,,',
        refused('product_name', 'A', 'would be read as another value'),
      ],
      [
        'a word with another meaning',
        { availability: { '1': 'in_stock', '0': 'sold_out' } },
        'A,Tent,,,0',
        refused('availability', 'A', 'would be read as another value'),
      ],
      [
        'two columns with one header',
        { columns: { ...weekly.columns, product_name: { from: ['Nr'] } } },
        'A,Tent,,,',
        refused('sku', 'A', 'would be read as another value'),
      ],
      [
        'a line break without quotes',
        { quote: 'none' },
        'A,"one\ntwo",,,',
        refused('product_name', 'A', 'has a delimiter or line break, and the format has no quotes'),
      ],
      [
        'a row that is left out',
        { ignore_rows_without: ['Preis'] },
        'A,Tent,,,',
        refused('sku', 'A', 'is in a row that the format leaves out'),
      ],
    ])('names the product: %s', async (_, changes, row, fault) => {
      const partner = newPartner();
      await putFormat(service.api, partner, 'own', { ...weekly, encoding: 'utf-8', ...changes });
      await service.api.loadFeed(`sku,product_name,price,currency,availability\n${row}\n`, partner);

      const { status, bytes } = await download(partner, 'own');

      expect({ status, body: JSON.parse(bytes.toString()) as unknown }).toEqual({
        status: 422,
        body: { detail: [fault] },
      });
    });

    it('names ten products at most', async () => {
      const partner = newPartner();
      const rows = Array.from({ length: 300 }, (_, at) => ({ sku: `S${at}`, product_name: '茶' }));
      await service.api.loadFeed(toCsv(rows), partner);

      const { body } = await service.api.get(
        `/partners/${encodeURIComponent(partner)}/products.csv?format=excel-eu`,
      );

      expect(body.detail.map(({ ctx }: { ctx: { sku: string } }) => ctx.sku)).toEqual(
        rows.slice(0, 10).map(({ sku }) => sku),
      );
    });

    it.each(['none', 'theirs'])('rejects a format that is not one of the partner: %s', async (format) => {
      const partner = newPartner();
      await service.api.uploadFeed('sku,product_name\nA,A\n', partner);
      await putFormat(service.api, 'Another', 'theirs', weekly);
      const bound = await withStoredKey(service, partner);

      for (const api of [service.api, bound]) {
        expect(
          await api.get(`/partners/${encodeURIComponent(partner)}/products.csv?format=${format}`),
        ).toMatchObject({
          status: 422,
          body: { detail: [{ type: 'unknown_format', loc: ['query', 'format'], input: format }] },
        });
      }
    });
  });
});

describe('the charset of files with a format', () => {
  const german: FormatDefinition = {
    encoding: 'windows-1252',
    columns: { sku: { from: ['Nr'] }, product_name: { from: ['Größe'] } },
  };

  it.each([
    ['its format', encode('Nr,Größe\nA,\nB,ü\n', 'windows-1252'), 'windows-1252'],
    ['its byte order mark', Buffer.from('\ufeffNr,Größe\nA,\nB,ü\n'), 'utf-8'],
  ])('is that of %s, of the raw file and its rejects', async (_, file, charset) => {
    await putFormat(service.api, 'Charset', 'german', german);
    const { feedId, jobId } = await service.api.loadFeed(file, 'Charset', { format: 'german' });

    for (const path of [`/feeds/${feedId}/raw`, `/jobs/${jobId}/rejects.csv`]) {
      const { status, headers } = await service.api.get(path);
      expect([path, status, headers.get('content-type')]).toEqual([
        path,
        200,
        `text/csv; charset=${charset}`,
      ]);
    }
  });
});

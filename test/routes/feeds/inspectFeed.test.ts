import { gzipSync } from 'node:zlib';
import { encode } from 'iconv-lite';
import type { components } from '../../../generated/openapi';
import { applyMergePatch } from '../../../src/feed-format/detect/merge-patch';
import type { ApiResponse } from '../../support/api-client';
import { putFormat } from '../../support/format-requests';
import { excelWorkbook, filesOfOtherFormats } from '../../support/other-file-formats';
import { fieldPart, filePart, formBody, formType, partnerPart, type RawPart } from '../../support/requests';
import { startTestService, type TestService } from '../../support/service';
import { expectRefusal, stored } from '../../support/stored-uploads';

type FormatDoubt = components['schemas']['FormatDoubt'];

const fileBytesMax = 2_000_000;
let service: TestService;
beforeAll(async () => {
  service = await startTestService({ uploadBytesMax: fileBytesMax });
});

type Content = string | Buffer;
const inspectedMax = 262_148;

/** Posts the parts to the endpoint, in this order. */
const send = (path: '/feeds/inspect' | '/feeds/upload', ...parts: RawPart[]) =>
  service.api.send('POST', path, { headers: { 'content-type': formType }, body: formBody(parts) });

async function inspect(content: Content, options?: Parameters<typeof filePart>[1]) {
  const before = await stored(service);
  const { status, body } = await send('/feeds/inspect', partnerPart(), filePart(content, options));
  expect(status).toBe(200);
  expect(body.accepted).toBe(body.refusal === null);
  expect(await stored(service)).toEqual(before);
  return body;
}

const withBytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));

const values = (given: Record<string, string>) => ({
  sku: null,
  product_name: null,
  description: null,
  brand: null,
  category: null,
  price: null,
  currency: null,
  availability: null,
  ...given,
});

describe('POST /feeds/inspect', () => {
  describe('200', () => {
    it('returns encoding, headers, first rows after cleaning, and issues', async () => {
      const csv =
        'sku,Product_Name, PRICE ,availability,Colour\r\n 01 ,"Tent\r\n2",USD 5,In Stock,red\r\n\r\n,Lamp,NA,ask us,\r\n';

      const body = await inspect(csv);

      const header = (column_number: number, name: string, column: string | null) => ({
        column_number,
        header: name,
        column,
        confidence: column === null ? 0 : 1,
        reason: null,
        suggestion: null,
      });
      const issue = {
        line: 5,
        last_line: 5,
        row: 2,
        sku: null,
        severity: 'error',
        message: expect.any(String),
      };
      expect(body).toEqual({
        accepted: true,
        refusal: null,
        hint: null,
        run_failure: null,
        inspected_bytes: csv.length,
        complete: true,
        encoding: 'utf-8',
        detected_encoding: 'utf-8',
        byte_order_mark: false,
        delimiter: ',',
        decimal_separator: '.',
        skip_lines: 0,
        line_ends: 'crlf',
        headers: [
          header(1, 'sku', 'sku'),
          header(2, 'Product_Name', 'product_name'),
          header(3, 'PRICE', 'price'),
          header(4, 'availability', 'availability'),
          header(5, 'Colour', null),
        ],
        row_count: 2,
        rows: [
          {
            line: 2,
            row: 1,
            values: values({
              sku: '01',
              product_name: 'Tent\r\n2',
              price: '5',
              currency: 'USD',
              availability: 'in_stock',
            }),
          },
        ],
        issues: [
          { ...issue, field: 'sku', column_number: 1, code: 'missing_required', value: null },
          { ...issue, field: 'price', column_number: 3, code: 'invalid_price', value: 'NA' },
          {
            ...issue,
            line: 1,
            last_line: 1,
            row: 0,
            field: null,
            column_number: 5,
            code: 'unknown_column',
            severity: 'warning',
            value: 'Colour',
          },
          {
            ...issue,
            field: 'availability',
            column_number: 4,
            code: 'unknown_availability',
            severity: 'warning',
            value: 'ask us',
          },
        ],
        issue_counts: [
          ['missing_required', 'error', { line: 5, row: 2, sku: null, value: null }],
          ['invalid_price', 'error', { line: 5, row: 2, sku: null, value: 'NA' }],
          ['unknown_availability', 'warning', { line: 5, row: 2, sku: null, value: 'ask us' }],
          ['unknown_column', 'warning', { line: 1, row: 0, sku: null, value: 'Colour' }],
        ].map(([code, severity, first]) => ({ code, severity, count: 1, first_rows: [first] })),
        suggested_format: {
          null_values: ['NA'],
          columns: Object.fromEntries(Object.keys(values({})).map((column) => [column, { from: [column] }])),
        },
        draft_format: null,
        doubts: [],
        known_skus: { checked: 1, known: 0 },
        sample: [
          values({
            sku: '01',
            product_name: 'Tent\r\n2',
            price: '5',
            currency: 'USD',
            availability: 'in_stock',
          }),
        ],
      });
    });

    it.each<[string, Content, object]>([
      ['plain', 'sku,product_name\n', { byte_order_mark: false, encoding: 'utf-8' }],
      ['a byte order mark', '\ufeffsku,product_name\n', { byte_order_mark: true, encoding: 'utf-8' }],
      [
        'a byte order mark before quotes, in a file that is no text',
        '\ufeff"colour","size"\n1,\0\n',
        { byte_order_mark: true, headers: [{ header: 'colour' }, { header: 'size' }] },
      ],
      ['Thai', 'sku,product_name\n1,เต็นท์\n', { encoding: 'utf-8', row_count: 1 }],
      [
        'UTF-16, little end first',
        Buffer.from('\ufeffsku,product_name\n', 'utf16le'),
        {
          encoding: 'utf-16le',
          byte_order_mark: true,
          accepted: false,
          headers: [{ column: 'sku' }, { column: 'product_name' }],
        },
      ],
      [
        'UTF-16, big end first',
        Buffer.from('\ufeffsku,product_name\n', 'utf16le').swap16(),
        {
          encoding: 'utf-16be',
          byte_order_mark: true,
          accepted: false,
          headers: [{ column: 'sku' }, { column: 'product_name' }],
        },
      ],
      [
        'Latin-1',
        withBytes('sku,product_name\n1,Caf', [0xe9], '\n'),
        {
          encoding: 'unknown',
          detected_encoding: 'windows-1252',
          byte_order_mark: false,
          accepted: false,
          delimiter: ',',
          headers: [{ column: 'sku' }, { column: 'product_name' }],
        },
      ],
      [
        'an incomplete character at its end',
        withBytes('sku,product_name\n1,', [0xe2, 0x82]),
        { encoding: 'unknown' },
      ],
    ])('detects the encoding: %s', async (_, csv, expected) => {
      expect(await inspect(csv)).toMatchObject({ complete: true, ...expected });
    });

    it.each([
      [',', 'sku,product_name\n', true],
      [';', 'sku;product_name;"a,b"\n', true],
      ['\t', 'sku\tproduct_name\n', true],
      [',', 'sku,product_name;x\n', false],
      [';', 'SKU Code;name,x;price\n', false],
      ['\t', 'a\tb\tc\n', false],
    ])('detects the delimiter %j of %j, or the most likely one', async (delimiter, csv, accepted) => {
      expect(await inspect(csv)).toMatchObject({ delimiter, accepted });
    });

    it.each([
      ['lf', 'sku,product_name\n1,A\n'],
      ['crlf', 'sku,product_name\r\n1,A\r\n'],
      ['mixed', 'sku,product_name\r\n1,A\n'],
      ['mixed', 'sku,product_name\n1,"A\r\nB"\n'],
      ['none', 'sku,product_name'],
      ['none', 'sku,product_name,a\rb'],
    ])('detects line ends: %s', async (line_ends, csv) => {
      expect(await inspect(csv)).toMatchObject({ line_ends });
    });

    describe('suggests', () => {
      it.each([
        ['SKU Code', 'sku'],
        ['sku_id', 'sku'],
        ['Item Number', 'sku'],
        ['name', 'product_name'],
        ['Title', 'product_name'],
        ['product-name', 'product_name'],
        ['Product Nmae', 'product_name'],
        ['prodct_name', 'product_name'],
        ['Body (HTML)', 'description'],
        ['Vendor', 'brand'],
        ['brands', 'brand'],
        ['Product Type', 'category'],
        ['Unit Price', 'price'],
        ['currency code', 'currency'],
        ['In Stock', 'availability'],
      ])('for %j the column %s', async (header, suggestion) => {
        const { headers } = await inspect(`"${header}"\n`);

        expect(headers).toMatchObject([{ column_number: 1, header, column: suggestion, suggestion }]);
        expect(headers[0].confidence).toBeGreaterThan(0);
        expect(headers[0].confidence).toBeLessThan(1);
        expect(headers[0].reason).toMatch(/^its /);
      });

      it.each([
        ['skuu', 'sku'],
        ['desciption', 'description'],
        ['catagory', 'category'],
        ['Prize', 'price'],
        ['curency', 'currency'],
        ['availabilty', 'availability'],
      ])('for %j, which may be misspelt, only a new name: %s', async (header, suggestion) => {
        const { headers } = await inspect(`"${header}"\n`);

        expect(headers).toEqual([
          { column_number: 1, header, column: null, confidence: 0, reason: null, suggestion },
        ]);
      });

      it.each(['colour', 'x', '', '   ', '_line', '_codes', 'weight_in_kg', '123', '!!!', 'ซูซู'])(
        'nothing for %j',
        async (header) => {
          const { headers } = await inspect(`size,"${header}"\n`);

          expect(headers[1]).toEqual({
            column_number: 2,
            header: header.trim(),
            column: null,
            confidence: 0,
            reason: null,
            suggestion: null,
          });
        },
      );

      it('no column that the file has', async () => {
        const { headers, accepted } = await inspect('SKU,SKU Code,name,Product_Name,Unit Price\n');

        expect(accepted).toBe(true);
        expect(
          headers.map((each: { column: unknown; suggestion: unknown }) => [each.column, each.suggestion]),
        ).toEqual([
          ['sku', null],
          [null, null],
          [null, null],
          ['product_name', null],
          [null, 'price'],
        ]);
      });
    });

    it('returns the first ten rows that would be loaded, and the count of all', async () => {
      const rows = Array.from({ length: 30 }, (_, n) =>
        n % 3 === 0 ? `S${n},,` : `S${n},Product ${n},${n}`,
      );

      const body = await inspect(`sku,product_name,price\n${rows.join('\n')}\n`);

      expect(body.row_count).toBe(30);
      expect(body.rows.map(({ row, line }: { row: number; line: number }) => [row, line])).toEqual(
        [2, 3, 5, 6, 8, 9, 11, 12, 14, 15].map((row) => [row, row + 1]),
      );
      expect(body.issue_counts).toMatchObject([{ code: 'missing_required', count: 10 }]);
    });

    it('omits a row that a later one replaces', async () => {
      const rows = Array.from({ length: 15 }, (_, n) => `S${n % 12},Product ${n}`);

      const body = await inspect(`sku,product_name\n${rows.join('\n')}\n`);

      expect(body.rows.map(({ row }: { row: number }) => row)).toEqual([4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
      expect(body.issue_counts).toMatchObject([{ code: 'duplicate_sku', count: 3 }]);
    });

    it('counts repeated skus as a run does, in file order', async () => {
      const csv = 'sku,product_name\nA,1\nB,2\nB,3\nA,4\nC,5\nA,6\n';

      const body = await inspect(csv);
      const { job } = await service.api.loadFeed(csv, 'Repeated');

      expect(body.issue_counts).toEqual(job.issue_counts);
      expect(body.issues.map(({ line }: { line: number }) => line)).toEqual([2, 3, 5]);
    });

    it('returns at most 100 issues, errors before warnings, and exact counts', async () => {
      const rows = Array.from({ length: 300 }, (_, n) => (n % 2 === 0 ? `S${n},A,0` : `S${n},A,NA`));

      const body = await inspect(`sku,product_name,price\n${rows.join('\n')}\n`);

      expect(body.issues).toHaveLength(100);
      expect(new Set(body.issues.map(({ code }: { code: string }) => code))).toEqual(
        new Set(['invalid_price']),
      );
      expect(body.issue_counts).toMatchObject([
        { code: 'invalid_price', count: 150 },
        { code: 'zero_price', count: 150 },
      ]);
    });

    it('returns the reason why a run would fail, and the rows skipped before', async () => {
      const body = await inspect('sku,product_name,price\nA,A,NA\nB,B,1\nC,"C\n');

      expect(body).toMatchObject({
        accepted: true,
        run_failure: 'The quote that opens in the record at line 4 is never closed.',
        row_count: 2,
        issue_counts: [{ code: 'invalid_price', count: 1 }],
      });
    });

    it('returns the issues of the later run', async () => {
      const csv =
        '\n"sku";product_name;price;x;availability\n;A;1;;\nB;"B"x;1\nC;C;USD 1,00;;ask\nD;D;0;;;;\nE;E;0\nE;E;1\n';

      const body = await inspect(csv);
      const { job, jobId } = await service.api.loadFeed(csv, 'The same');

      const { items } = (await service.api.get(`/jobs/${jobId}/issues`)).body;
      const bySeverity = (severity: string) =>
        items.filter((issue: { severity: string }) => issue.severity === severity);
      expect(body.issue_counts).toEqual(job.issue_counts);
      expect(body.issues).toEqual([...bySeverity('error'), ...bySeverity('warning')]);
      expect(body.row_count).toBe(job.summary.processed);
    });

    describe('of a file larger than 256 KiB', () => {
      const head = 'sku,product_name\n';
      const rows = (count: number) =>
        Array.from({ length: count }, (_, n) => `S${n},${'n'.repeat(90)}\n`).join('');

      it('inspects the beginning, without the incomplete row', async () => {
        const csv = head + rows(5_000);

        const body = await inspect(csv);

        const seen = csv.slice(0, body.inspected_bytes);
        expect(body.inspected_bytes).toBeGreaterThan(262_144);
        expect(body.inspected_bytes).toBeLessThanOrEqual(inspectedMax);
        expect(body).toMatchObject({ accepted: true, complete: false, run_failure: null, issues: [] });
        expect(body.row_count).toBe(seen.split('\n').length - 2);
      });

      it.each([0, 1, 2, 3])('handles an incomplete character at a shift of %i bytes', async (offset) => {
        const body = await inspect(`${head}${'x'.repeat(offset)},"${'😀'.repeat(100_000)}"\n`);

        expect(body).toMatchObject({
          accepted: true,
          complete: false,
          encoding: 'utf-8',
          run_failure: null,
          issues: [],
        });
      });

      it('does not report a quote that may be closed in the rest', async () => {
        const body = await inspect(`${head}A,A\nB,B\nC,"${'x\n'.repeat(200_000)}"\n`);

        expect(body).toMatchObject({ run_failure: null, complete: false, issues: [] });
        expect(body.rows[0].values.sku).toBe('A');
      });

      it('is incomplete if one byte is missing', async () => {
        const file = (bytes: number) => `${head}A,${'x'.repeat(bytes - head.length - 3)}\n`;

        expect(await inspect(file(262_144))).toMatchObject({ complete: true, row_count: 1 });
        expect(await inspect(file(inspectedMax + 1))).toMatchObject({ complete: false, row_count: 0 });
      });
    });
  });

  describe('200, refused:', () => {
    const many = (row: string) => row.repeat(Math.ceil(300_000 / row.length));
    const files: [string, Content, object?][] = [
      ['no CSV', 'sku,product_name\n', { fileName: 'feed.xlsx' }],
      ['a picture by its media type', 'sku,product_name\n', { mediaType: 'image/png' }],
      ['no CSV, and empty', '', { fileName: 'feed.pdf' }],
      ['no bytes', ''],
      ['white space', ' \r\n\t\n\u3000'],
      ['a byte order mark', '\ufeff'],
      ['300 KB of blank lines', many('\r\n')],
      ['300 KB of white space of three bytes a character', many('\u3000')],
      ['300 KB of blank lines before its header', `${many('\r\n')}sku,product_name\n1,Tent\n`],
      ['300 KB of blank lines before text', `${many('\n')}${many('x')}`],
      [
        '300 KB of white space of three bytes a character before its header',
        `${many('\u3000')}\nsku,product_name\n`,
      ],
      ['UTF-16', Buffer.from('\ufeffsku,product_name\n', 'utf16le')],
      ['Latin-1', withBytes('sku,product_name\n1,Caf', [0xe9], '\n')],
      ['an incomplete character at its end', withBytes('sku,product_name\n1,', [0xf0, 0x9f])],
      ['Latin-1 in the header', withBytes('sku,product_name,gr', [0xf6], 'sse\n')],
      ['no header', '1,Tent\n'],
      ['another name', 'SKU Code,product_name\n'],
      ['one column that is missing, one twice', 'sku,sku\n'],
      ['a column twice', 'sku,Price,product_name,price\n'],
      ['another delimiter', 'sku|product_name\n'],
      ['a quote that is not closed', '"sku,product_name\n1,Tent\n'],
      ['a header that is too long', `sku,product_name,${many('x')}\n1,A,\n`],
      ['a header that is too long, of two bytes a character', `sku,product_name,${many('é')}\n1,A,\n`],
      ['a header that is too long, of three bytes a character', `sku,product_name,${many('€')}\n1,A,\n`],
      ['a header that is too long, of four bytes a character', `sku,product_name,${many('😀')}\n1,A,\n`],
      ['a header that is too long, of four bytes, one further', `sku,product_name,x${many('😀')}\n1,A,\n`],
      ['a header that is too long, of four bytes, two further', `sku,product_name,xx${many('😀')}\n1,A,\n`],
      ['a quote that is not closed, and too long', `"sku,product_name\n${many('1,Tent\n')}`],
      ['a good one', 'sku,product_name\n1,Tent\n'],
      ['a good large one', `sku,product_name\n${many('1,Tent\n')}`],
    ];

    // Jest would pass `done` for a third parameter that a row does not have.
    it.each(files.map(([what, content, options = {}]) => [what, content, options] as const))(
      'has the error of an upload, for a file with %s',
      async (_, content, options) => {
        const body = await inspect(content, options);
        const upload = await send('/feeds/upload', partnerPart(), filePart(content, options));

        expect(body.refusal).toBe(upload.status === 201 ? null : upload.body.detail);
        expect(body.accepted).toBe(upload.status === 201);
      },
    );

    it.each(filesOfOtherFormats)('detects %s, with instructions: %s', async (_, code, content) => {
      const { hint, refusal } = await inspect(content);

      expect(hint).toEqual({ code, message: expect.stringMatching(/^This .+: .+\.$/) });
      // The messages of an upload stay as specified.
      const upload = await send('/feeds/upload', partnerPart(), filePart(content));
      expect(upload).toMatchObject({ status: 400, body: { detail: refusal } });
      expect(refusal).toMatch(/^(?:CSV file must be UTF-8 encoded\.|Invalid CSV file: .+)$/);
    });

    it('suggests no format for a text in several encodings, and says so', async () => {
      const content = withBytes('Item no.,Product name\n1,Zelte für Dächer – groß', [0xff], '\n');
      const { hint, suggested_format, draft_format } = await inspect(content);

      expect(hint).toEqual({
        code: 'unknown_encoding',
        message:
          'This text has an unknown encoding, or several: save it as CSV UTF-8, and check letters with accents.',
      });
      expect(suggested_format).toBeNull();
      expect(draft_format).toMatchObject({ columns: { sku: { from: ['Item no.'] } } });
    });

    it('detects the format for any name and media type', async () => {
      const body = await inspect(excelWorkbook(), { fileName: 'spring.xlsx' });

      expect(body).toMatchObject({
        refusal: 'Only CSV uploads are supported at this time.',
        hint: { code: 'excel_workbook', message: 'This is an Excel workbook: save it as CSV UTF-8.' },
      });
    });

    it.each<[string, Content]>([
      ['an acceptable file', 'sku,product_name\n<html>,{"a":1}\n'],
      ['an acceptable file whose header begins like JSON', '"[""a"",1",sku,product_name\n1,2,3\n'],
      ['an empty file', ''],
      ['a header that is wrong', 'SKU Code,product_name\n1,Tent\n'],
      ['UTF-8 whose last character is cut', withBytes('sku,product_name\n1,Zelt f', [0xc3])],
      [
        'Cyrillic text in Windows-1251',
        withBytes(
          'sku\n',
          Array.from('Палатка', (c) => c.charCodeAt(0) - 0x350),
        ),
      ],
      ['bytes that are no text', withBytes('sku,product_name\n1,', [0x00, 0x01, 0xfe, 0x02], '\n')],
    ])('gives no hint for %s', async (_, content) => {
      expect((await inspect(content)).hint).toBeNull();
    });

    it('suggests a format for a file of Excel: semicolons, decimal commas, Windows-1252, lines before the header', async () => {
      const csv = `Preisliste Müller\r\n\r\nArtikelnummer;Bezeichnung;Preis (EUR);Bestand;Verfügbarkeit\r\n${[
        'A-1;Hängematte;1.299,50;3;auf Lager',
        'A-2;Zelt für zwei;12,90;0;ausverkauft',
        'A-3;;12,90;0;auf Lager',
      ].join('\r\n')}\r\n`;

      const body = await inspect(Buffer.from(csv, 'latin1'));

      expect(body).toMatchObject({
        accepted: false,
        refusal: 'CSV file must be UTF-8 encoded.',
        encoding: 'unknown',
        detected_encoding: 'windows-1252',
        delimiter: ';',
        decimal_separator: ',',
        skip_lines: 2,
        line_ends: 'crlf',
        headers: [
          { header: 'Artikelnummer', column: 'sku' },
          { header: 'Bezeichnung', column: 'product_name' },
          { header: 'Preis (EUR)', column: 'price' },
          { header: 'Bestand', column: null, confidence: 0 },
          { header: 'Verfügbarkeit', column: 'availability' },
        ],
        suggested_format: {
          delimiter: ';',
          encoding: 'windows-1252',
          skip_lines: 2,
          decimal_separator: ',',
          columns: {
            sku: { from: ['Artikelnummer'] },
            product_name: { from: ['Bezeichnung'] },
            price: { from: ['Preis (EUR)'] },
            currency: { value: 'EUR' },
            availability: { from: ['Verfügbarkeit'] },
          },
          availability: { 'auf lager': 'in_stock', ausverkauft: 'out_of_stock' },
        },
        row_count: 3,
        issue_counts: [{ code: 'missing_required', count: 1 }],
      });
      expect(body.sample).toEqual([
        values({
          sku: 'A-1',
          product_name: 'Hängematte',
          price: '1299.50',
          currency: 'EUR',
          availability: 'in_stock',
        }),
        values({
          sku: 'A-2',
          product_name: 'Zelt für zwei',
          price: '12.90',
          currency: 'EUR',
          availability: 'out_of_stock',
        }),
      ]);
    });

    it.each<[string, Content, string[]]>([
      ['Google Merchant', 'id\ttitle\tprice\tavailability\n1\tTent\t5 EUR\tin_stock\n', ['id', 'title']],
      [
        'Shopify',
        'Handle,Title,Option1 Name,Option1 Value,Variant SKU,Variant Price\ntent,Tent,Size,L,T-1,5\ntent,,,S,T-2,6\n',
        ['Variant SKU', 'Title'],
      ],
      ['WooCommerce', 'ID,SKU,Name,Regular price,In stock?\n1,T-1,Tent,5,1\n', ['SKU', 'Name']],
    ])(
      'suggests a format that the service accepts and that loads the file, possibly after answers: %s',
      async (_, csv, headers) => {
        const { suggested_format, draft_format, doubts, sample, headers: found } = await inspect(csv);
        const answers = doubts.map(
          ({ choices }: { choices: { changes: object }[] }) => choices.at(-1)!.changes,
        );
        const format = suggested_format ?? answers.reduce(applyMergePatch, draft_format);
        const saved = await service.api.send('PUT', '/partners/Detected/formats/seen', {
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(format),
        });
        const upload = await send(
          '/feeds/upload',
          partnerPart('Detected'),
          fieldPart('format', 'seen'),
          filePart(csv),
        );

        expect({ saved: saved.status, upload: upload.status }).toEqual({ saved: 200, upload: 201 });
        expect(sample.length).toBeGreaterThan(0);
        const columnOf = (name: string) =>
          found.find(({ header }: { header: string }) => header === name).column as string;
        expect(headers.map(columnOf)).toEqual(['sku', 'product_name']);
      },
    );

    it.each<[string, Content]>([
      ['no sku', 'Name;Preis\nZelt;5\n'],
      ['no name', 'Artikelnummer;Preis\n1;5\n'],
      ['nothing', ''],
      ['no table', excelWorkbook()],
    ])('suggests no format for a file with %s', async (_, csv) => {
      expect(await inspect(csv)).toMatchObject({ suggested_format: null, sample: [], row_count: 0 });
    });

    it('lists the fields of a file without a header row, each with an empty header', async () => {
      const columns = { sku: { position: 1 }, product_name: { position: 2 } };
      const fields = [
        fieldPart('format_definition', JSON.stringify({ header: false, columns })),
        fieldPart('format', 'own'),
      ];
      const csv = 'A-1,Two-person tent,5.50\nA-2,Head lamp,7.25\n';

      const found = await inspect(csv);
      const { body: read } = await send('/feeds/inspect', partnerPart(), ...fields, filePart(csv));

      for (const { headers } of [found, read])
        expect(headers).toMatchObject([
          { column_number: 1, header: '', column: 'sku' },
          { column_number: 2, header: '', column: 'product_name' },
          { column_number: 3, header: '' },
        ]);
    });

    it('asks about ambiguities, with the products of each choice', async () => {
      const rows = ['A;a;1,125;2,50', 'B;b;5;6', 'C;c;2,250;'];
      const body = await inspect(`Artikelnummer;Bezeichnung;RRP;Aktionspreis\n${rows.join('\n')}\n`);
      const priced = (price: string | null) =>
        values({ sku: 'A', product_name: 'a', ...(price && { price }) });

      expect(body).toMatchObject({
        suggested_format: null,
        draft_format: {
          delimiter: ';',
          columns: { sku: { from: ['Artikelnummer'] }, product_name: { from: ['Bezeichnung'] } },
        },
        decimal_separator: null,
        headers: [
          { column: 'sku' },
          { column: 'product_name' },
          { column: 'price', confidence: 0.5 },
          { column: null },
        ],
      });
      const [currency, price] = body.doubts as FormatDoubt[];
      expect(price).toMatchObject({ about: 'price', code: 'unsure_column' });
      expect(price!.choices.map(({ label, changes, sample }) => [label, changes, sample[0]])).toEqual([
        [
          'The price is "RRP"; 1,125 means 1125',
          { columns: { price: { from: ['RRP'] } }, decimal_separator: '.' },
          priced('1125'),
        ],
        [
          'The price is "RRP"; 1,125 means 1.125',
          { columns: { price: { from: ['RRP'] } }, decimal_separator: ',' },
          priced('1.125'),
        ],
        [
          'The price is "Aktionspreis"',
          { columns: { price: { from: ['Aktionspreis'] } }, decimal_separator: ',' },
          priced('2.50'),
        ],
        ['Leave the price out', { columns: { price: null } }, priced(null)],
      ]);
      expect(currency).toMatchObject({
        about: 'currency',
        code: 'no_currency',
        message: expect.stringContaining('use USD'),
        choices: [{ value_pointer: '/columns/currency/value', sample: [] }, { value_pointer: null }],
      });
    });

    it('describes a file with an invalid header', async () => {
      const body = await inspect('SKU Code,product_name\nA,A\n');

      expect(body).toMatchObject({
        refusal: 'Invalid CSV file: Missing required CSV headers: product_name, sku',
        delimiter: ',',
        line_ends: 'lf',
        headers: [
          { header: 'SKU Code', column: 'sku', suggestion: 'sku' },
          { header: 'product_name', column: 'product_name', suggestion: null },
        ],
        row_count: 1,
        rows: [{ line: 2, row: 1, values: values({ sku: 'A', product_name: 'A' }) }],
        issues: [],
        issue_counts: [],
        run_failure: null,
      });
    });
  });

  describe('200, by a format:', () => {
    const german = {
      delimiter: ';',
      encoding: 'windows-1252',
      skip_lines: 1,
      decimal_separator: ',',
      columns: {
        sku: { from: ['Nr'] },
        product_name: { join: ['Name', 'Farbe'], with: ' ' },
        price: { from: ['Preis'] },
        currency: { value: 'EUR' },
      },
    };
    const csv = 'Preise\nNr;Name;Farbe;Preis;Lager\nA;Hängematte;grün;1.299,00;5\nB;;;9,90;1\n';
    const file = encode(csv, 'windows-1252');
    beforeAll(async () => {
      await putFormat(service.api, 'Acme Outdoor', 'german', german);
      await putFormat(service.api, 'Defaulted', 'default', german);
      await putFormat(service.api, 'Birch', 'theirs', german);
    });

    const under = (format: string, content: Content, options?: Parameters<typeof filePart>[1]) =>
      send('/feeds/inspect', partnerPart(), fieldPart('format', format), filePart(content, options));

    it.each([
      ['plain', file, 'feed.csv'],
      ['packed', gzipSync(file), 'feed.csv.gz'],
      [
        'packed in two members',
        Buffer.concat([gzipSync(file.subarray(0, 30)), gzipSync(file.subarray(30))]),
        'A.TSV.GZ',
      ],
    ])('shows the values that an upload with the format reads: %s', async (_, content, fileName) => {
      const { status, body } = await under('german', content, { fileName });

      const header = (column_number: number, name: string, column: string | null) => ({
        column_number,
        header: name,
        column,
        confidence: column === null ? 0 : 1,
        reason: null,
        suggestion: null,
      });
      const loaded = values({ sku: 'A', product_name: 'Hängematte grün', price: '1299.00', currency: 'EUR' });
      expect(status).toBe(200);
      expect(body).toMatchObject({
        accepted: true,
        refusal: null,
        hint: null,
        inspected_bytes: file.length,
        complete: true,
        detected_encoding: 'windows-1252',
        delimiter: ';',
        decimal_separator: ',',
        skip_lines: 1,
        headers: [
          header(1, 'Nr', 'sku'),
          header(2, 'Name', 'product_name'),
          header(3, 'Farbe', 'product_name'),
          header(4, 'Preis', 'price'),
          header(5, 'Lager', null),
        ],
        row_count: 2,
        rows: [{ line: 3, row: 1, values: loaded }],
        issue_counts: [
          { code: 'missing_required', count: 1 },
          { code: 'unmapped_column', first_rows: [{ row: 0, value: 'Lager' }] },
        ],
        sample: [loaded],
      });
    });

    it('finds the format of a partner that is named after the file', async () => {
      const { body } = await send(
        '/feeds/inspect',
        fieldPart('format', 'german'),
        filePart(file),
        partnerPart(),
      );

      expect(body).toMatchObject({ accepted: true, row_count: 2 });
    });

    it('applies the default format only if it is named', async () => {
      const ofDefaulted = (...fields: RawPart[]) =>
        send('/feeds/inspect', partnerPart('Defaulted'), ...fields, filePart(file));

      expect((await ofDefaulted()).body).toMatchObject({ refusal: 'CSV file must be UTF-8 encoded.' });
      expect((await ofDefaulted(fieldPart('format', 'default'))).body).toMatchObject({ accepted: true });
    });

    const packed = gzipSync(file);
    it.each<[string, string, Content, string]>([
      ['the wrong encoding', 'standard', file, 'feed.csv'],
      ['other headers', 'german', 'Artikel;Name\n1;2\n', 'feed.csv'],
      ['no content', 'german', '', 'feed.csv'],
      ['nothing but blanks', 'german', encode('\u00a0\n', 'windows-1252'), 'feed.csv'],
      ['a name that is not CSV', 'german', file, 'feed.xlsx'],
      ['gzip without the name', 'german', packed, 'feed.csv'],
      ['the name without gzip', 'german', file, 'feed.csv.gz'],
      ['a truncated member', 'german', packed.subarray(0, -6), 'feed.csv.gz'],
      ['bytes behind the last member', 'german', Buffer.concat([packed, Buffer.from('x')]), 'feed.csv.gz'],
      ['the wrong encoding, packed', 'standard', packed, 'feed.csv.gz'],
      ['empty when unpacked', 'german', gzipSync(''), 'feed.csv.gz'],
    ])(
      'has the error of an upload with the format, for a file with %s',
      async (_, format, content, fileName) => {
        const { status, body } = await under(format, content, { fileName });
        const upload = await send(
          '/feeds/upload',
          partnerPart(),
          fieldPart('format', format),
          filePart(content, { fileName }),
        );

        expect({ status, upload: upload.status }).toEqual({ status: 200, upload: 400 });
        expect(body).toMatchObject({ accepted: false, refusal: upload.body.detail });
      },
    );
  });

  describe('200, in a mode:', () => {
    const inMode = (mode: string, content: Content, ...fields: RawPart[]) =>
      send('/feeds/inspect', partnerPart(), fieldPart('mode', mode), ...fields, filePart(content));
    const prices = {
      delimiter: ';',
      decimal_separator: ',',
      columns: { sku: { from: ['Nr'] }, price: { from: ['Preis'] } },
    };
    beforeAll(() => putFormat(service.api, 'Acme Outdoor', 'prices', prices));

    it.each<[string, string, RawPart[]]>([
      ['without a format', 'sku,price\nA,9.99\nB,\n,1\n', []],
      ['by a format', 'Nr;Preis\nA;9,99\nB;\n;1\n', [fieldPart('format', 'prices')]],
      [
        'by a definition',
        'Nr;Preis\nA;9,99\nB;\n;1\n',
        [fieldPart('format_definition', JSON.stringify(prices))],
      ],
    ])('reads a file of skus and prices as an update does, %s', async (_, csv, fields) => {
      const { status, body } = await inMode('update', csv, ...fields);

      const priced = values({ sku: 'A', product_name: '', price: '9.99' });
      const unpriced = values({ sku: 'B', product_name: '' });
      expect(status).toBe(200);
      expect(body).toMatchObject({
        accepted: true,
        refusal: null,
        row_count: 3,
        rows: [
          { line: 2, row: 1, values: priced },
          { line: 3, row: 2, values: unpriced },
        ],
        issue_counts: [{ code: 'missing_required', count: 1 }],
      });
    });

    it('shows the rows and the samples of choices under the draft for an update', async () => {
      const { body } = await inMode('update', 'Artikelnummer;Preis 1;Preis 2\nA;9,99;8,99\nB;5,00;4,00\n');
      const price = (body.doubts as FormatDoubt[]).find(({ about }) => about === 'price')!;

      expect(body.sample).toMatchObject([{ sku: 'A' }, { sku: 'B' }]);
      expect(price.choices[0]!.sample).toMatchObject([
        { sku: 'A', price: '9.99' },
        { sku: 'B', price: '5.00' },
      ]);
    });

    it('shows no value if the group of a row could not be read: an update leaves it', async () => {
      const grouped = {
        columns: { sku: { from: ['sku'] }, product_name: { from: ['name'] }, price: { from: ['price'] } },
        fill_down: [
          { column: 'product_name', by: 'group' },
          { column: 'price', by: 'group' },
        ],
      };
      const csv = 'group,sku,name,price\n1,A,Tent,5,x\n1,B,,\n';
      const definition = fieldPart('format_definition', JSON.stringify(grouped));
      const { body } = await inMode('update', csv, definition);

      expect(body.rows).toMatchObject([{ values: { sku: 'B', product_name: '', price: null } }]);
    });

    it.each(['upsert', 'replace'])('requires the names in mode %s, as without a mode', async (mode) => {
      const { body } = await inMode(mode, 'sku,price\nA,9.99\n');

      expect(body).toMatchObject({
        accepted: false,
        refusal: 'Invalid CSV file: Missing required CSV headers: product_name, sku',
      });
    });
  });

  describe('200, of a packed file without a format:', () => {
    const options = { fileName: 'feed.csv.gz', mediaType: 'application/gzip' };

    it('detects the packed content, and reports that an upload needs a format', async () => {
      const csv = 'Artikelnummer;Bezeichnung\nA-1;Zelt\n';

      expect(await inspect(gzipSync(csv), options)).toMatchObject({
        refusal: 'Only CSV uploads are supported at this time.',
        hint: {
          code: 'gzip',
          message: 'This is a gzip file: name a format in the upload, or unpack it first.',
        },
        inspected_bytes: csv.length,
        complete: true,
        encoding: 'utf-8',
        suggested_format: { delimiter: ';', columns: { sku: { from: ['Artikelnummer'] } } },
        sample: [values({ sku: 'A-1', product_name: 'Zelt' })],
      });
    });

    it('names the packed content if it is not a table', async () => {
      expect(await inspect(gzipSync(excelWorkbook()), options)).toMatchObject({
        hint: { code: 'excel_workbook' },
      });
    });

    it('reports that it is broken', async () => {
      expect(await inspect(gzipSync('sku,product_name\n').subarray(0, -4), options)).toMatchObject({
        hint: {
          code: 'gzip',
          message: 'This gzip file is damaged or incomplete: compress the CSV file again.',
        },
        complete: false,
      });
    });
  });

  const refuses = (send: () => Promise<ApiResponse>, status: number, body: unknown) =>
    expectRefusal(service, send, status, body);
  const post = (body: string | Uint8Array, contentType = formType) =>
    service.api.send('POST', '/feeds/inspect', { headers: { 'content-type': contentType }, body });

  describe('400', () => {
    it.each([
      ['no boundary in it', 'no part'],
      ['no end', formBody([partnerPart(), filePart()]).subarray(0, -10)],
    ])('rejects a body with %s', async (_, body) => {
      await refuses(() => post(body), 400, { detail: 'Malformed multipart body.' });
    });
  });

  describe('401', () => {
    it.each([undefined, 'wrong'])('rejects the key %j', async (key) => {
      const { status, body } = await service.api.withKey(key).inspect({ csv: 'x', partnerName: 'A' });

      expect(status).toBe(401);
      expect(body).toEqual({ detail: 'Invalid or missing API key' });
    });
  });

  describe('413', () => {
    it('rejects a file one byte over the upload limit, and accepts one at the limit', async () => {
      const file = (bytes: number) => filePart('sku,product_name\n'.padEnd(bytes, 'a,b\n'));
      const tooLarge = { detail: `Uploaded file exceeds the limit of ${fileBytesMax} bytes.` };

      await refuses(() => send('/feeds/inspect', partnerPart(), file(fileBytesMax + 1)), 413, tooLarge);
      expect((await send('/feeds/inspect', partnerPart(), file(fileBytesMax))).status).toBe(200);
    });

    it('rejects a file that is one byte over the limit when unpacked', async () => {
      const file = (bytes: number) =>
        filePart(gzipSync('sku,product_name\n'.padEnd(bytes, 'a,b\n')), { fileName: 'feed.csv.gz' });
      const tooLarge = { detail: `Uploaded file exceeds the limit of ${fileBytesMax} bytes.` };

      await refuses(() => send('/feeds/inspect', partnerPart(), file(fileBytesMax + 1)), 413, tooLarge);
      expect((await send('/feeds/inspect', partnerPart(), file(fileBytesMax))).status).toBe(200);
    });
  });

  describe('415', () => {
    it.each(['text/csv', 'application/json', 'application/x-www-form-urlencoded'])(
      'rejects a body of %s',
      async (type) => {
        await refuses(() => post('sku,product_name\n', type), 415, {
          detail: 'Unsupported media type. Send the body as multipart/form-data.',
        });
      },
    );
  });

  describe('422', () => {
    const missing = (name: string) => ({
      type: 'missing',
      loc: ['body', name],
      msg: 'Field required',
      input: null,
    });
    const once = (name: string, input: string) => ({
      type: 'repeated',
      loc: ['body', name],
      msg: 'Field should be sent only once',
      input,
    });

    it.each<[string, RawPart[], object[]]>([
      ['no part', [fieldPart('comment', 'x')], [missing('partner_name'), missing('file')]],
      ['no file', [partnerPart()], [missing('file')]],
      ['no partner', [filePart()], [missing('partner_name')]],
      ['two files', [partnerPart(), filePart(), filePart()], [once('file', 'feed.csv')]],
      ['two partners', [partnerPart(), filePart(), partnerPart('B')], [once('partner_name', 'B')]],
      [
        'a file without a name',
        [partnerPart(), fieldPart('file', 'x')],
        [
          {
            type: 'file_name_missing',
            loc: ['body', 'file'],
            msg: 'File should be sent with a file name',
            input: null,
          },
        ],
      ],
    ])('rejects a form with %s, as the upload does', async (_, parts, detail) => {
      await refuses(() => send('/feeds/inspect', ...parts), 422, { detail });
      await refuses(() => send('/feeds/upload', ...parts), 422, { detail });
    });

    const ofFormat = (type: string, msg: string, input: string) => [
      { type, loc: ['body', 'format'], msg, input },
    ];
    const unknownFormat = 'Input should be the name of a built-in format or of a format of the partner';

    it.each<[string, RawPart[], object[]]>([
      [
        'an unknown format',
        [partnerPart(), fieldPart('format', 'none'), filePart()],
        ofFormat('unknown_format', unknownFormat, 'none'),
      ],
      [
        'the format of another partner, named after the file',
        [fieldPart('format', 'theirs'), filePart(), partnerPart()],
        ofFormat('unknown_format', unknownFormat, 'theirs'),
      ],
      [
        'a format after the file',
        [partnerPart(), filePart(), fieldPart('format', 'standard')],
        ofFormat('field_after_file', 'Field must precede file', 'standard'),
      ],
      [
        'an unknown mode',
        [partnerPart(), fieldPart('mode', 'x'), filePart()],
        [
          {
            type: 'enum',
            loc: ['body', 'mode'],
            msg: "Input should be 'upsert', 'replace' or 'update'",
            input: 'x',
            ctx: { expected: "'upsert', 'replace' or 'update'" },
          },
        ],
      ],
      [
        'the report of skipped rows to replace',
        [partnerPart(), fieldPart('mode', 'replace'), filePart('_line,_codes,sku,product_name\n2,x,A,B\n')],
        [
          {
            type: 'rejects_file',
            loc: ['body', 'mode'],
            msg: "Input should be 'upsert' for a file of skipped rows (_line, _codes)",
            input: 'replace',
          },
        ],
      ],
    ])('rejects a form with %s, as the upload does', async (_, parts, detail) => {
      await refuses(() => send('/feeds/inspect', ...parts), 422, { detail });
      await refuses(() => send('/feeds/upload', ...parts), 422, { detail });
    });

    it.each([' ', 'x'.repeat(256), 'a\u0001b'])('rejects the partner %j, as an upload does', async (name) => {
      const upload = await send('/feeds/upload', partnerPart(name), filePart());

      expect(upload.status).toBe(422);
      for (const parts of [
        [partnerPart(name), filePart()],
        [filePart(), partnerPart(name)],
      ]) {
        await refuses(() => send('/feeds/inspect', ...parts), 422, upload.body);
      }
    });
  });
});

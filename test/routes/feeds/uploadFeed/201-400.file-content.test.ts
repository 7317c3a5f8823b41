import { readFile } from 'node:fs/promises';
import { fieldPart, filePart, partnerPart, uploadParts } from '../../../support/requests';
import { startTestService, type TestService } from '../../../support/service';
import { expectRefusal, rawFilePath } from '../../../support/stored-uploads';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

type Content = string | Buffer;
const notCsv = 'Only CSV uploads are supported at this time.';
const empty = 'Uploaded file is empty.';
const notUtf8 = 'CSV file must be UTF-8 encoded.';
const missingHeaders = 'Invalid CSV file: Missing required CSV headers: product_name, sku';
const headerTooLong = 'Invalid CSV file: The header row is longer than 262144 bytes.';

const withBytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));
/** Rows of several megabytes. */
const manyRows = (row: string, bytes = 4_000_000) => row.repeat(Math.ceil(bytes / Buffer.byteLength(row)));

describe('POST /feeds/upload', () => {
  describe('201', () => {
    const accepts = async (csv: Content) => {
      const { status, body } = await service.api.upload({ csv, partnerName: 'Acme Outdoor' });

      expect(status).toBe(201);
      const kept = await readFile(await rawFilePath(service, body.feed_id));
      expect(kept.equals(Buffer.from(csv as string))).toBe(true);
    };

    it.each<[string, Content]>([
      ['LF', 'sku,product_name\n1,Tent\n'],
      ['CRLF', 'sku,product_name\r\n1,Tent\r\n'],
      ['no line break at its end', 'sku,product_name\n1,Tent'],
      ['a header and no rows', 'sku,product_name'],
      ['a byte order mark', '\ufeffsku,product_name\n1,Tent\n'],
      ['a byte order mark before a quote', '\ufeff"sku","product_name"\r\n1,Tent\r\n'],
      ['semicolons', 'sku;product_name\n1;Tent\n'],
      ['semicolons and commas in names', 'sku;product_name;"size, in cm"\n1;Tent;3\n'],
      ['tabs', 'sku\tproduct_name\n1\tTent\n'],
      [
        'all columns, in another order',
        'availability,currency,price,category,brand,description,product_name,sku\n',
      ],
      ['headers with white space around them', ' sku ,\tproduct_name\u00a0\n1,Tent\n'],
      ['headers in any case', 'SKU,Product_Name\n1,Tent\n'],
      ['quoted headers', '"sku","product_name"\n1,Tent\n'],
      ['quoted headers with white space in them', '" sku ","product_name "\n1,Tent\n'],
      ['an unknown header that repeats', 'colour,sku,Colour,product_name,colour\n'],
      ['an empty header that repeats', ',sku,,product_name, \n'],
      ['blank lines before the header', '\n\r\n \nsku,product_name\n1,Tent\n'],
      ['rows that are merely bad', 'sku,product_name,price\n,,\n1,Tent,NA\n1,Tent,1,2,3\n'],
    ])('accepts a file with %s', (_what, csv) => accepts(csv));

    it('accepts characters of two to four bytes at chunk boundaries', () =>
      // Runs of 2, 3 and 4 bytes per character, each longer than any chunk, so that chunks end within characters.
      accepts(
        `sku,product_name\n1,"${'é'.repeat(300_001)}x${'€'.repeat(300_001)}y${'😀'.repeat(300_001)}"\n`,
      ));

    it.each([0, 1, 2, 3])('accepts characters of four bytes at a shift of %d bytes', (offset) =>
      accepts(`sku,product_name\n${'x'.repeat(offset)},${'😀'.repeat(100_000)}\n`),
    );
  });

  describe('400', () => {
    const refuses = (csv: Content, detail: string) =>
      expectRefusal(service, () => service.api.upload({ csv, partnerName: 'Acme Outdoor' }), 400, { detail });

    it.each<[string, Content]>([
      ['no bytes', ''],
      ['a space', ' '],
      ['a line break', '\n'],
      ['white space', ' \t\r\n\n  \r\n\t'],
      ['Unicode white space', '\u00a0\u2003\n\u3000'],
      ['a byte order mark', '\ufeff'],
      ['a byte order mark and white space', '\ufeff \r\n'],
      ['300 KB of blank lines', '\r\n'.repeat(150_000)],
      ['several megabytes of white space', ' '.repeat(3_000_000)],
    ])('reports a file as empty if it contains only %s, and stores nothing', async (_what, csv) => {
      await refuses(csv, empty);
    });

    const header = 'sku,product_name\n';
    it.each<[string, Content]>([
      ['Latin-1', withBytes(header, '1,Caf', [0xe9], '\n')],
      ['a lone continuation byte', withBytes(header, '1,', [0x80], '\n')],
      ['an overlong form', withBytes(header, '1,', [0xc0, 0xaf], '\n')],
      ['a surrogate', withBytes(header, '1,', [0xed, 0xa0, 0x80], '\n')],
      ['a code point beyond Unicode', withBytes(header, '1,', [0xf4, 0x90, 0x80, 0x80], '\n')],
      ['a wrong byte in the header', withBytes('sku,product_name,gr', [0xf6], 'sse\n')],
      ['UTF-16', Buffer.from(`\ufeff${header}1,Tent\n`, 'utf16le')],
      ['a character of two bytes cut at its end', withBytes(header, '1,Caf', [0xc3])],
      ['a character of three bytes cut at its end', withBytes(header, '1,', [0xe2, 0x82])],
      ['a character of four bytes cut at its end', withBytes(header, '1,', [0xf0, 0x9f, 0x98])],
      ['a wrong last byte after megabytes', withBytes(header, manyRows('1,Zelt für €\n'), [0xff])],
      [
        'an incomplete character at its end after megabytes',
        withBytes(header, manyRows('1,Zelt für €\n'), [0xe2, 0x82]),
      ],
      ['white space and a wrong byte', withBytes(' \n', [0xff])],
    ])('rejects a file that is not UTF-8, with %s, and stores nothing', async (_what, csv) => {
      await refuses(csv, notUtf8);
    });

    it.each<[string, Content]>([
      ['sku', 'product_name,price\nTent,1\n'],
      ['product_name', 'sku,price\n1,1\n'],
      ['both', 'price,brand\n1,Acme\n'],
      ['both, the rows alone', '1,Tent\n2,Lamp\n'],
      ['the underscore', 'sku,product name\n1,Tent\n'],
      ['their right names', 'skus,product_names\n1,Tent\n'],
      ['a delimiter', 'sku product_name\n1 Tent\n'],
      ['a known delimiter', 'sku|product_name\n1|Tent\n'],
      ['one delimiter', 'sku;product_name,price\n1;Tent,2\n'],
      ['the header on the first line', 'Our products\nsku,product_name\n1,Tent\n'],
      ['the end of a quote', '"sku,product_name\n1,Tent\n'],
      ['one of them, which is there twice', 'sku,sku,price,price\n1,1,2,2\n'],
      ['text', Buffer.from('{"sku": 1, "product_name": "Tent"}')],
    ])('rejects a header that lacks %s, and stores nothing', async (_what, csv) => {
      await refuses(csv, missingHeaders);
    });

    it.each([
      ['sku', 'sku,product_name,sku\n'],
      ['sku', 'SKU,product_name, Sku \n'],
      ['product_name', 'product_name;sku;"PRODUCT_NAME"\n'],
      ['description', 'sku,product_name,description,description\n'],
      ['brand', 'brand,sku,product_name,Brand\n'],
      ['category', 'sku\tcategory\tproduct_name\tcategory\n'],
      ['price', 'sku,price,product_name,PRICE\n'],
      ['currency', 'currency,currency,sku,product_name\n'],
      ['availability', '\ufeffavailability,availability,sku,product_name\r\n'],
    ])('rejects a header that has %s twice, and stores nothing: %j', async (name, csv) => {
      await refuses(csv, `Invalid CSV file: Duplicate header: ${name}`);
    });

    it.each([
      ['of 300 KB', `sku,product_name,${'x'.repeat(300_000)}\n1,Tent,2\n`],
      ['after 300 KB of blank lines', `${'\n'.repeat(300_000)}sku,product_name\n1,Tent\n`],
    ])('rejects a header row %s, and stores nothing', async (_what, csv) => {
      await refuses(csv, headerTooLong);
    });

    describe('checks the file in the order of the specification:', () => {
      const wrong = Buffer.from([0xff, 0xfe]);
      const pdf = { fileName: 'feed.pdf' };

      it.each<[string, string, Content, object]>([
        ['not CSV before empty', notCsv, '', pdf],
        ['not CSV before not UTF-8', notCsv, wrong, pdf],
        ['not CSV before a missing header', notCsv, 'price\n', pdf],
        ['not CSV before a duplicate header', notCsv, 'sku,sku,product_name\n', pdf],
        ['not UTF-8 before a missing header', notUtf8, withBytes('price\n', [0xff]), {}],
        ['not UTF-8 before a duplicate header', notUtf8, withBytes('sku,sku,product_name\n', [0xff]), {}],
        [
          'not UTF-8, at the end of megabytes, before a missing header',
          notUtf8,
          withBytes('price\n', manyRows('1\n'), [0xff]),
          {},
        ],
        [
          'not UTF-8, at the end of megabytes, before a header that is too long',
          notUtf8,
          withBytes('x'.repeat(400_000), manyRows('1\n'), [0xff]),
          {},
        ],
        ['a missing header before a duplicate one', missingHeaders, 'sku,price,price\n', {}],
      ])('%s', async (_order, detail, content, options) => {
        const parts = [partnerPart(), filePart(content, options)];

        await expectRefusal(service, () => uploadParts(service.api, ...parts), 400, { detail });
        await expectRefusal(service, () => uploadParts(service.api, ...parts.reverse()), 400, { detail });
      });

      const badFiles: [string, Content, object][] = [
        [notCsv, 'sku,product_name\n', pdf],
        [empty, '', {}],
        [notUtf8, withBytes('sku,product_name\n', manyRows('1,Tent\n', 400_000), [0xff]), {}],
        [missingHeaders, 'price\n', {}],
        ['Invalid CSV file: Duplicate header: sku', 'sku,sku,product_name\n', {}],
      ];
      it.each(badFiles)('"%s" before errors of the other parts', async (detail, content, options) => {
        const file = filePart(content, options);
        const blank = partnerPart(' ');

        for (const parts of [
          [file],
          [blank, file],
          [file, blank],
          [file, partnerPart('x'.repeat(256))],
          [partnerPart(), file, partnerPart()],
          [filePart('x', { name: 'partner_name' }), file],
          [partnerPart(), file, filePart()],
          [fieldPart('comment', 'x'), file, fieldPart('file', 'x')],
        ]) {
          await expectRefusal(service, () => uploadParts(service.api, ...parts), 400, { detail });
        }
      });
    });
  });
});

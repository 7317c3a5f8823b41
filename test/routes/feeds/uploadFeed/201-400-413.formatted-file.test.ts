import { encode } from 'iconv-lite';
import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import type { FormatDefinition } from '../../../../src/feed-format/format-definition';
import { putFormat } from '../../../support/format-requests';
import { fieldPart, filePart, partnerPart, uploadParts } from '../../../support/requests';
import { startTestService, type TestService } from '../../../support/service';
import { expectRefusal, rawFilePath } from '../../../support/stored-uploads';

const uploadBytesMax = 2 * 1024 * 1024;
let service: TestService;

const columns = { sku: { from: ['Art.-Nr.'] }, product_name: { from: ['Größe', 'Name'] } };
const definitions: Record<string, FormatDefinition> = {
  german: { delimiter: ';', encoding: 'windows-1252', decimal_separator: ',', columns },
  unicode: { columns },
  wide: { encoding: 'utf-16le', columns },
  japanese: { encoding: 'shift_jis', columns },
};

beforeAll(async () => {
  service = await startTestService({ uploadBytesMax });
  for (const [name, definition] of Object.entries(definitions)) {
    expect(await putFormat(service.api, 'Acme Outdoor', name, definition)).toMatchObject({ status: 200 });
  }
});

const csv = 'Art.-Nr.;Größe\r\nA-1;Lampe für 5 €\r\n';

const upload = (format: string, content: string | Uint8Array, fileName = 'feed.csv') =>
  uploadParts(
    service.api,
    partnerPart(),
    fieldPart('format', format),
    filePart(content, { fileName, mediaType: fileName.endsWith('.gz') ? 'application/gzip' : 'text/csv' }),
  );

const expectBad = (send: () => ReturnType<typeof upload>, detail: string) =>
  expectRefusal(service, send, 400, { detail });

describe('POST /feeds/upload with a format', () => {
  describe('201', () => {
    it.each<[string, string, Buffer, string]>([
      ['in its encoding', 'german', encode(csv, 'windows-1252'), 'feed.csv'],
      [
        'in UTF-8 with a mark, which overrides the encoding',
        'german',
        encode(csv, 'utf-8', { addBOM: true }),
        'feed.csv',
      ],
      ['in UTF-16 with a mark', 'unicode', encode(csv, 'utf-16be', { addBOM: true }), 'feed.txt'],
      ['in UTF-16 without a mark', 'wide', encode(csv, 'utf-16le', { addBOM: false }), 'feed.tsv'],
      ['packed', 'german', gzipSync(encode(csv, 'windows-1252')), 'feed.csv.gz'],
      [
        'packed in several members',
        'unicode',
        Buffer.concat([gzipSync(csv), gzipSync('B;b\n')]),
        'FEED.CSV.GZ',
      ],
      ['with lines that end in CR', 'unicode', Buffer.from(csv.replaceAll('\r\n', '\r')), 'feed.csv'],
    ])('stores a file %s as it was sent', async (_what, format, content, fileName) => {
      const response = await upload(format, content, fileName);

      expect(response).toMatchObject({ status: 201, body: { size_bytes: content.length } });
      expect((await readFile(await rawFilePath(service, response.body.feed_id))).equals(content)).toBe(true);
    });

    it('stores a packed file of several chunks as it was sent', async () => {
      const rows = Array.from(
        { length: 40_000 },
        (_, at) => `SKU-${(at * 7_919) % 1_000_003},Lamp ${at ** 3 % 9_973}\n`,
      );
      const content = gzipSync(`Art.-Nr.,Name\n${rows.join('')}`);
      const response = await upload('unicode', content, 'feed.csv.gz');

      expect(response.status).toBe(201);
      expect((await readFile(await rawFilePath(service, response.body.feed_id))).equals(content)).toBe(true);
    });
  });

  describe('400', () => {
    const packed = gzipSync(csv);
    const broken = Buffer.from(packed);
    broken[broken.length - 6]! ^= 1;

    it.each<[string, Buffer, string]>([
      ['is not packed but named so', Buffer.from(csv), 'feed.csv.gz'],
      ['is packed but not named so', packed, 'feed.csv'],
      ['is truncated', packed.subarray(0, -1), 'feed.csv.gz'],
      ['is truncated in its header', packed.subarray(0, 5), 'feed.csv.gz'],
      ['has bytes behind its last member', Buffer.concat([packed, Buffer.from('x')]), 'feed.csv.gz'],
      ['has zeros behind its last member', Buffer.concat([packed, Buffer.alloc(3)]), 'feed.csv.gz'],
      ['has a wrong checksum', broken, 'feed.csv.gz'],
    ])('rejects a file that %s', async (_what, content, fileName) => {
      await expectBad(() => upload('unicode', content, fileName), 'Malformed gzip file.');
    });

    it.each<[string, string, Buffer, string]>([
      ['UTF-8', 'unicode', encode(csv, 'windows-1252'), 'feed.csv'],
      ['UTF-8', 'unicode', gzipSync(encode(csv, 'windows-1252')), 'feed.csv.gz'],
      [
        'windows-1252',
        'german',
        Buffer.concat([encode(csv, 'windows-1252'), Buffer.from([0x81])]),
        'feed.csv',
      ],
      ['utf-16le', 'wide', encode(csv, 'utf-16le').subarray(0, -1), 'feed.csv'],
      ['utf-16le', 'unicode', Buffer.from('fffe00d8410042', 'hex'), 'feed.csv'],
      ['shift_jis', 'japanese', Buffer.from('Art.-Nr.,Name\nA,\x82', 'latin1'), 'feed.csv'],
    ])('rejects a file that is not %s', async (encoding, format, content, fileName) => {
      const detail = `CSV file must be ${encoding} encoded.`;
      await expectBad(() => upload(format, content, fileName), detail);
    });

    it.each<[string, string, Buffer, string]>([
      ['is empty', 'german', Buffer.alloc(0), 'feed.csv'],
      ['has nothing but blanks', 'wide', encode(' \r\n ', 'utf-16le', { addBOM: true }), 'feed.csv'],
      ['is empty, and named like a packed one', 'german', Buffer.alloc(0), 'feed.csv.gz'],
      ['is empty when it is unpacked', 'german', gzipSync(''), 'feed.csv.gz'],
    ])('rejects a file that %s', async (_what, format, content, fileName) => {
      await expectBad(() => upload(format, content, fileName), 'Uploaded file is empty.');
    });

    it('names a missing and a repeated header as the format does', async () => {
      const missing = 'Invalid CSV file: Missing required CSV headers: Größe, Art.-Nr.';
      await expectBad(() => upload('unicode', Buffer.from('Art.-Nr.\nA\n')), missing);
      const duplicate = 'Invalid CSV file: Duplicate header: Art.-Nr.';
      const twice = Buffer.from('ART.-NR.,Name,art.-nr.\nA,a,b\n');
      await expectBad(() => upload('unicode', twice), duplicate);
    });

    it('rejects a header row that does not end', async () => {
      const endless = Buffer.from(`Art.-Nr.;"${'x'.repeat(300 * 1024)}`);
      const detail = 'Invalid CSV file: The header row is longer than 262144 bytes.';
      await expectBad(() => upload('unicode', endless), detail);
    });

    it('checks the encoding of the whole file before its header', async () => {
      const late = Buffer.concat([Buffer.alloc(600_000, 'x,'), Buffer.from([0xff])]);
      await expectBad(() => upload('unicode', late), 'CSV file must be UTF-8 encoded.');
    });
  });

  describe('413', () => {
    const tooLarge = { detail: `Uploaded file exceeds the limit of ${uploadBytesMax} bytes.` };

    it('rejects a file that unpacks to more than the limit', async () => {
      const bomb = gzipSync(Buffer.concat([Buffer.from(csv), Buffer.alloc(uploadBytesMax, 'x;y\n')]));
      expect(bomb.length).toBeLessThan(uploadBytesMax / 100);
      await expectRefusal(service, () => upload('unicode', bomb, 'feed.csv.gz'), 413, tooLarge);
    });

    it('rejects it also if it is malformed behind the limit, or without a header', async () => {
      const bomb = gzipSync(Buffer.alloc(uploadBytesMax + 1, 'x;y\n'));
      const cut = bomb.subarray(0, -5);
      await expectRefusal(service, () => upload('unicode', cut, 'feed.csv.gz'), 413, tooLarge);
    });

    it('rejects a file of more bytes than the limit, also if it is malformed', async () => {
      const content = Buffer.alloc(uploadBytesMax + 1, 'x');
      await expectRefusal(service, () => upload('unicode', content, 'feed.csv.gz'), 413, tooLarge);
    });

    it('accepts a file that unpacks to exactly the limit', async () => {
      const content = gzipSync(
        Buffer.concat([Buffer.from(csv), Buffer.alloc(uploadBytesMax - Buffer.byteLength(csv), '\n')]),
      );
      expect(await upload('unicode', content, 'feed.csv.gz')).toMatchObject({ status: 201 });
    });
  });

  it('checks a file after it was stored if partner_name follows it', async () => {
    expect(await putFormat(service.api, 'Later Partner', 'default', definitions.german)).toMatchObject({
      status: 200,
    });
    const send = (content: Buffer, fileName: string) =>
      uploadParts(service.api, filePart(content, { fileName }), partnerPart('Later Partner'));

    expect(await send(encode(csv, 'windows-1252'), 'feed.csv')).toMatchObject({ status: 201 });
    const bad = encode('Nr;Name\nA;€\n', 'windows-1252');
    await expectBad(
      () => send(bad, 'feed.csv'),
      'Invalid CSV file: Missing required CSV headers: Größe, Art.-Nr.',
    );
  });
});

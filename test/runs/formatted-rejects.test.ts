import { decode, encode } from 'iconv-lite';
import { gzipSync } from 'node:zlib';
import type { FormatDefinition } from '../../src/feed-format/format-definition';
import { putFormat } from '../support/format-requests';
import { startTestService, testKey, type TestService } from '../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const german: FormatDefinition = {
  delimiter: ';',
  encoding: 'windows-1252',
  skip_lines: 2,
  decimal_separator: ',',
  columns: { sku: { from: ['Art.-Nr.'] }, product_name: { from: ['Größe'] }, price: { from: ['Preis'] } },
};

let partners = 0;

/** Uploads and runs a feed of a new partner. @returns its partner, and the bytes of its rejects */
async function rejectsOf(
  csv: Buffer,
  format: FormatDefinition,
  { fileName = 'feed.csv', partnerName = `Partner ${++partners}`, mediaType = 'text/csv' } = {},
) {
  await putFormat(service.api, partnerName, 'own', format);
  const { status, body } = await service.api.upload({
    csv,
    partnerName,
    fileName,
    mediaType,
    fields: { format: 'own' },
  });
  expect([status, body.detail]).toEqual([201, undefined]);
  const { body: job } = await service.api.post(`/jobs/${body.validation_job_id}/run`);
  const response = await fetch(`${service.url}/jobs/${body.validation_job_id}/rejects.csv`, {
    headers: { 'x-api-key': testKey },
  });
  expect(response.status).toBe(200);
  return { partnerName, summary: job.summary, bytes: Buffer.from(await response.arrayBuffer()) };
}

const lines = ['Liste', 'März', 'Art.-Nr.;Größe;Preis;', 'A;Zelt;5,00;', 'B;Öse;12.50;', 'C;"Maß";1.2;'];

describe('rejects of a feed with a format', () => {
  it('are in its columns, delimiter and encoding, behind as many lines', async () => {
    const { bytes, summary } = await rejectsOf(encode(lines.join('\r\n'), 'windows-1252'), german);

    expect(summary).toMatchObject({ inserted: 1, skipped: 2 });
    const text = decode(bytes, 'windows-1252');
    expect(text.split('\n')).toEqual([
      '',
      '',
      '_line;_codes;_messages;Art.-Nr.;Größe;Preis;',
      expect.stringMatching(/^5;invalid_price;.*;B;Öse;12\.50;$/),
      expect.stringMatching(/^6;invalid_price;.*;C;"Maß";1\.2;$/),
      '',
    ]);
  });

  it('load with the same format once they are mended', async () => {
    const { bytes, partnerName } = await rejectsOf(encode(lines.join('\r\n'), 'windows-1252'), german);
    const mended = decode(bytes, 'windows-1252').replace('12.50', '12,50').replace('1.2;', '1,2;');
    const { summary } = await rejectsOf(encode(mended, 'windows-1252'), german, { partnerName });

    expect(summary).toMatchObject({ processed: 2, inserted: 2, skipped: 0 });
    const { body } = await service.api.get(`/products?partner_name=${encodeURIComponent(partnerName)}`);
    const names = body.items.map((product: { product_name: string }) => product.product_name).sort();
    expect(names).toEqual(['Maß', 'Zelt', 'Öse']);
  });

  it('repeat cells that were filled down, and keep all others as they are', async () => {
    const filling = {
      columns: {
        sku: { from: ['sku'] },
        product_name: { join: ['title', 'size'], with: ' ' },
        price: { from: ['price'] },
      },
      fill_down: [{ column: 'product_name', by: 'handle' }],
    };
    const file =
      'handle,sku,title,size,price\na,A1,"Shirt, red",S,5\na,A2,,"M\rX",x\na,A3,"Hat" ,L,y\nb,B1,,S,5\n';
    const { bytes } = await rejectsOf(Buffer.from(file), filling as FormatDefinition);

    expect(bytes.toString()).toMatch(
      /^_line,_codes,_messages,handle,sku,title,size,price\n3,[^\n]*,a,A2,"Shirt, red","M\rX",x\n5,[^\n]*,a,A3,"Hat" ,L,y\n$/,
    );
  });

  it('have no report columns without a header row', async () => {
    const format = {
      header: false,
      skip_lines: 1,
      columns: { sku: { position: 1 }, product_name: { position: 2 }, price: { position: 3 } },
    };
    const { bytes } = await rejectsOf(Buffer.from('Report\nA,a,5\nB,b,x\n'), format);

    expect(bytes.toString()).toBe('\nB,b,x\n');
  });

  it('are not packed, also those of a packed file', async () => {
    const packed = gzipSync('sku,product_name\nA,\n');
    const standard = { columns: { sku: { from: ['sku'] }, product_name: { from: ['product_name'] } } };
    const options = { fileName: 'feed.csv.gz', mediaType: 'application/gzip' };
    const { bytes } = await rejectsOf(packed, standard, options);

    expect(bytes.toString()).toMatch(/^_line,.*\n2,missing_required,.*,A,\n$/);
  });

  it.each(['utf-16le', 'utf-16be', 'utf-8'] as const)(
    'have the byte order mark of a file in %s, so that they are read alike',
    async (encoding) => {
      const file = encode(lines.join('\n').replace('Maß', 'Maß日'), encoding, { addBOM: true });
      const { bytes } = await rejectsOf(file, german);

      expect(decode(bytes, encoding, { stripBOM: false })).toMatch(
        /^\ufeff\n\n_line;[^\n]*\n.*\n6;.*;C;"Maß日";1\.2;\n$/,
      );
    },
  );

  it('are complete for a large feed, whatever the characters', async () => {
    const rows = Array.from({ length: 20_000 }, (_, at) => `S${at},表ソ${at},x\n`);
    const format: FormatDefinition = {
      encoding: 'shift_jis',
      columns: { sku: { from: ['番号'] }, product_name: { from: ['名'] }, price: { from: ['価格'] } },
    };
    const { bytes } = await rejectsOf(encode(`番号,名,価格\n${rows.join('')}`, 'shift_jis'), format);
    const text = decode(bytes, 'shift_jis');

    expect(text).not.toContain('\ufffd');
    expect([...text.matchAll(/,(S\d+,表ソ\d+,x\n)/g)].map(([, row]) => row)).toEqual(rows);
  });
});

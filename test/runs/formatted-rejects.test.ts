import fc from 'fast-check';
import { decode, encode } from 'iconv-lite';
import { gzipSync } from 'node:zlib';
import type { FormatDefinition } from '../../src/feed-format/format-definition';
import { putFormat } from '../support/format-requests';
import { casesFor } from '../support/fuzz';
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
  it('have its columns, delimiter and encoding, after the same number of lines', async () => {
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

  it('load with the same format after they are corrected', async () => {
    const { bytes, partnerName } = await rejectsOf(encode(lines.join('\r\n'), 'windows-1252'), german);
    const mended = decode(bytes, 'windows-1252').replace('12.50', '12,50').replace('1.2;', '1,2;');
    const { summary } = await rejectsOf(encode(mended, 'windows-1252'), german, { partnerName });

    expect(summary).toMatchObject({ processed: 2, inserted: 2, skipped: 0 });
    const { body } = await service.api.get(`/products?partner_name=${encodeURIComponent(partnerName)}`);
    const names = body.items.map((product: { product_name: string }) => product.product_name).sort();
    expect(names).toEqual(['Maß', 'Zelt', 'Öse']);
  });

  it('repeat cells that were filled down, and keep all others unchanged', async () => {
    const filling = {
      columns: {
        sku: { from: ['sku'] },
        product_name: { join: ['title', 'size'], with: ' ' },
        price: { from: ['price'] },
      },
      fill_down: [{ column: 'product_name', by: 'handle' }],
    };
    const file =
      'handle,sku,title,size,price\na,A1,"Shirt, red",S,5\na,A2,,"M\rX",x\na,A3,"Hat" ,L,y\nb,B1,Cap,S,5\n';
    const { bytes } = await rejectsOf(Buffer.from(file), filling as FormatDefinition);

    expect(bytes.toString()).toMatch(
      /^_line,_codes,_messages,handle,sku,title,size,price\n3,[^\n]*,a,A2,"Shirt, red","M\rX",x\n5,[^\n]*,a,A3,"Hat" ,L,y\n$/,
    );
  });

  it('repeat them in a row with too many fields whose leading cells are empty, so that it loads after correction', async () => {
    const format: FormatDefinition = {
      columns: {
        sku: { from: ['sku'] },
        product_name: { join: ['title', 'color'], with: ' - ' },
        brand: { from: ['brand'] },
      },
      fill_down: ['product_name', 'brand'].map((column) => ({ column: column as 'brand', by: 'handle' })),
    };
    const file =
      'handle,title,brand,color,sku\ntent,Tent,Acme,Red,T-R\ntent,,,Green,T-G,x,toomany\ntent,,,"Bl"ue,T-B\n';
    const { bytes, partnerName } = await rejectsOf(Buffer.from(file), format);
    expect(bytes.toString()).toMatch(
      /^[^\n]*\n3,.*,tent,Tent,Acme,Green,T-G,x,toomany\n4,.*,tent,,,"Bl"ue,T-B\n$/,
    );

    const mended = bytes.toString().replace(',x,toomany', '').replace('"Bl"ue', 'Blue');
    const again = await rejectsOf(Buffer.from(mended), format, { partnerName });
    expect(again.summary).toMatchObject({ inserted: 1, skipped: 1 });
    expect(again.bytes.toString()).toContain('\n3,incomplete_group,');
    const { body } = await service.api.get(
      `/products?partner_name=${encodeURIComponent(partnerName)}&sku=T-G`,
    );
    expect(body.items).toMatchObject([{ sku: 'T-G', product_name: 'Tent - Green', brand: 'Acme' }]);
  });

  describe('of a file without header row', () => {
    const format: FormatDefinition = {
      header: false,
      skip_lines: 1,
      columns: { product_name: { position: 1 }, sku: { position: 2 }, price: { position: 3 } },
    };
    const file = Buffer.from('Report\na,A,5\nb,B,x\nc, d,C,6\na2,A,7\nd,D,8\n');
    const upload = (csv: string, partnerName: string, mode: string) =>
      service.api.upload({ csv, partnerName, fields: { format: 'own', mode } });

    it('have a header row with positions, which the same format reads', async () => {
      const { bytes, partnerName } = await rejectsOf(file, format);
      expect(bytes.toString()).toMatch(
        /^\n_line,_codes,_messages,1,2,3\n2,duplicate_sku,.*,a,A,5\n3,invalid_price,.*,b,B,x\n4,too_many_fields,.*,c, d,C,6\n$/,
      );

      const mended = bytes.toString().replace('b,B,x', 'b,B,9');
      const { summary, bytes: left } = await rejectsOf(Buffer.from(mended), format, { partnerName });
      expect(summary).toMatchObject({ inserted: 1, skipped: 2, unchanged: 0, updated: 0 });
      expect(left.toString()).toMatch(
        /^\n_line,_codes,_messages,_line,_codes,_messages,1,2,3\n3,superseded_row,.*\n5,too_many_fields,.*,c, d,C,6\n$/,
      );
    });

    it('are rejected in mode replace, which would withdraw all other products', async () => {
      const { bytes, partnerName } = await rejectsOf(file, format);

      const { status, body } = await upload(bytes.toString(), partnerName, 'replace');
      expect([status, body.detail[0].type]).toEqual([422, 'rejects_file']);
      expect((await upload(bytes.toString(), partnerName, 'update')).status).toBe(201);
    });
  });

  it('never load a value that differs from the file, after damaged cells are corrected', async () => {
    const filling: FormatDefinition = {
      columns: {
        sku: { from: ['sku'] },
        product_name: { join: ['title', 'size'], with: ' ' },
        brand: { from: ['brand'] },
        price: { from: ['price'] },
      },
      fill_down: ['product_name', 'brand'].map((column) => ({ column: column as 'brand', by: 'handle' })),
    };
    const damages: [string, string][] = [
      ['5', '5'],
      ['5', 'x'],
      ['5', '5,more'],
      ['5', '"5"x'],
    ];
    const anyGroup = fc.record({
      handle: fc.constantFrom('a', 'b'),
      title: fc.constantFrom('Mug', 'Tent'),
      brand: fc.constantFrom('', 'Acme', 'Bolt'),
      rows: fc.array(fc.constantFrom(...damages), { minLength: 1, maxLength: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(anyGroup, { minLength: 1, maxLength: 5 }), async (groups) => {
        // By the format, two adjacent groups of one handle are one group.
        const apart = groups.filter(({ handle }, at) => groups[at - 1]?.handle !== handle);
        const meant = new Map<string, string>();
        const rows = apart.flatMap(({ handle, title, brand, rows: damaged }, group) =>
          damaged.map(([, price], at) => {
            const sku = `S${group}-${at}`;
            meant.set(sku, [`${title} ${at}`, brand].join());
            return `${handle},${at === 0 ? title : ''},${at === 0 ? brand : ''},${at},${sku},${price}`;
          }),
        );
        const file = `handle,title,brand,size,sku,price\n${rows.join('\n')}\n`;
        const { bytes, partnerName } = await rejectsOf(Buffer.from(file), filling);
        const mended = bytes.toString().replaceAll(/,(?:x|5,more|"5"x)$/gm, ',5');
        await rejectsOf(Buffer.from(mended), filling, { partnerName });

        const { body } = await service.api.get(
          `/products?partner_name=${encodeURIComponent(partnerName)}&limit=100`,
        );
        for (const { sku, product_name: name, brand } of body.items as Record<string, string>[])
          expect([name, brand ?? ''].join()).toBe(meant.get(sku!));
      }),
      casesFor('mended rejects of groups', 6),
    );
  });

  it('are not packed, even for a packed file', async () => {
    const packed = gzipSync('sku,product_name\nA,\n');
    const standard = { columns: { sku: { from: ['sku'] }, product_name: { from: ['product_name'] } } };
    const options = { fileName: 'feed.csv.gz', mediaType: 'application/gzip' };
    const { bytes } = await rejectsOf(packed, standard, options);

    expect(bytes.toString()).toMatch(/^_line,.*\n2,missing_required,.*,A,\n$/);
  });

  it.each(['utf-16le', 'utf-16be', 'utf-8'] as const)(
    'have the byte order mark of a file in %s, so that they are read in the same way',
    async (encoding) => {
      const file = encode(lines.join('\n').replace('Maß', 'Maß日'), encoding, { addBOM: true });
      const { bytes } = await rejectsOf(file, german);

      expect(decode(bytes, encoding, { stripBOM: false })).toMatch(
        /^\ufeff\n\n_line;[^\n]*\n.*\n6;.*;C;"Maß日";1\.2;\n$/,
      );
    },
  );

  it('are complete for a large feed, with any characters', async () => {
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

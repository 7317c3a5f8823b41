import fc from 'fast-check';
import { mendedFile, NotRejects, RejectsReader } from '../../../src/feed-format/write/mended-feed';
import { casesFor } from '../../support/fuzz';

function read(text: string, pieceLength = Infinity, formatName: string | null = 'f') {
  const reader = new RejectsReader(formatName);
  const rows: string[][] = [];
  for (let at = 0; at < text.length; at += Math.min(pieceLength, text.length))
    rows.push(...reader.read(text.slice(at, at + pieceLength), false));
  rows.push(...reader.read('', true));
  return { head: reader.head!, rows };
}

describe('mendedFile', () => {
  const cell = fc
    .array(fc.constantFrom('a', '"', ',', ';', '\t', '|', '\n', '\r', ' ', 'é'), { maxLength: 6 })
    .map((parts) => parts.join(''));

  it('is read as it was written, in chunks of any size', () => {
    const file = fc.record({
      delimiter: fc.constantFrom(',' as const, ';' as const, '\t' as const, '|' as const),
      skippedLines: fc.integer({ min: 0, max: 3 }),
      rows: fc.array(fc.array(cell, { minLength: 2, maxLength: 2 })),
      pieceLength: fc.integer({ min: 1, max: 9 }),
      formatName: fc.constantFrom('f', null),
    });
    fc.assert(
      fc.property(file, ({ delimiter, skippedLines, rows, pieceLength, formatName }) => {
        const header = ['_line', '_codes', '_messages', 'sku', 'name'];
        const head = { delimiter, skippedLines, header, generated: 3 };
        const full = rows.map((cells, at) => [String(at + 2), 'invalid_price', 'Why.', ...cells]);

        expect(read(mendedFile(head, full), pieceLength, formatName)).toEqual({ head, rows: full });
      }),
      casesFor('mended files', 1_000),
    );
  });

  it('loads a superseded row, and omits emptied cells beyond the last column', () => {
    const { head, rows } = read(
      '_line,_codes,_messages,_line,_codes,_messages,sku\n2,duplicate_sku,x,2,superseded_row,y,A,,\n3,duplicate_sku unknown_sku,x,3,,,B\n',
    );

    expect(head.generated).toBe(6);
    expect(mendedFile(head, rows).split('\n').slice(1)).toEqual([
      '2,,x,2,superseded_row,y,A',
      '3,duplicate_sku unknown_sku,x,3,,,B',
      '',
    ]);
  });
});

describe('RejectsReader', () => {
  it('removes a byte order mark at the beginning only', () => {
    for (const mark of ['', '\ufeff']) {
      const { head, rows } = read(`${mark}_line,_codes,_messages,\ufeffsku\n2,missing_required,x,\ufeffA\n`);
      expect([head.header[3], rows[0]![3]]).toEqual(['\ufeffsku', '\ufeffA']);
    }
  });

  it.each([
    '',
    '\n\n',
    'sku,product_name\nA,Tent\n',
    '_line',
    '_line,sku\n1,A\n',
    '_lines,_codes,_messages\n',
  ])('rejects another file: %j', (text) => {
    for (const pieceLength of [1, Infinity]) expect(() => read(text, pieceLength)).toThrow(NotRejects);
  });
});

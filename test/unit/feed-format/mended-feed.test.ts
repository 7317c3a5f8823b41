import fc from 'fast-check';
import { findBuiltInFormat, strictFormat } from '../../../src/feed-format/built-in-formats';
import type { ReadDefinition } from '../../../src/feed-format/format-definition';
import {
  mendedFile,
  NotRejects,
  RejectsReader,
  UnwritableCell,
} from '../../../src/feed-format/write/mended-feed';
import { casesFor } from '../../support/fuzz';

const standard = findBuiltInFormat('standard')!.definition;
const unquoted: ReadDefinition = { ...standard, quote: 'none' };

function read(text: string, pieceLength = Infinity, definition: ReadDefinition = standard) {
  const reader = new RejectsReader(definition);
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
      definition: fc.constantFrom(standard, { ...standard, skip_lines: 1 }, strictFormat, unquoted),
    });
    fc.assert(
      fc.property(file, ({ delimiter, skippedLines, rows, pieceLength, definition }) => {
        const header = ['_line', '_codes', '_messages', 'sku', 'name'];
        const head = { delimiter, skippedLines, header, generated: 3 };
        const full = rows.map((cells, at) => [String(at + 2), 'invalid_price', 'Why.', ...cells]);

        const isWritable = (text: string) => !/[\r\n]/.test(text) && !text.includes(delimiter);
        const write = () => mendedFile(head, full, definition);
        if (definition === unquoted && !rows.flat().every(isWritable)) expect(write).toThrow(UnwritableCell);
        else expect(read(write(), pieceLength, definition)).toEqual({ head, rows: full });
      }),
      casesFor('mended files', 1_000),
    );
  });

  it('names the cell that cannot be written without quotes, and shortens no message', () => {
    const head = {
      delimiter: ';' as const,
      skippedLines: 0,
      header: ['_line', '_codes', '_messages', 'Nr'],
      generated: 3,
    };
    const write = (cell: string) => mendedFile(head, [['7', 'x', 'One; two', cell]], unquoted);

    expect(write('12" A').split('\n')[1]).toBe('7;x;One  two;12" A');
    expect(() => write('a;b')).toThrow(
      'The cell Nr of line 7 contains a delimiter or a line break, and the format has no quotes. Remove it.',
    );
  });

  it('loads a superseded row, and omits emptied cells beyond the last column', () => {
    const { head, rows } = read(
      '_line,_codes,_messages,_line,_codes,_messages,sku\n2,duplicate_sku,x,2,superseded_row,y,A,,\n3,duplicate_sku unknown_sku,x,3,,,B\n',
    );

    expect(head.generated).toBe(6);
    expect(mendedFile(head, rows, standard).split('\n').slice(1)).toEqual([
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

import { Readable } from 'node:stream';
import fc from 'fast-check';
import { RecordExtractor } from '../../../src/feed-format/read/extract';
import { transformRecord } from '../../../src/feed-format/rows/transform';
import { cellsOfColumns, faultyCells } from '../../../src/feed-format/write/faulty-cells';
import { strictFormat } from '../../../src/feed-format/built-in-formats';
import type { ReadDefinition } from '../../../src/feed-format/format-definition';
import { readHeader } from '../../../src/feed-format/read/header';
import type { LoadMode } from '../../../src/feed-format/load-options';
import { recordText } from '../../../src/feed-format/write/record-text';
import { casesFor } from '../../support/fuzz';

const names = ['sku', 'Product_Name', 'size', 'price', 'currency', 'brand'];

const formats: Record<string, ReadDefinition> = {
  none: strictFormat,
  'with a join, words for empty cells and a decimal comma': {
    delimiter: ',',
    decimal_separator: ',',
    null_values: ['-'],
    columns: {
      sku: { from: ['sku'] },
      product_name: { join: ['product_name', 'size'], with: ' ' },
      price: { from: ['price'] },
      currency: { from: ['currency'] },
      brand: { value: 'Acme' },
    },
  },
};

/** Reads a file of one row as a run does. @returns the codes of its errors, and the positions of the faulty cells */
async function issuesOf(row: string[], mode: LoadMode, definition: ReadDefinition) {
  const bytes = Buffer.from(`${names.join()}\n${recordText(row, { delimiter: ',' })}\n`);
  const header = readHeader(bytes, definition, mode);
  if ('problem' in header) throw new Error(header.problem);
  const extractor = new RecordExtractor(
    header,
    () => null,
    (record) => transformRecord(record, header, mode).issues ?? [],
  );
  for await (const issues of extractor.read(Readable.from([bytes]))) {
    const errors = issues.filter(({ severity }) => severity === 'error');
    const positions = errors.flatMap(({ columnNumber }) => (columnNumber === null ? [] : [columnNumber - 1]));
    return {
      codes: errors.map(({ code }) => code),
      positions: [...new Set(positions)].sort((a, b) => a - b),
    };
  }
  return { codes: [], positions: [] };
}

describe('faultyCells', () => {
  it.each(Object.keys(formats))(
    'finds the cells that the issues of a run name, with the format: %s',
    async (name) => {
      const definition = formats[name]!;
      const columns = cellsOfColumns(names, definition);
      const text = fc.constantFrom(
        'A',
        '',
        ' ',
        '-',
        '9.90',
        '9,90',
        'x',
        'EUR',
        'USD 5',
        '\0',
        'a'.repeat(256),
      );
      const row = fc
        .array(text, { minLength: 2, maxLength: 7 })
        .filter((cells) => cells.join('').trim() !== '');
      await fc.assert(
        fc.asyncProperty(row, fc.constantFrom<LoadMode>('upsert', 'update'), async (cells, mode) => {
          const { codes, positions } = await issuesOf(cells, mode, definition);
          const reading = { width: names.length, columns, mode, definition };
          expect(faultyCells(codes, cells, reading)).toEqual(positions);
        }),
        casesFor('cells at fault', 500),
      );
    },
  );
});

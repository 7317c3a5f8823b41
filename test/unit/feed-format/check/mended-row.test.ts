import { Readable } from 'node:stream';
import fc from 'fast-check';
import { strictFormat } from '../../../../src/feed-format/built-in-formats';
import type { ReadDefinition } from '../../../../src/feed-format/format-definition';
import { RecordExtractor } from '../../../../src/feed-format/read/extract';
import { readHeader } from '../../../../src/feed-format/read/header';
import type { RowIssue } from '../../../../src/feed-format/rows/row-issues';
import { transformRecord } from '../../../../src/feed-format/rows/transform';
import { mendedFile } from '../../../../src/feed-format/write/mended-feed';
import { issuesOfRow, mendedReading } from '../../../../src/feed-format/check/mended-row';
import { casesFor } from '../../../support/fuzz';

const names = ['_line', '_codes', '_messages', 'sku', 'Product_Name', 'size', 'price', 'currency'];
const head = { delimiter: ',', skippedLines: 0, header: names, generated: 3 } as const;

const formats: Record<string, ReadDefinition> = {
  none: strictFormat,
  'with groups, words for empty cells and a decimal comma': {
    delimiter: ',',
    decimal_separator: ',',
    null_values: ['-'],
    columns: {
      sku: { from: ['sku'] },
      product_name: { from: ['product_name'] },
      price: { from: ['price'] },
      currency: { from: ['currency'] },
    },
    fill_down: [{ column: 'product_name', by: 'size' }],
  },
};

/** The issues of a run of the corrected file with this row; null if it has no row. */
async function issuesOfRun(cells: string[], definition: ReadDefinition) {
  const bytes = Buffer.from(mendedFile({ ...head, header: names }, [cells], definition)).subarray(3);
  const header = readHeader(bytes, definition);
  if ('problem' in header) throw new Error(header.problem);
  const extractor = new RecordExtractor<RowIssue[]>(
    header,
    () => null,
    (record) => transformRecord(record, header).issues ?? [],
  );
  for await (const issues of extractor.read(Readable.from([bytes]))) return issues.map(withoutPlace);
  return null;
}

const withoutPlace = ({ line: _line, lastLine: _lastLine, row: _row, ...issue }: RowIssue) => issue;

describe('issuesOfRow', () => {
  it.each(Object.keys(formats))(
    'finds what a run of the corrected file finds, with the format: %s',
    async (name) => {
      const definition = formats[name]!;
      const reading = mendedReading({ ...head, header: names }, definition, 'upsert')!;
      const text = fc.constantFrom(
        'A',
        '',
        '-',
        '9.90',
        '9,90',
        'x',
        'EUR',
        'USD 5',
        'a"b',
        '="0"',
        'ask us',
      );
      const codes = fc.constantFrom('invalid_price', 'duplicate_sku', 'incomplete_group');
      await fc.assert(
        fc.asyncProperty(codes, fc.array(text, { minLength: 5, maxLength: 6 }), async (code, cells) => {
          const row = ['2', code, 'Why.', ...cells];
          const found = issuesOfRow(row, reading);
          expect(found && found.map(withoutPlace)).toEqual(await issuesOfRun(row, definition));
        }),
        casesFor('issues of a corrected row', 300),
      );
    },
  );
});

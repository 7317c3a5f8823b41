import fc from 'fast-check';
import { RecordScanner } from '../../../../src/feed-format/read/scan-record';
import { UnclosedQuote } from '../../../../src/feed-format/read/scan-record';
import type { RecordSyntax } from '../../../../src/feed-format/read/record-syntax';
import { RecordSplitter } from '../../../../src/feed-format/read/split-records';
import { casesFor } from '../../../support/fuzz';

type Found = string[][] | 'unclosed';

const syntaxes = ['strict', 'loose', 'padded', 'unquoted'] as const satisfies RecordSyntax[];

function split(text: string, syntax: RecordSyntax, pieceLength: number): Found {
  const splitter = new RecordSplitter(';', syntax);
  const records: string[][] = [];
  try {
    for (let at = 0; at < text.length; at += pieceLength)
      records.push(...splitter.split(text.slice(at, at + pieceLength), false));
    return [...records, ...splitter.split('', true)];
  } catch (error) {
    if (error instanceof UnclosedQuote) return 'unclosed';
    throw error;
  }
}

/** Splits it as a run does, without blank lines. */
function scan(text: string, syntax: RecordSyntax): Found {
  const bytes = Buffer.from(text);
  const scanner = new RecordScanner(';', Infinity, syntax);
  const records: string[][] = [];
  for (let at = 0; at < bytes.length; at = scanner.next) {
    scanner.begin(at);
    if (scanner.scan(bytes, true) === 'unclosed') return 'unclosed';
    const cells = Array.from({ length: scanner.fieldCount }, (_, position) => scanner.field(position)!);
    if (cells.length > 1 || cells[0]!.trim() !== '') records.push(cells);
  }
  return records;
}

describe('RecordSplitter', () => {
  it.each(syntaxes)('finds the same cells as a run, in chunks of any size: %s', (syntax) => {
    const text = fc
      .array(fc.constantFrom('a', '"', '"', ';', '\n', '\r', '\r\n', ' ', '\t', '\0', 'é'), {
        maxLength: 24,
      })
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 8 }), (csv, pieceLength) => {
        expect(split(csv, syntax, pieceLength)).toEqual(scan(csv, syntax));
      }),
      casesFor('records of any text', 3_000),
    );
  });
});

import fc from 'fast-check';
import { recordBytes } from '../../../../src/feed-format/columns';
import { RecordScanner } from '../../../../src/feed-format/read/scan-record';
import type { RecordSyntax } from '../../../../src/feed-format/read/record-syntax';
import { recordText } from '../../../../src/feed-format/write/record-text';
import { casesFor } from '../../../support/fuzz';

/** The records of a text, in chunks of a size; undefined if a quote is not closed or text follows a closing quote. */
function split(text: string, syntax: RecordSyntax, chunkSize = Infinity): string[][] | undefined {
  const bytes = Buffer.from(text);
  const scanner = new RecordScanner(',', Infinity, syntax);
  const records: string[][] = [];
  for (let at = 0; at < bytes.length; at = scanner.next) {
    scanner.begin(at);
    let found = scanner.scan(bytes.subarray(0, at), bytes.length === at);
    for (let end = at; found === 'incomplete';) {
      end = Math.min(end + chunkSize, bytes.length);
      found = scanner.scan(bytes.subarray(0, end), end === bytes.length);
    }
    if (found === 'unclosed' || scanner.misquoted) return undefined;
    records.push(Array.from({ length: scanner.fieldCount }, (_, position) => scanner.field(position)!));
  }
  return records;
}

const quotedField = /[ \t]*"((?:[^"]|"")*)"[ \t]*(?=,|\r|\n|$)/y;
const plainField = /[^,\r\n]*/y;
const lineEnd = /\r\n|\r|\n/y;

/** A second implementation of the syntax `padded`, with the whole text at hand. */
function splitPadded(text: string): string[][] {
  const records: string[][] = [];
  const takeAt = (pattern: RegExp, at: number) => {
    pattern.lastIndex = at;
    return pattern.exec(text);
  };
  for (let at = 0; at < text.length;) {
    const cells: string[] = [];
    for (let isWithin = true; isWithin;) {
      const quoted = takeAt(quotedField, at);
      const [raw] = quoted ?? takeAt(plainField, at)!;
      cells.push(quoted ? quoted[1]!.replaceAll('""', '"') : raw);
      at += raw.length;
      isWithin = text[at] === ',';
      if (isWithin) at++;
    }
    records.push(cells);
    at += takeAt(lineEnd, at)?.[0].length ?? 0;
  }
  return records;
}

const anyText = fc
  .array(fc.constantFrom('a', '"', '"', ',', '\n', '\r', '\r\n', ' ', ' "', '\t', '\0', 'é'), {
    maxLength: 16,
  })
  .map((parts) => parts.join(''));

describe('records', () => {
  it('with blanks before a quote that closes before a delimiter or line end are read as without these blanks', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const records = split(text, 'padded');
        fc.pre(records !== undefined);
        expect(records).toEqual(splitPadded(text));
      }),
      casesFor('records with blanks before quotes', 3_000),
    );
  });

  it('without quotes end at delimiters and line ends alone', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const lines = text.split(/\r\n|\r|\n/);
        if (lines.at(-1) === '') lines.pop();
        expect(split(text, 'unquoted')).toEqual(lines.map((line) => line.split(',')));
      }),
      casesFor('records without quotes', 1_000),
    );
  });

  it.each(['loose', 'padded', 'unquoted'] as const)('do not depend on chunks: %s', (syntax) => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 5 }), (text, chunkSize) => {
        expect(split(text, syntax, chunkSize)).toEqual(split(text, syntax));
      }),
      casesFor('records in chunks', 1_000),
    );
  });

  it('are read as they are written', () => {
    const cell = fc.string({
      unit: fc.constantFrom('a', '"', ',', '\n', '\r', ' ', '\t', "'", '=', 'é'),
      maxLength: 6,
    });
    // A record of one empty cell is a blank line.
    const record = fc.array(cell, { minLength: 2, maxLength: 4 });
    fc.assert(
      fc.property(fc.array(record), (records) => {
        const text = records.map((cells) => `${recordText(cells, { delimiter: ',' })}\n`).join('');
        for (const syntax of ['strict', 'loose', 'padded'] as const)
          expect(split(text, syntax)).toEqual(records);

        const writable = records.map((cells) => cells.map((each) => each.replace(/[,\r\n]/g, '')));
        const syntax = { delimiter: ',', quote: 'none' };
        const unquoted = writable.map((cells) => `${recordText(cells, syntax)}\n`).join('');
        expect(split(unquoted, 'unquoted')).toEqual(writable);
      }),
      casesFor('written records', 500),
    );
  });

  it('with a quote behind blanks that is never closed are read in linear time, with the quote as a character', () => {
    const row = (at: number) => `${at}, "x,y\n`;
    const text = Array.from({ length: 200_000 }, (_, at) => row(at)).join('');
    const startedAt = performance.now();
    const records = split(text, 'padded')!;

    expect(records.length).toBe(200_000);
    expect(records[199_999]).toEqual(['199999', ' "x', 'y']);
    // Quadratic time takes minutes.
    expect(performance.now() - startedAt).toBeLessThan(30_000);
  });

  it('may be as large as a record before the quote counts as a character, in chunks of any size', () => {
    const long = (length: number) => `A, "${'x'.repeat(length)}" ,b\n`;
    const prefix = 'A, "'.length;
    const closingMax = recordBytes - 8;
    for (const [length, isQuoted] of [
      [closingMax - prefix, true],
      [closingMax - prefix + 1, false],
    ] as const) {
      for (const chunkSize of [Infinity, 1000, length + prefix, length + prefix + 1]) {
        const [cells] = split(long(length), 'padded', chunkSize)!;
        expect(cells![1]!.startsWith('x')).toBe(isQuoted);
      }
    }
  });
});

import { delimiters, type Delimiter } from '../delimiter';
import { trimText } from '../text';
import type { RecordSyntax } from './record-syntax';
import { RecordScanner } from './scan-record';

/** Maximum size of the header row, which is in memory while an upload is checked. */
export const headerRowBytes = 256 * 1024;

/** csv-parse options that define a record of a file in strict reading. */
export const recordOptions = {
  record_delimiter: ['\r\n', '\n'],
  relax_column_count: true,
  relax_quotes: true,
  skip_empty_lines: true,
};

/** Tells a record of blank fields, which is neither a row nor the header. */
export function isBlankRecord(fields: readonly string[]): boolean {
  return fields.every((field) => trimText(field) === '');
}

interface HeaderRow {
  delimiter: Delimiter;
  syntax: RecordSyntax;
  /** Maximum end of the row. */
  bytesMax?: number;
}

/**
 * Parses the trimmed names of the header row, the first row that is not blank.
 * @returns undefined when it does not end within the text and the limit
 */
export function headerNames(
  text: Buffer,
  { delimiter, syntax, bytesMax = headerRowBytes }: HeaderRow,
): string[] | undefined {
  const scanner = new RecordScanner(delimiter, Infinity, syntax);
  let start = 0;
  while (start < text.length && start <= bytesMax) {
    scanner.begin(start);
    if (scanner.scan(text, true) === 'unclosed') return undefined;
    const names = Array.from({ length: scanner.fieldCount }, (_, position) =>
      trimText(scanner.field(position)!),
    );
    if (!isBlankRecord(names)) return scanner.next <= bytesMax ? names : undefined;
    start = scanner.next;
  }
  return undefined;
}

/** Guesses the names of an invalid header row, by the delimiter that yields the most columns. */
export function guessHeaderNames(text: Buffer): { delimiter: Delimiter; names: string[] } | undefined {
  return delimiters
    .flatMap((delimiter) => {
      const names = headerNames(text, { delimiter, syntax: 'strict' });
      return names ? [{ delimiter, names }] : [];
    })
    .sort((a, b) => b.names.length - a.names.length)[0];
}

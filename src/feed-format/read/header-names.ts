import { CsvError, parse, type Options } from 'csv-parse/sync';
import { delimiters, type Delimiter } from '../delimiter';
import { trimText } from '../text';

/** Maximum size of the header row, which is in memory while an upload is checked. */
export const headerRowBytes = 256 * 1024;

/** csv-parse options that define a record of a file in strict reading. */
export const recordOptions = {
  record_delimiter: ['\r\n', '\n'],
  relax_column_count: true,
  relax_quotes: true,
  skip_empty_lines: true,
};

/** The same for any other file: a line may end in CR alone, and blanks may follow a closing quote. */
export const looseRecordOptions = { ...recordOptions, record_delimiter: ['\r\n', '\n', '\r'], rtrim: true };

/** Tells a record of blank fields, which is neither a row nor the header. */
export function isBlankRecord(fields: readonly string[]): boolean {
  return fields.every((field) => trimText(field) === '');
}

interface HeaderRow {
  delimiter: Delimiter;
  isStrict: boolean;
  /** Maximum end of the row. */
  bytesMax?: number;
}

/**
 * Parses the trimmed names of the header row, the first row that is not blank.
 * @returns undefined when it does not end within the text and the limit
 */
export function headerNames(
  text: Buffer,
  { delimiter, isStrict, bytesMax = headerRowBytes }: HeaderRow,
): string[] | undefined {
  const rules = isStrict ? recordOptions : looseRecordOptions;
  const options = { delimiter, info: true, skip_records_with_empty_values: true, to: 1 };
  // Cells are trimmed before the check for a blank record.
  const found = firstOf(text, { ...rules, ...options, cast: trimText });
  return found && found.info.bytes <= bytesMax ? found.record : undefined;
}

type ParsedRecord = { record: string[]; info: { bytes: number } };

function firstOf(text: Buffer, options: Options): ParsedRecord | undefined {
  try {
    const [first] = parse(text, options) as unknown as ParsedRecord[];
    return first;
  } catch (error) {
    const isTailed = error instanceof CsvError && error.code === 'CSV_NON_TRIMABLE_CHAR_AFTER_CLOSING_QUOTE';
    // Otherwise, a quote is not closed.
    if (!isTailed) return undefined;
    // With text after it, a closing quote is a character; without `rtrim`, also with blanks after it.
    const cast = (name: string) => trimText(name.replace(quotedName, '$1'));
    return firstOf(text, { ...options, rtrim: false, cast });
  }
}

const quotedName = /^"([^"]*)"[ \t]+$/;

/** Guesses the names of an invalid header row, by the delimiter that yields the most columns. */
export function guessHeaderNames(text: Buffer): { delimiter: Delimiter; names: string[] } | undefined {
  return delimiters
    .flatMap((delimiter) => {
      const names = headerNames(text, { delimiter, isStrict: true });
      return names ? [{ delimiter, names }] : [];
    })
    .sort((a, b) => b.names.length - a.names.length)[0];
}

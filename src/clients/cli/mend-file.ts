import { parse } from 'csv-parse';
import { getDecoder, getEncoder, encodingExists } from 'iconv-lite';
import { everyDelimiter } from '../../feed-format/delimiter';
import { recordText } from '../../feed-format/write/record-text';
import { markCharacter, withoutMark } from '../../feed-format/read/byte-order-mark';
import { recordOptions } from '../../feed-format/read/header-names';
import { UsageFailure } from './failures';
import { FileRules, type CellChange, type MendRule } from './mend-rules';

/** Notation of the file, which the mended file keeps. */
export interface FileForm {
  /** Absent: the most frequent one in the header row. */
  delimiter?: string;
  encoding: string;
}

interface ParsedRow {
  record: string[];
  raw: string;
  info: { lines: number };
}

/**
 * Mends a CSV file with a header row, chunk by chunk. Rows that no rule changes keep their bytes, as do rows with more cells than the
 * header.
 * @param note - receives the changes
 * @throws UsageFailure for a file that is not text in this encoding, or not CSV, and for a column that it lacks
 */
export async function* mendFile(
  source: AsyncIterable<Buffer>,
  form: FileForm,
  rules: readonly MendRule[],
  note: (changes: CellChange[]) => void,
): AsyncGenerator<Buffer> {
  const { encoding } = form;
  const isKnown: boolean = encodingExists(encoding);
  if (!isKnown) throw new UsageFailure(`Unknown encoding: ${encoding}.`);
  const text = decoded(source, encoding)[Symbol.asyncIterator]();
  const first = await beginningOf(text);
  const beginning = withoutMark(first);
  const delimiter = form.delimiter ?? delimiterOf(beginning);
  const encode = encoderOf(encoding);
  if (beginning !== first) yield encode(markCharacter);
  for await (const row of mendRows(joined(beginning, text), delimiter, rules, note)) yield encode(row);
}

async function* mendRows(
  text: AsyncIterable<string>,
  delimiter: string,
  rules: readonly MendRule[],
  note: (changes: CellChange[]) => void,
): AsyncGenerator<string> {
  const parser = parse({ ...recordOptions, skip_empty_lines: false, delimiter, info: true, raw: true });
  let file: FileRules | undefined;
  let width = 0;
  let line = 1;
  // The parser emits its error too.
  void feed(parser, text);
  try {
    for await (const row of parser as AsyncIterable<ParsedRow>) {
      const { record, info } = row;
      const { raw, lineEnd } = wholeRow(row);
      const firstLine = line;
      line = info.lines + 1;
      const isBlank = record.every((cell) => cell.trim() === '');
      if (isBlank || (file && record.length > width)) {
        // A row with too many cells must not fit the header with its added columns.
        const more = isBlank ? '' : delimiter.repeat(file!.added.length);
        yield raw.slice(0, raw.length - lineEnd.length) + more + lineEnd;
        continue;
      }
      const cells = [...record];
      if (!file) {
        file = new FileRules(record, rules);
        width = record.length;
        cells.push(...file.added);
      } else {
        while (cells.length < width + file.added.length) cells.push('');
        note(file.apply(cells, firstLine));
      }
      const isChanged = cells.some((cell, at) => cell !== (record[at] ?? ''));
      yield isChanged ? recordText(cells, { delimiter }) + lineEnd : raw;
    }
  } catch (error) {
    if ((error as { code?: string }).code?.startsWith('CSV_'))
      throw new UsageFailure(`The file is not CSV: ${(error as Error).message}.`);
    throw error;
  }
  if (!file) throw new UsageFailure('The file is empty.');
}

/** The parser omits the line feed of CRLF from `raw`. */
function wholeRow({ record, raw }: ParsedRow): { raw: string; lineEnd: string } {
  if (raw.endsWith('\r') && !record.at(-1)!.endsWith('\r')) return { raw: `${raw}\n`, lineEnd: '\r\n' };
  return { raw, lineEnd: /(?:\r?\n)?$/.exec(raw)![0] };
}

async function feed(parser: ReturnType<typeof parse>, text: AsyncIterable<string>): Promise<void> {
  try {
    for await (const piece of text) {
      if (parser.destroyed) return;
      if (!parser.write(piece))
        await new Promise<void>((resolve) => parser.once('drain', resolve).once('close', resolve));
    }
    parser.end();
  } catch (error) {
    parser.destroy(error as Error);
  }
}

async function* decoded(source: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<string> {
  const decoder = getDecoder(encoding, { stripBOM: false });
  const checked = (text: string | undefined) => {
    if (text?.includes('\ufffd'))
      throw new UsageFailure(`The file is not text in ${encoding}: name its encoding with --encoding.`);
    return text ?? '';
  };
  for await (const piece of source) yield checked(decoder.write(piece));
  yield checked(decoder.end());
}

/** Encodes texts, and refuses characters that the encoding does not have. */
function encoderOf(encoding: string): (text: string) => Buffer {
  return (text) => {
    const encoder = getEncoder(encoding, { addBOM: false });
    const bytes = Buffer.concat([encoder.write(text), encoder.end() ?? Buffer.alloc(0)]);
    const decoder = getDecoder(encoding, { stripBOM: false });
    if (decoder.write(bytes) + (decoder.end() ?? '') === text) return bytes;
    throw new UsageFailure(`A value has characters that ${encoding} does not have.`);
  };
}

/** Reads until the first line is complete. */
async function beginningOf(text: AsyncIterator<string>): Promise<string> {
  let beginning = '';
  while (!/[^\r\n][\r\n]/.test(withoutMark(beginning))) {
    const next = await text.next();
    if (next.done) break;
    beginning += next.value;
  }
  return beginning;
}

async function* joined(beginning: string, rest: AsyncIterator<string>): AsyncGenerator<string> {
  yield beginning;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

/** Finds the delimiter that is most frequent in the first line, outside of quotes. */
function delimiterOf(beginning: string): string {
  const [line = ''] = beginning.trimStart().split(/[\r\n]/, 1);
  const plain = line.replace(/"[^"]*"/g, '');
  const counts = everyDelimiter.map((delimiter) => ({
    delimiter,
    count: plain.split(delimiter).length,
  }));
  return counts.reduce((best, each) => (each.count > best.count ? each : best)).delimiter;
}

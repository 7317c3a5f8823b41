import { readFormatHeader } from '../feed-format/read/format-header';
import { productColumns } from '../feed-format/columns';
import { isCsvFile } from '../feed-format/csv-file-type';
import { detectMark, encodingName, FileDecoder, UndecodableText } from '../feed-format/read/decode-text';
import type { FormatDefinition } from '../feed-format/format-definition';
import type { NamedHeader } from '../feed-format/read/header';
import { shiftedOffsets } from '../feed-format/read/line-offsets';
import { trimText } from '../feed-format/text';
import type { LoadMode } from '../feed-format/load-options';
import { MalformedGzip } from '../feed-format/read/unpack';
import { invalidFeedFile, notCsv } from '../shared/errors';
import { rejectsToReplace } from './checked-file';
import { inspectRows, sampleOf } from './inspect-rows';
import type { FileBeginning } from './inspected-beginning';
import { inspectHeadersMax, type FileReading, type InspectedHeader } from './inspection';
import type { FilePart } from './upload-form';

/** Reads a file by its format, as an upload and its run do. @throws invalid_shape if the mode is not one for the file */
export async function inspectByFormat(
  { fileName, mediaType }: FilePart,
  { bytes, complete, isBlank, gzip }: FileBeginning,
  definition: FormatDefinition,
  mode: LoadMode,
): Promise<FileReading> {
  const isFile = isCsvFile(fileName, mediaType, true);
  const refused = (problem: string): FileReading => ({
    refusal: isFile ? invalidFeedFile(problem).message : notCsv().message,
    isRefused: true,
  });
  if (gzip === 'broken' || gzip === 'misnamed') return refused(new MalformedGzip().message);
  const text = decodeText(bytes, complete, definition);
  if (!text) {
    const { encoding } = detectMark(bytes, definition.encoding);
    return refused(`CSV file must be ${encodingName(encoding)} encoded.`);
  }
  if (isBlank || (complete && trimText(text.toString()) === '')) return refused('Uploaded file is empty.');
  const header = readFormatHeader(text, definition, mode);
  if ('problem' in header) return refused(header.problem);
  if (mode === 'replace' && header.codes !== undefined) throw rejectsToReplace();
  header.reading!.offsets = shiftedOffsets(0);
  const rows = await inspectRows(text, complete, header, { mode });
  return {
    refusal: isFile ? null : notCsv().message,
    isRefused: false,
    read: {
      delimiter: header.delimiter,
      decimalSeparator: definition.decimal_separator === ',' ? ',' : '.',
      skipLines: definition.skip_lines ?? 0,
      headers: headersOf(header),
      sample: sampleOf(rows),
      ...rows,
    },
  };
}

/** @returns UTF-8; undefined if the bytes are not text in the encoding of the format */
function decodeText(bytes: Buffer, complete: boolean, { encoding }: FormatDefinition): Buffer | undefined {
  const decoder = new FileDecoder(encoding);
  try {
    const text = decoder.write(bytes);
    return complete ? Buffer.concat([text, decoder.end()]) : text;
  } catch (error) {
    if (!(error instanceof UndecodableText)) throw error;
    return undefined;
  }
}

/** Describes headers by the columns that are read from them; the first one, where several are. */
function headersOf({ names, reading }: NamedHeader): InspectedHeader[] {
  const { sources } = reading!.format;
  return names.slice(0, inspectHeadersMax).map((header, position) => {
    const column = productColumns.find((name) => {
      const source = sources[name];
      return source && 'positions' in source && source.positions.includes(position);
    });
    return {
      columnNumber: position + 1,
      header,
      column: column ?? null,
      confidence: column ? 1 : 0,
      suggestion: null,
    };
  });
}

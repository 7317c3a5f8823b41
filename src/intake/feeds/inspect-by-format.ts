import { productColumns } from '../../feed-format/columns';
import { isCsvFile } from '../../feed-format/csv-file-type';
import type { ReadDefinition } from '../../feed-format/format-definition';
import {
  describeHeaders,
  inspectHeadersMax,
  type InspectedHeader,
} from '../../feed-format/detect/inspected-headers';
import type { LoadMode } from '../../feed-format/load-options';
import { detectMark } from '../../feed-format/read/byte-order-mark';
import { decodeBeginning, encodingName } from '../../feed-format/read/decode-text';
import type { NamedHeader } from '../../feed-format/read/header-columns';
import { MalformedGzip } from '../../feed-format/read/unpack';
import { trimText } from '../../feed-format/text';
import { emptyFile, invalidGzip, notCsv, ServiceError, wrongEncoding } from '../../base/errors';
import { checkHeader } from '../../feed-format/check/checked-file';
import { inspectRows, sampleOf } from './inspect-rows';
import type { FileBeginning } from './inspected-beginning';
import type { FileReading } from './inspection';
import type { IncomingFile } from './receive-feed';

/** Reads a file by its format, as an upload and its run do. @throws validation_error if the mode does not suit the file */
export async function inspectByFormat(
  { fileName, mediaType }: Pick<IncomingFile, 'fileName' | 'mediaType'>,
  { bytes, complete, isBlank, gzip }: FileBeginning,
  definition: ReadDefinition,
  mode: LoadMode,
): Promise<FileReading> {
  const { strict: isStrict = false } = definition;
  const isFile = isCsvFile(fileName, mediaType, !isStrict);
  const refused = ({ message }: ServiceError): FileReading => ({
    refusal: isFile ? message : notCsv().message,
    isRefused: true,
  });
  if (!isStrict && (gzip === 'broken' || gzip === 'misnamed'))
    return refused(invalidGzip(new MalformedGzip().message));
  const text = decodeBeginning(bytes, definition, complete);
  if (!text) return refused(wrongEncoding(encodingName(detectMark(bytes, definition).encoding)));
  if (isBlank || (complete && trimText(text.toString()) === '')) return refused(emptyFile());
  const header = checkHeader(text, definition, mode);
  if (header instanceof ServiceError) {
    if (header.code === 'validation_error') throw header;
    return refused(header);
  }
  const rows = await inspectRows(text, complete, header, { mode });
  const read = {
    delimiter: header.delimiter,
    skipLines: definition.skip_lines ?? 0,
    headers: headersOf(header),
    ...rows,
  };
  const decimalSeparator = definition.decimal_separator === ',' ? (',' as const) : ('.' as const);
  return {
    refusal: isFile ? null : notCsv().message,
    isRefused: false,
    // Describes a file without a format by its detected properties.
    read: isStrict ? read : { ...read, decimalSeparator, sample: sampleOf(rows) },
  };
}

/** Describes headers by the columns that are read from them; a header of several columns, by the first one. */
function headersOf({ names, fieldCount, reading }: NamedHeader): InspectedHeader[] {
  const { sources, hasHeaderRow } = reading.format;
  const columnAt = (position: number) =>
    productColumns.find((name) => {
      const source = sources[name];
      return source && 'positions' in source && source.positions.includes(position);
    });
  // A format omits headers on purpose.
  const missing = reading.isStrict ? productColumns.filter((name) => !sources[name]) : [];
  const shown = hasHeaderRow
    ? names
    : Array.from({ length: Math.min(fieldCount, inspectHeadersMax) }, () => '');
  return describeHeaders(shown, columnAt, missing);
}

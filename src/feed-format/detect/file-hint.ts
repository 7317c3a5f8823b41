import type { components } from '../../../generated/openapi';
import { detectMark } from '../read/byte-order-mark';
import { isUtf8 } from '../read/decode-text';
import { isGzip } from '../read/unpack';

type Code = components['schemas']['KnownFileHintCode'];

/** Probable format of a file that is not CSV in UTF-8, with the remedy. */
export interface FileHint {
  code: Code;
  message: string;
}

const messages: Record<Code, string> = {
  utf_16: 'This text is encoded in UTF-16: save it as CSV UTF-8.',
  unknown_encoding:
    'This text has an unknown encoding, or several: save it as CSV UTF-8, and check letters with accents.',
  windows_1252: 'This text is not UTF-8 but probably Windows-1252: save it as CSV UTF-8.',
  excel_workbook: 'This is an Excel workbook: save it as CSV UTF-8.',
  excel_97_workbook: 'This is an Excel 97-2003 workbook: save it as CSV UTF-8.',
  opendocument_spreadsheet:
    'This is an OpenDocument spreadsheet: save it as CSV with the character set UTF-8.',
  zip: 'This is a ZIP archive: unpack it and send the CSV file in it.',
  gzip: 'This is a gzip file: unpack it and send the CSV file in it.',
  pdf: 'This is a PDF document: export the data as CSV UTF-8.',
  html: 'This is an HTML page, such as a login or an error page: download the file itself.',
  json: 'This is JSON: export the data as CSV UTF-8.',
  xml: 'This is XML: export the data as CSV UTF-8.',
};

/**
 * Detects the format of a file that is not CSV in UTF-8.
 * @param beginning - the file, or its first bytes
 * @returns null for an unknown format
 */
export function fileHint(beginning: Buffer): FileHint | null {
  const code = archiveOf(beginning) ?? utf16Of(beginning) ?? markupOf(beginning) ?? windows1252Of(beginning);
  return code ? { code, message: messages[code] } : null;
}

/** Describes text in an encoding that no format reads. */
export const unknownEncodingHint: FileHint = {
  code: 'unknown_encoding',
  message: messages.unknown_encoding,
};

/**
 * Describes the fault of a file that is packed by name and content.
 * @param gzip - `broken`: it cannot be unpacked to its end
 * @param hasFormat - whether it is read by a format, which accepts gzip
 * @param isText - whether it contains text; otherwise `fileHint` of the unpacked file says more
 */
export function gzipHint(
  gzip: 'none' | 'packed' | 'broken' | 'misnamed',
  { hasFormat, isText }: { hasFormat: boolean; isText: boolean },
): FileHint | null {
  if (gzip === 'broken') {
    return { code: 'gzip', message: 'This gzip file is damaged or incomplete: compress the CSV file again.' };
  }
  if (gzip !== 'packed' || hasFormat || !isText) return null;
  return { code: 'gzip', message: 'This is a gzip file: name a format in the upload, or unpack it first.' };
}

type Found = Code | undefined;

const startsWith = (bytes: Buffer, hex: string) => bytes.toString('hex', 0, hex.length / 2) === hex;

/** Detects formats by their signature. */
function archiveOf(bytes: Buffer): Found {
  if (startsWith(bytes, 'd0cf11e0a1b11ae1')) return 'excel_97_workbook';
  if (isGzip(bytes)) return 'gzip';
  if (startsWith(bytes, '255044462d')) return 'pdf';
  if (!startsWith(bytes, '504b0304') && !startsWith(bytes, '504b0506')) return undefined;
  const entries = zipEntries(bytes);
  if (entries.some((name) => name.startsWith('xl/'))) return 'excel_workbook';
  const isSpreadsheet = bytes.includes('application/vnd.oasis.opendocument.spreadsheet');
  return isSpreadsheet && entries[0] === 'mimetype' ? 'opendocument_spreadsheet' : 'zip';
}

const zipHeaderBytes = 30;

/** Lists the entries of a ZIP archive, by their local headers. */
function zipEntries(bytes: Buffer): string[] {
  const signature = Buffer.from('504b0304', 'hex');
  const names: string[] = [];
  for (let at = bytes.indexOf(signature); at !== -1; at = bytes.indexOf(signature, at + signature.length)) {
    if (at + zipHeaderBytes > bytes.length) break;
    const start = at + zipHeaderBytes;
    names.push(bytes.toString('latin1', start, start + bytes.readUInt16LE(at + 26)));
  }
  return names;
}

/** Sample size for UTF-16: the header row is mostly ASCII. */
const utf16SampleBytes = 1_024;

/** Detects UTF-16 by its byte order mark, or by the zero bytes of its ASCII characters. */
function utf16Of(bytes: Buffer): Found {
  if (detectMark(bytes).encoding !== 'utf-8') return 'utf_16';
  const sample = bytes.subarray(0, utf16SampleBytes);
  const zeros = [0, 0];
  sample.forEach((byte, at) => {
    if (byte === 0) zeros[at % 2]!++;
  });
  const pairs = Math.floor(sample.length / 2);
  return Math.max(...zeros) > pairs / 2 && Math.min(...zeros) < pairs / 20 ? 'utf_16' : undefined;
}

/** Sample size for markup. */
const markupCharacters = 512;

/** Detects HTML, XML and JSON. */
function markupOf(bytes: Buffer): Found {
  // A byte order mark is white space here.
  const text = bytes.toString('utf8', 0, markupCharacters).trimStart();
  const prolog = /^<\?xml[^>]*>/i.exec(text)?.[0] ?? '';
  if (/^<(?:!doctype html|html|head|body|table|meta|script)\b/i.test(text.slice(prolog.length).trimStart())) {
    return 'html';
  }
  if (prolog !== '' || /^<[a-z_][\w.:-]*[\s/>]/i.test(text)) return 'xml';
  return /^(?:\{\s*["}]|\[\s*["{[\]])/.test(text) ? 'json' : undefined;
}

/** Bytes that are not characters of Windows-1252, or not of a text. */
// eslint-disable-next-line no-control-regex -- control characters are searched for
const noText = /[\x00-\x08\x0b\x0e-\x1f\x7f\x81\x8d\x8f\x90\x9d]/;

/** Maximum share of non-ASCII letters in the languages of Windows-1252. */
const foreignPartMax = 0.3;

/** Detects text that is not UTF-8, and most likely Windows-1252. */
function windows1252Of(bytes: Buffer): Found {
  if (isUtf8(bytes, true)) return undefined;
  const text = bytes.toString('latin1');
  if (noText.test(text)) return undefined;
  const beyondAscii = count(text, /[\x80-\xff]/g);
  const letters = count(text, /[a-z]/gi);
  // Many of these: UTF-8 with a broken character.
  const inUtf8 = count(text, /[\xc2-\xf4](?=[\x80-\xbf])|(?<=[\x80-\xff])[\x80-\xbf]/g);
  const isLikely = beyondAscii < (beyondAscii + letters) * foreignPartMax && inUtf8 < beyondAscii / 2;
  return isLikely ? 'windows_1252' : undefined;
}

const count = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0;

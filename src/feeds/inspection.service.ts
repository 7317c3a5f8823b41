import { setImmediate as nextTurn } from 'node:timers/promises';
import pLimit from 'p-limit';
import { fileTooLarge, notCsv } from '../shared/errors';
import { RecordExtractor } from '../etl/extract';
import { FeedFailure } from '../etl/run-result';
import { productColumns, type ProductColumn } from '../feed-format/columns';
import { firstRecords, readFormatHeader } from '../etl/format-header';
import { headerIssues, reportedNames } from '../etl/header-issues';
import type { Encoding } from '../feed-format/decode-text';
import { detectFormat, type FormatDetection } from '../feed-format/detect-format';
import type { FormatDefinition } from '../feed-format/format-definition';
import { shiftedOffsets } from '../feed-format/line-offsets';
import type { Delimiter } from '../feed-format/delimiter';
import { guessHeaderNames, readHeader, type NamedHeader } from '../feed-format/header';
import { skuIssue } from '../etl/reject-staged';
import { keepLastRow } from '../etl/repeated-skus';
import { RowIssueLog, type RecordPlace, type RowIssue, type RowIssueCount } from '../etl/row-issues';
import { trimText } from '../feed-format/text';
import { transformRecord, type LoadableValues, type RowOutcome } from '../etl/transform';
import { isCsvFile } from '../feed-format/csv-file-type';
import { FeedFile } from './feed-file';
import { fileHint, type FileHint } from '../feed-format/file-hint';
import { suggestColumn } from '../feed-format/header-suggestion';
import { admitUpload, requireRoom, type UploadAdmission } from './incoming-upload';
import type { MultipartBody } from '../http/multipart';
import type { FilePart } from './upload-form';

/**
 * The longest header row, the byte after it (which shows that it ends), and up to three bytes of an incomplete character.
 */
const inspectBytes = 256 * 1024 + 4;

/** Bytes parsed before yielding to the event loop: all of them take up to a second. */
const inspectChunkBytes = 16 * 1024;

/** A header row of commas alone would make a response of 17 MB. */
const inspectHeadersMax = 1_000;

const inspectRowsMax = 10;

const inspectIssuesMax = 100;

interface InspectedHeader {
  columnNumber: number;
  header: string;
  column: ProductColumn | null;
  /** That `column` is right, 0 to 1; 0 without it. */
  confidence: number;
  suggestion: ProductColumn | null;
}

interface InspectedRow {
  line: number;
  row: number;
  values: LoadableValues & { product_name: string };
}

interface InspectedRows {
  rowCount: number;
  rows: InspectedRow[];
  issues: RowIssue[];
  issueCounts: RowIssueCount[];
  runFailure: string | null;
}

type StatedEncoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'unknown';

/** Result of an inspection, from the first `inspectBytes` bytes. */
export interface FeedInspection extends InspectedRows {
  /** The error of an upload; null if it would accept the file. */
  refusal: string | null;
  /** Detected format of a file that is not CSV in UTF-8, with the way out. */
  hint: FileHint | null;
  inspectedBytes: number;
  complete: boolean;
  /** What the file states or is. */
  encoding: StatedEncoding;
  /** What its bytes look like, if it states none. */
  detectedEncoding: Encoding | 'unknown';
  byteOrderMark: boolean;
  delimiter: Delimiter | null;
  decimalSeparator: '.' | ',' | null;
  skipLines: number;
  lineEnds: 'lf' | 'crlf' | 'mixed' | 'none';
  headers: InspectedHeader[];
  /** How to read the file; null where no sku or no name was found. */
  suggestedFormat: FormatDefinition | null;
  /** First products under it. */
  sample: InspectedRow['values'][];
}

/**
 * Inspects the file of an upload form without storing it.
 * @throws invalid_shape, too_large; errors of `admitUpload`
 */
export async function inspectFeed(
  body: MultipartBody,
  fileBytesMax: number,
  admission: UploadAdmission,
): Promise<FeedInspection> {
  requireRoom(admission);
  return admitUpload(body, admission, false, async ({ form, file, readRest }) => {
    const inspection = await inspectFile(file, fileBytesMax);
    await readRest();
    form.finish();
    return inspection;
  });
}

async function inspectFile(part: FilePart, fileBytesMax: number): Promise<FeedInspection> {
  const { beginning, complete, isBlank } = await readBeginning(part.content, fileBytesMax);
  const bytes = complete ? beginning : beginning.subarray(0, lastCharacterEnd(beginning));
  const file = new FeedFile({ textFollows: !isBlank });
  file.take(bytes);
  file.end();
  const encoding = encodingOf(bytes);
  const header = encoding === 'utf-8' ? readHeader(bytes) : { problem: '' };
  const isReadable = !('problem' in header);
  const detection = isBlank ? undefined : detectFormat(bytes, firstRecords);
  const suggested = detection?.definition ? await rowsOfSuggested(detection, complete) : undefined;
  const text = encoding === 'utf-8' ? bytes : (detection?.text ?? Buffer.alloc(0));
  return {
    refusal: isCsvFile(part.fileName, part.mediaType) ? (file.problem?.message ?? null) : notCsv().message,
    hint: file.problem && !isBlank && !isReadable ? fileHint(bytes) : null,
    inspectedBytes: bytes.length,
    complete,
    encoding,
    detectedEncoding: encoding === 'unknown' ? (detection?.encoding.value ?? 'unknown') : encoding,
    byteOrderMark: /^(?:efbbbf|fffe|feff)/.test(bytes.toString('hex', 0, 3)),
    lineEnds: lineEndsOf(text.toString()),
    decimalSeparator: detection?.decimalSeparator.value ?? null,
    skipLines: isReadable ? 0 : (detection?.skipLines ?? 0),
    suggestedFormat: suggested ? detection!.definition : null,
    sample: suggested?.sample ?? [],
    ...(isReadable
      ? {
          delimiter: header.delimiter,
          headers: describeHeaders(header.names),
          ...(await oneAtATime(() => inspectRows(bytes, complete, header))),
        }
      : {
          ...describeDetected(detection, encoding === 'utf-8' ? guessHeaderNames(bytes) : undefined),
          ...(suggested?.rows ?? noRows),
        }),
  };
}

/** Describes the headers of a file that an upload without a format refuses, as its suggested format reads them. */
function describeDetected(
  detection: FormatDetection | undefined,
  guess: ReturnType<typeof guessHeaderNames>,
): Pick<FeedInspection, 'delimiter' | 'headers'> {
  const headers = detection?.headers ?? [];
  if (headers.length === 0)
    return { delimiter: guess?.delimiter ?? null, headers: describeHeaders(guess?.names ?? []) };
  const described = describeHeaders(headers.map(({ header }) => header));
  return {
    delimiter: detection!.delimiter.value ?? guess?.delimiter ?? null,
    headers: described.map((each, position) => ({
      ...each,
      column: headers[position]!.column,
      confidence: headers[position]!.confidence,
    })),
  };
}

/** Number of products in the sample. */
const sampleProducts = 5;

/** Reads the rows under the suggested format. @returns undefined if it cannot read them */
async function rowsOfSuggested(
  { definition, text }: FormatDetection,
  complete: boolean,
): Promise<{ rows: InspectedRows; sample: InspectedRow['values'][] } | undefined> {
  const header = readFormatHeader(text!, definition!);
  if ('problem' in header) return undefined;
  header.reading!.offsets = shiftedOffsets(0);
  const rows = await oneAtATime(() => inspectRows(text!, complete, header));
  return { rows, sample: rows.rows.slice(0, sampleProducts).map(({ values }) => values) };
}

const noRows: InspectedRows = { rowCount: 0, rows: [], issues: [], issueCounts: [], runFailure: null };

/**
 * Reads the content to its end and keeps its beginning. `isBlank` concerns the whole content.
 * @throws too_large
 */
async function readBeginning(
  content: AsyncIterable<Buffer>,
  fileBytesMax: number,
): Promise<{ beginning: Buffer; complete: boolean; isBlank: boolean }> {
  const text = new TextDecoder();
  let isBlank = true;
  const chunks: Buffer[] = [];
  let kept = 0;
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.length;
    if (bytes > fileBytesMax) throw fileTooLarge(fileBytesMax);
    if (kept < inspectBytes) chunks.push(chunk.subarray(0, inspectBytes - kept));
    kept = Math.min(bytes, inspectBytes);
    isBlank &&= trimText(text.decode(chunk, { stream: true })) === '';
  }
  return { beginning: Buffer.concat(chunks), complete: bytes === kept, isBlank };
}

/** Finds the end of the last complete UTF-8 character. */
function lastCharacterEnd(bytes: Buffer): number {
  let start = bytes.length - 1;
  while (start > bytes.length - 4 && (bytes[start]! & 0xc0) === 0x80) start--;
  const lead = bytes[start]!;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return start + length > bytes.length ? start : bytes.length;
}

/** Tells an encoding that a file states or is. */
function encodingOf(bytes: Buffer): StatedEncoding {
  const mark = bytes.toString('hex', 0, 2);
  if (mark === 'fffe') return 'utf-16le';
  if (mark === 'feff') return 'utf-16be';
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return 'utf-8';
  } catch {
    return 'unknown';
  }
}

function lineEndsOf(text: string): FeedInspection['lineEnds'] {
  const hasCrlf = text.includes('\r\n');
  const hasLf = /(?<!\r)\n/.test(text);
  if (hasCrlf && hasLf) return 'mixed';
  if (hasCrlf) return 'crlf';
  return hasLf ? 'lf' : 'none';
}

function describeHeaders(names: readonly string[]): InspectedHeader[] {
  const columnOf = (name: string) => productColumns.find((column) => column === name.toLowerCase()) ?? null;
  const found = names.map(columnOf);
  const missing = productColumns.filter((column) => !found.includes(column));
  return names.slice(0, inspectHeadersMax).map((header, position) => {
    const column = found[position] ?? null;
    const suggestion = column ? null : suggestColumn(header, missing);
    return { columnNumber: position + 1, header, column, confidence: column ? 1 : 0, suggestion };
  });
}

/** Bounds memory: one inspection parses at a time. */
const oneAtATime = pLimit(1);

type PlacedOutcome = RowOutcome & { place: RecordPlace };

/** Transforms the rows as a run does. Drops the last row of a truncated file: it may be incomplete. */
async function inspectRows(bytes: Buffer, complete: boolean, header: NamedHeader): Promise<InspectedRows> {
  const log = new RowIssueLog();
  /** By sku, in file order. */
  const loaded = new Map<string, { place: RecordPlace; values: LoadableValues }>();
  const superseded: { place: RecordPlace; sku: string }[] = [];
  let rowCount = 0;
  const addRow = ({ place, values, issues = [] }: PlacedOutcome): void => {
    rowCount++;
    for (const issue of issues) log.add(issue);
    if (!values) return;
    const { sku } = values;
    const earlier = keepLastRow(loaded, sku, { place, values });
    if (earlier) superseded.push({ place: earlier.place, sku });
  };
  let pending: PlacedOutcome | undefined;
  const extractor = new RecordExtractor<never>(
    header,
    (place, text) => {
      const names = header.reading ? reportedNames(header, text) : header.names;
      for (const issue of headerIssues(place, names, undefined)) log.add(issue);
      return null;
    },
    (record) => {
      if (pending) addRow(pending);
      const { line, lastLine, row } = record;
      pending = { place: { line, lastLine, row }, ...transformRecord(record, header) };
      return null;
    },
  );
  const runFailure = await failureOf(extractor, bytes);
  // An unclosed quote begins after this row: the row is complete.
  const isWhole = complete || runFailure !== null;
  if (isWhole && pending) addRow(pending);
  const columnNumber = (header.positions.sku ?? 0) + 1;
  for (const { place, sku } of superseded.sort((a, b) => a.place.row - b.place.row)) {
    log.add(skuIssue('duplicate_sku', place, sku, columnNumber));
  }
  return {
    rowCount,
    rows: [...loaded.values()]
      .slice(0, inspectRowsMax)
      .map(({ place: { line, row }, values }) => ({ line, row, values: values as InspectedRow['values'] })),
    issues: inFileOrder(log.kept).slice(0, inspectIssuesMax),
    issueCounts: log.countsByCode,
    // In a truncated file, the rest may close the quote.
    runFailure: complete ? runFailure : null,
  };
}

async function failureOf(extractor: RecordExtractor<never>, bytes: Buffer): Promise<string | null> {
  try {
    for await (const _ of extractor.read(inChunks(bytes)));
    return null;
  } catch (error) {
    if (!(error instanceof FeedFailure)) throw error;
    return error.message;
  }
}

async function* inChunks(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += inspectChunkBytes) {
    await nextTurn();
    yield bytes.subarray(at, at + inspectChunkBytes);
  }
}

function inFileOrder(issues: RowIssue[]): RowIssue[] {
  return issues.sort((a, b) => a.severity.localeCompare(b.severity) || a.line - b.line);
}

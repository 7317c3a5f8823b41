import { setImmediate as nextTurn } from 'node:timers/promises';
import pLimit from 'p-limit';
import { fileTooLarge, notCsv } from '../shared/errors';
import { RecordExtractor } from '../etl/extract';
import { FeedFailure } from '../etl/run-result';
import { productColumns, type ProductColumn } from '../feed-format/columns';
import { headerIssues } from '../etl/header-issues';
import { guessHeaderNames, readHeader, type Delimiter, type NamedHeader } from '../feed-format/header';
import { keepLastRow, supersededIssue } from '../etl/repeated-skus';
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
  suggestion: ProductColumn | null;
}

interface InspectedRow {
  line: number;
  row: number;
  values: LoadableValues;
}

interface InspectedRows {
  rowCount: number;
  rows: InspectedRow[];
  issues: RowIssue[];
  issueCounts: RowIssueCount[];
  runFailure: string | null;
}

/** Result of an inspection, from the first `inspectBytes` bytes. */
export interface FeedInspection extends InspectedRows {
  /** The error of an upload; null if it would accept the file. */
  refusal: string | null;
  /** Detected format of a file that is not CSV in UTF-8, with the way out. */
  hint: FileHint | null;
  inspectedBytes: number;
  complete: boolean;
  encoding: 'utf-8' | 'utf-16le' | 'utf-16be' | 'unknown';
  byteOrderMark: boolean;
  delimiter: Delimiter | null;
  lineEnds: 'lf' | 'crlf' | 'mixed' | 'none';
  headers: InspectedHeader[];
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
  return admitUpload(body, admission, async ({ form, file, readRest }) => {
    const inspection = await inspectFile(file, fileBytesMax);
    await readRest();
    form.finish();
    return inspection;
  });
}

async function inspectFile(part: FilePart, fileBytesMax: number): Promise<FeedInspection> {
  const { beginning, complete, isBlank } = await readBeginning(part.content, fileBytesMax);
  const bytes = complete ? beginning : beginning.subarray(0, lastCharacterEnd(beginning));
  const file = new FeedFile(!isBlank);
  file.take(bytes);
  file.end();
  const encoding = encodingOf(bytes);
  const text = encoding === 'utf-8' ? bytes.toString() : '';
  const header = encoding === 'utf-8' ? readHeader(bytes) : { problem: '' };
  const guess = encoding === 'utf-8' ? guessHeaderNames(bytes) : undefined;
  const isReadable = !('problem' in header);
  return {
    refusal: isCsvFile(part.fileName, part.mediaType) ? (file.problem?.message ?? null) : notCsv().message,
    hint: file.problem && !isBlank && !isReadable ? fileHint(bytes) : null,
    inspectedBytes: bytes.length,
    complete,
    encoding,
    byteOrderMark: /^(?:efbbbf|fffe|feff)/.test(bytes.toString('hex', 0, 3)),
    delimiter: isReadable ? header.delimiter : (guess?.delimiter ?? null),
    lineEnds: lineEndsOf(text),
    headers: describeHeaders(isReadable ? header.names : (guess?.names ?? [])),
    ...(isReadable ? await oneAtATime(() => inspectRows(bytes, complete, header)) : noRows),
  };
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

function encodingOf(bytes: Buffer): FeedInspection['encoding'] {
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
    return { columnNumber: position + 1, header, column, suggestion };
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
    (place) => {
      for (const issue of headerIssues(place, header.names, undefined)) log.add(issue);
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
  const columnNumber = header.positions.sku! + 1;
  for (const { place, sku } of superseded.sort((a, b) => a.place.row - b.place.row)) {
    log.add(supersededIssue(place, sku, columnNumber));
  }
  return {
    rowCount,
    rows: [...loaded.values()]
      .slice(0, inspectRowsMax)
      .map(({ place: { line, row }, values }) => ({ line, row, values })),
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

import { setImmediate as nextTurn } from 'node:timers/promises';
import pLimit from 'p-limit';
import { fileTooLarge, notCsv } from '../shared/errors';
import { RecordExtractor } from '../etl/extract';
import { FeedFailure } from '../etl/feed-failure';
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
 * How much of a file an inspection looks at: whether a header row of the largest size ends is seen in the byte after it,
 * also when up to three bytes of a character that is cut are left out.
 */
const inspectBytes = 256 * 1024 + 4;

/** An inspection reads this much at once, and then lets others have a turn: all of it takes up to a second. */
const inspectPieceBytes = 16 * 1024;

/** How many of the first headers an inspection shows: a header row of commas alone would make an answer of 17 MB. */
const inspectHeadersMax = 1_000;

/** How many of the first cleaned rows, and of the issues, an inspection shows. */
const inspectRowsMax = 10;

const inspectIssuesMax = 100;

/** A cell of a header row, and what it stands for. */
interface InspectedHeader {
  columnNumber: number;
  header: string;
  column: ProductColumn | null;
  suggestion: ProductColumn | null;
}

/** A row that a run would load. */
interface InspectedRow {
  line: number;
  row: number;
  values: LoadableValues;
}

/** What the rows that were looked at are like. */
interface InspectedRows {
  rowCount: number;
  rows: InspectedRow[];
  issues: RowIssue[];
  issueCounts: RowIssueCount[];
  /** Why a run would fail. */
  runFailure: string | null;
}

/** What a file looks like, as far as `inspectBytes` show. */
export interface FeedInspection extends InspectedRows {
  /** What an upload would answer; null when it would take the file. */
  refusal: string | null;
  /** What the file is that is no CSV in UTF-8, and what to do about it. */
  hint: FileHint | null;
  inspectedBytes: number;
  /** Whether that is the whole file. */
  complete: boolean;
  encoding: 'utf-8' | 'utf-16le' | 'utf-16be' | 'unknown';
  byteOrderMark: boolean;
  delimiter: Delimiter | null;
  lineEnds: 'lf' | 'crlf' | 'mixed' | 'none';
  headers: InspectedHeader[];
}

/**
 * Looks at the file of an upload's form, and keeps nothing.
 * @throws invalid_shape, too_large; whatever `admitUpload` throws
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
 * Reads the content to its end, and keeps its beginning.
 * @returns also whether all of it, to its end, is white space
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

/** Where the last whole UTF-8 character ends in bytes that were cut off somewhere. */
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

/** The rows of several files would be in memory together; one is no slower than several. */
const oneAtATime = pLimit(1);

/** What a row comes to, and where it stands. */
type PlacedOutcome = RowOutcome & { place: RecordPlace };

/** Reads the rows as a run would. Of a file that was cut off, the last one may be half, and is left out. */
async function inspectRows(bytes: Buffer, complete: boolean, header: NamedHeader): Promise<InspectedRows> {
  const log = new RowIssueLog();
  /** By sku, in the order of the file. */
  const loaded = new Map<string, { place: RecordPlace; values: LoadableValues }>();
  const superseded: { place: RecordPlace; sku: string }[] = [];
  let rowCount = 0;
  const look = ({ place, values, issues = [] }: PlacedOutcome): void => {
    rowCount++;
    for (const issue of issues) log.add(issue);
    if (!values) return;
    const { sku } = values;
    const earlier = keepLastRow(loaded, sku, { place, values });
    if (earlier) superseded.push({ place: earlier.place, sku });
  };
  let held: PlacedOutcome | undefined;
  const extractor = new RecordExtractor<never>(
    header,
    (place) => {
      for (const issue of headerIssues(place, header.names, undefined)) log.add(issue);
      return null;
    },
    (record) => {
      if (held) look(held);
      const { line, lastLine, row } = record;
      held = { place: { line, lastLine, row }, ...transformRecord(record, header) };
      return null;
    },
  );
  const runFailure = await failureOf(extractor, bytes);
  // Behind it a quote opens: it is whole.
  const isWhole = complete || runFailure !== null;
  if (isWhole && held) look(held);
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
    // A quote that is still open where the file was cut off may yet be closed.
    runFailure: complete ? runFailure : null,
  };
}

async function failureOf(extractor: RecordExtractor<never>, bytes: Buffer): Promise<string | null> {
  try {
    for await (const _ of extractor.read(inPieces(bytes)));
    return null;
  } catch (error) {
    if (!(error instanceof FeedFailure)) throw error;
    return error.message;
  }
}

async function* inPieces(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += inspectPieceBytes) {
    await nextTurn();
    yield bytes.subarray(at, at + inspectPieceBytes);
  }
}

function inFileOrder(issues: RowIssue[]): RowIssue[] {
  return issues.sort((a, b) => a.severity.localeCompare(b.severity) || a.line - b.line);
}

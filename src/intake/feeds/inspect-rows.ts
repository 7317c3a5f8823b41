import { setImmediate as nextTurn } from 'node:timers/promises';
import { clean } from '../../feed-format/clean-cell';
import { RecordExtractor, type RecordPlace } from '../../feed-format/read/extract';
import { FileReport } from '../../feed-format/check/file-report';
import type { RowIssue, RowIssueCount } from '../../feed-format/rows/row-issues';
import {
  keptValue,
  transformRecord,
  type LoadableValues,
  type ProductValues,
  type RowOutcome,
} from '../../feed-format/rows/transform';
import { productColumns } from '../../feed-format/columns';
import type { NamedHeader } from '../../feed-format/read/header-columns';
import { UnclosedQuote } from '../../feed-format/read/scan-record';
import type { LoadMode } from '../../feed-format/load-options';
import { ConcurrencyLimit } from '../../base/concurrency/concurrency-limit';

/** Bytes parsed before yielding to the event loop: parsing all of them takes up to a second. */
const inspectChunkBytes = 16 * 1024;

const inspectRowsMax = 10;

const inspectIssuesMax = 100;

export interface InspectedRow {
  line: number;
  row: number;
  values: LoadableValues & { product_name: string };
}

export interface InspectedRows {
  rowCount: number;
  rows: InspectedRow[];
  /** Different skus of all rows that would be loaded. */
  skus: string[];
  issues: RowIssue[];
  issueCounts: RowIssueCount[];
  runFailure: string | null;
}

export const noRows: InspectedRows = {
  rowCount: 0,
  rows: [],
  skus: [],
  issues: [],
  issueCounts: [],
  runFailure: null,
};

/** Bounds memory: one inspection parses at a time. */
const oneAtATime = new ConcurrencyLimit({ capacity: 1, maxWaiting: Infinity, what: 'inspections' });

type PlacedOutcome = RowOutcome & { place: RecordPlace };

interface InspectionOptions {
  rowsMax?: number;
  mode?: LoadMode;
}

/** Transforms the rows as a run does. Drops the last row of a truncated file: it may be incomplete. */
export function inspectRows(
  bytes: Buffer,
  complete: boolean,
  header: NamedHeader,
  options: InspectionOptions = {},
): Promise<InspectedRows> {
  return oneAtATime.run({ holder: 'inspections' }, () => transformRows(bytes, complete, header, options));
}

async function transformRows(
  bytes: Buffer,
  complete: boolean,
  header: NamedHeader,
  { rowsMax = inspectRowsMax, mode = 'upsert' }: InspectionOptions,
): Promise<InspectedRows> {
  const report = new FileReport(header, mode);
  /** The last row of each sku, in file order. */
  const loaded = new Map<string, { place: RecordPlace; values: LoadableValues }>();
  const addRow = ({ place, ...outcome }: PlacedOutcome): void => {
    report.addRow(place, outcome);
    const { values } = outcome;
    if (!values) return;
    loaded.delete(values.sku);
    loaded.set(values.sku, { place, values });
  };
  let pending: PlacedOutcome | undefined;
  const extractor = new RecordExtractor<never>(
    header,
    (place, text) => {
      report.addHeader(place, text);
      return null;
    },
    (record) => {
      if (pending) addRow(pending);
      const { line, lastLine, row } = record;
      pending = { place: { line, lastLine, row }, ...transformRecord(record, header, mode) };
      return null;
    },
  );
  const runFailure = await failureOf(extractor, bytes);
  // An unclosed quote begins after this row: the row is complete.
  const isWhole = complete || runFailure !== null;
  if (isWhole && pending) addRow(pending);
  // The rest of a truncated file may have what its beginning lacks.
  if (complete && runFailure === null) report.end();
  for (const issue of report.reportSuperseded()) report.issues.keep(issue);
  return {
    rowCount: report.rows,
    rows: [...loaded.values()]
      .slice(0, rowsMax)
      .map(({ place: { line, row }, values }) => ({ line, row, values: shownValues(values) })),
    skus: [...loaded.keys()],
    issues: inFileOrder(report.issues.kept).slice(0, inspectIssuesMax),
    issueCounts: report.issues.countsByCode,
    // In a truncated file, the rest may close the quote.
    runFailure: complete ? runFailure : null,
  };
}

/** Omits values that an update keeps; an omitted name is an empty text. */
function shownValues(values: LoadableValues): InspectedRow['values'] {
  const shown: ProductValues = { ...values };
  for (const column of productColumns) if (shown[column] === keptValue(column)) shown[column] = null;
  return { ...shown, sku: values.sku, product_name: shown.product_name ?? '' };
}

/**
 * Collects the different cells of each column, cleaned like skus.
 * @param cellsMax - maximum number of cells kept per column
 */
export async function distinctCells(
  bytes: Buffer,
  header: NamedHeader,
  cellsMax: number,
): Promise<Set<string>[]> {
  const cells = header.names.map(() => new Set<string>());
  const extractor = new RecordExtractor<never>(
    header,
    () => null,
    (record) => {
      for (const [position, text] of record.firstFields(cells.length).entries()) {
        const cell = clean.sku(text);
        if (cell !== null && cells[position]!.size < cellsMax) cells[position]!.add(cell);
      }
      return null;
    },
  );
  await oneAtATime.run({ holder: 'inspections' }, () => failureOf(extractor, bytes));
  return cells;
}

async function failureOf(extractor: RecordExtractor<never>, bytes: Buffer): Promise<string | null> {
  try {
    for await (const _ of extractor.read(inChunks(bytes)));
    return null;
  } catch (error) {
    if (!(error instanceof UnclosedQuote)) throw error;
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

const sampleProducts = 5;

/** Returns the first products of rows. */
export function sampleOf({ rows }: InspectedRows): InspectedRow['values'][] {
  return rows.slice(0, sampleProducts).map(({ values }) => values);
}

import { Readable } from 'node:stream';
import type { Database } from '../../base/db/database';
import { beginTransaction } from '../../base/db/transaction';
import { getFeedToRun } from '../queue/claims.repository';
import type { ObjectStore } from '../../base/storage/object-store';
import { openRawFile, type FeedToRun } from '../etl/raw-file';
import { rejectedRowIssue } from '../../feed-format/check/rejected-row';
import { reportColumns } from '../../feed-format/report-columns';
import type { OpenFile } from '../../feed-format/read/open-file';
import { recordText, type WrittenSyntax } from '../../feed-format/write/record-text';
import { blankPreamble, inEncodingOf, positionNames, withFilledCells, writtenSyntaxOf } from './rejects-file';
import { listSupersededRows } from '../etl/repeated-skus';
import type { RowIssue } from '../../feed-format/rows/row-issues';
import { FeedFailure } from '../etl/run-result';
import { RunStats } from '../etl/run-stats';
import { stageFeed } from '../etl/staging';
import { listUnknownRows, prepareUnknownRows } from '../etl/unknown-skus';
import type { LoadMode } from '../../feed-format/load-options';
import { TextBatch } from '../etl/text-batch';
import { transformRecord } from '../../feed-format/rows/transform';
import { BlockBudget } from '../etl/unchanged/record-digests';
import type { RunContext } from './load-feed';

/** Concurrent downloads of rejects in the thread; they mostly wait for their clients. */
export const concurrentRejectsMax = 8;

/** Run whose rejects are requested. */
export interface RejectsRequest {
  jobId: number;
  /** Whether the run found repeated skus. */
  hasRepeatedSkus: boolean;
  /** Whether the run found skus without a product. */
  hasUnknownSkus: boolean;
  /** Whether the run found rows without a required value. */
  hasMissingValues: boolean;
  /** Whether the run failed: a structurally broken file then ends the rejects without an error. */
  hasFailed: boolean;
}

/**
 * Streams the rejects of a run as CSV with the feed's columns.
 * The stream reads the raw file on demand: memory does not grow with the number of rows. Rows that are too long are
 * omitted. The caller reads the stream completely or destroys it.
 * @throws FeedFailure when the raw file cannot be read, also from the stream
 */
export async function streamRejects(
  { jobId, hasRepeatedSkus, hasUnknownSkus, hasMissingValues, hasFailed }: RejectsRequest,
  { db, objectStore }: RunContext,
): Promise<Readable> {
  const feed = await getFeedToRun(db, jobId);
  const superseded = new RowSet(rowSetBudget);
  const unknown = new RowSet(rowSetBudget);
  const release = () => {
    superseded.release();
    unknown.release();
  };
  try {
    const hasUnnamedRows = hasMissingValues && keepsNames(feed);
    if (hasRepeatedSkus || hasUnknownSkus || hasUnnamedRows)
      await findRows(db, objectStore, feed, { superseded, unknown });
    const file = await openRawFile(objectStore, feed);
    const rejects = inEncodingOf(file, readRejects(file, feed.mode, { superseded, unknown }));
    const stream = Readable.from(hasFailed ? untilBreak(rejects) : rejects);
    // Not in the generator: an unread generator does not run its `finally`.
    stream.once('close', () => {
      release();
      void file.close();
    });
    return stream;
  } catch (error) {
    release();
    throw error;
  }
}

/** Ends without an error where the file is structurally broken. */
async function* untilBreak(rejects: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* rejects;
  } catch (error) {
    if (!(error instanceof FeedFailure) || error.unavailable) throw error;
  }
}

/** Writes the header and the rejects unchanged, each after its report columns. */
async function* readRejects(
  file: OpenFile,
  mode: LoadMode,
  { superseded, unknown }: RejectedRows,
): AsyncGenerator<Buffer> {
  const { header, records } = file;
  const batch = new TextBatch();
  const syntax = writtenSyntaxOf(header);
  batch.add(blankPreamble(file));
  const addHeader = (text: string) => batch.add(`${reportCells(reportColumns, syntax)}${text}\n`);
  if (!header.reading.format.hasHeaderRow) addHeader(positionNames(header));
  const rejects = records<Buffer>(
    (_place, text) => addHeader(text),
    (record) => {
      if (record.tooLong) return null;
      const { values, issues = [] } = transformRecord(record, header, mode);
      const errors = issues.filter(({ severity }) => severity === 'error');
      if (values && superseded.has(record.row)) {
        errors.push(rejectedRowIssue('duplicate_sku', record, values.sku, null));
      } else if (values && unknown.has(record.row)) {
        const code = mode === 'update' ? 'unknown_sku' : 'missing_required';
        errors.push(rejectedRowIssue(code, record, values.sku, null));
      }
      if (errors.length === 0) return null;
      const cells = [String(record.line), joined(errors, 'code'), joined(errors, 'message')];
      const report = Buffer.from(reportCells(cells, syntax));
      return batch.add(Buffer.concat([report, withFilledCells(file, record), lineEnd]));
    },
  );
  try {
    yield* rejects;
  } catch (error) {
    // The rows before the error.
    yield batch.flush();
    throw error;
  }
  yield batch.flush();
}

const lineEnd = Buffer.from('\n');

/** Joins distinct texts: a row with two missing cells has one code and two messages. */
function joined(issues: RowIssue[], key: 'code' | 'message'): string {
  return [...new Set(issues.map((issue) => issue[key]))].join(' ');
}

/** Formats the report columns, which precede those of the feed. */
const reportCells = (cells: readonly string[], syntax: WrittenSyntax) =>
  recordText(cells, syntax) + syntax.delimiter;

/** Rows per block of 8 KiB. */
const rowsPerBlock = 64 * 1024;

/** Memory budget of all downloads: 32 MiB for 268 million rows, as many as 1 GiB of four-byte rows with one sku. */
const rowSetBudget = new BlockBudget(4096);

/** Sparse bit set of row numbers. */
class RowSet {
  private readonly blocks = new Map<number, Uint8Array>();

  constructor(private readonly budget: BlockBudget) {}

  /** @throws FeedFailure when the memory budget is spent */
  add(row: number): void {
    const number = Math.floor(row / rowsPerBlock);
    let block = this.blocks.get(number);
    if (!block) {
      if (!this.budget.reserve())
        throw new FeedFailure('No memory is left for the rows that repeat a sku.', true);
      block = new Uint8Array(rowsPerBlock / 8);
      this.blocks.set(number, block);
    }
    const at = row % rowsPerBlock;
    block[at >>> 3]! |= 1 << (at & 7);
  }

  has(row: number): boolean {
    const block = this.blocks.get(Math.floor(row / rowsPerBlock));
    const at = row % rowsPerBlock;
    return block !== undefined && (block[at >>> 3]! & (1 << (at & 7))) !== 0;
  }

  /** Returns its memory to the budget. */
  release(): void {
    this.budget.release(this.blocks.size);
    this.blocks.clear();
  }
}

/** Valid rows that were rejected. */
interface RejectedRows {
  superseded: RowSet;
  /** Without a product, and without a name unless the mode is `update`. */
  unknown: RowSet;
}

const keepsNames = ({ format }: FeedToRun) => format?.keep_when_empty?.includes('product_name') ?? false;

/**
 * Finds the rows of a feed that were superseded or, in mode `update` or without a name, have no product now. Stages it as a run does, then rolls
 * back.
 * @throws FeedFailure when the file cannot be read completely
 */
async function findRows(
  db: Database,
  objectStore: ObjectStore,
  feed: FeedToRun,
  { superseded, unknown }: RejectedRows,
): Promise<void> {
  const trx = await beginTransaction(db, 'bulk');
  try {
    await stageFeed(trx, { objectStore, feed }, new RunStats(false));
    for await (const rows of listSupersededRows(trx)) for (const row of rows) superseded.add(row);
    if (feed.mode !== 'update' && !keepsNames(feed)) return;
    await prepareUnknownRows(trx, feed);
    for await (const rows of listUnknownRows(trx, feed, feed.mode !== 'update'))
      for (const row of rows) unknown.add(row);
  } finally {
    await trx.rollback();
  }
}

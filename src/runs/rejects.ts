import { Readable } from 'node:stream';
import { stringify } from 'csv-stringify/sync';
import type { Database } from '../db/database';
import { beginTransaction } from '../db/transaction';
import { getFeedToRun } from '../jobs/jobs.repository';
import type { ObjectStore } from '../storage/object-store';
import { BlockBudget } from '../etl/unchanged/record-digests';
import { RunTally } from '../etl/copy-rows';
import { RecordExtractor } from '../etl/extract';
import { FeedFailure } from '../etl/run-result';
import type { Delimiter } from '../feed-format/header';
import { openRawFile, type FeedToRun, type OpenFeed } from '../etl/raw-file';
import { listSupersededRows, supersededIssue } from '../etl/repeated-skus';
import type { RowIssue } from '../etl/row-issues';
import type { RunContext } from './run-feed';
import { stageFeed } from '../etl/staging';
import { TextBatch } from '../etl/text-batch';
import { transformRecord } from '../etl/transform';

/** Downloads of rejects at a time, on the same thread; most of their time goes into waiting for the client. */
export const concurrentRejectsMax = 8;

/** The columns that stand before the feed's own. */
const reportColumns = ['_line', '_codes', '_messages'];

/** Which rejects are wanted. */
export interface RejectsRequest {
  jobId: number;
  /** Whether skus repeat among the rows that the run has read. */
  hasRepeatedSkus: boolean;
  /** Whether the run failed, perhaps because the file is broken somewhere: then the rows before that are wanted. */
  hasFailed: boolean;
}

/**
 * The rows that a run of the job has skipped, as a feed of its own, in pieces of some length. It is made while it is read,
 * from the raw file; memory does not grow with the number of rows. Rows that are too long are left out. The caller reads
 * the stream to its end or destroys it.
 * @throws FeedFailure when the raw file cannot be read; amid the pieces too
 */
export async function openRejects(
  { jobId, hasRepeatedSkus, hasFailed }: RejectsRequest,
  { db, objectStore }: RunContext,
): Promise<Readable> {
  const feed = await getFeedToRun(db, jobId);
  const superseded = new RowSet(rowSetBudget);
  try {
    if (hasRepeatedSkus) await findSupersededRows(db, objectStore, feed, superseded);
    const file = await openRawFile(objectStore, feed);
    const rejects = readRejects(file, superseded);
    const stream = Readable.from(hasFailed ? untilBreak(rejects) : rejects);
    // Of the stream, not of the generator: one that was never asked for anything cleans nothing up.
    stream.once('close', () => {
      superseded.release();
      void file.close();
    });
    return stream;
  } catch (error) {
    superseded.release();
    throw error;
  }
}

/** The rows up to where the file is broken: there the run has failed too. */
async function* untilBreak(rejects: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* rejects;
  } catch (error) {
    if (!(error instanceof FeedFailure) || error.unavailable) throw error;
  }
}

/** The header and every row that a run skips as they came, with what is wrong before them. */
async function* readRejects({ header, chunks }: OpenFeed, superseded: RowSet): AsyncGenerator<Buffer> {
  const batch = new TextBatch();
  const extractor = new RecordExtractor<Buffer>(
    header,
    (_place, text) => batch.add(`${reportCells(reportColumns, header.delimiter)}${text}\n`),
    (record) => {
      if (record.tooLong) return null;
      const { values, issues = [] } = transformRecord(record, header);
      const errors = issues.filter(({ severity }) => severity === 'error');
      if (values && superseded.has(record.row)) {
        errors.push(supersededIssue(record, values.sku, null));
      }
      if (errors.length === 0) return null;
      const cells = [record.line, joined(errors, 'code'), joined(errors, 'message')];
      const report = Buffer.from(reportCells(cells, header.delimiter));
      return batch.add(Buffer.concat([report, record.bytes, lineEnd]));
    },
  );
  try {
    yield* extractor.read(chunks);
  } catch (error) {
    // Of a broken file, what stands before the break.
    yield batch.take();
    throw error;
  }
  yield batch.take();
}

const lineEnd = Buffer.from('\n');

/** Each text once: a row with two missing cells has one code and two messages. */
function joined(issues: RowIssue[], key: 'code' | 'message'): string {
  return [...new Set(issues.map((issue) => issue[key]))].join(' ');
}

/** The cells and the delimiter after them. A spreadsheet takes none of them for a formula. */
function reportCells(cells: (string | number)[], delimiter: Delimiter): string {
  return stringify([cells], { delimiter, escape_formulas: true, eof: false }) + delimiter;
}

/** How many rows a block of a set stands for: 8 KiB. */
const rowsPerBlock = 64 * 1024;

/**
 * Of all downloads: 32 MiB, for 268 million rows. A feed of 1 GiB that repeats one sku in rows of four bytes has as many.
 */
const rowSetBudget = new BlockBudget(4096);

/** A set of row numbers, in one bit each, in blocks that are made where they are needed. */
class RowSet {
  private readonly blocks = new Map<number, Uint8Array>();

  constructor(private readonly budget: BlockBudget) {}

  /** @throws unavailable when there is no room for it */
  add(row: number): void {
    const number = Math.floor(row / rowsPerBlock);
    let block = this.blocks.get(number);
    if (!block) {
      if (!this.budget.take())
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

  /** Gives its memory back. */
  release(): void {
    this.budget.giveBack(this.blocks.size);
    this.blocks.clear();
  }
}

/**
 * Finds the rows of a feed that a later valid row of the same sku replaces: stages the feed as a run does, and undoes it.
 * @throws FeedFailure when the file cannot be read to its end
 */
async function findSupersededRows(
  db: Database,
  objectStore: ObjectStore,
  feed: FeedToRun,
  superseded: RowSet,
): Promise<void> {
  const trx = await beginTransaction(db, 'bulk');
  try {
    await stageFeed(trx, { objectStore, feed }, new RunTally(false));
    for await (const rows of listSupersededRows(trx)) for (const row of rows) superseded.add(row);
  } finally {
    await trx.rollback();
  }
}

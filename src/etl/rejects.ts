import { Readable } from 'node:stream';
import { stringify } from 'csv-stringify/sync';
import type { Knex } from 'knex';
import { limits } from '../limits';
import type { Database } from '../db/database';
import { beginTransaction } from '../db/transaction';
import { getFeedToRun, type FeedToRun } from '../jobs/jobs.repository';
import type { ObjectStore } from '../storage/object-store';
import { RunTally } from './copy-rows';
import { RecordExtractor } from './extract';
import { FeedFailure } from './feed-failure';
import type { Delimiter } from './header';
import { openRawFile, type OpenFeed } from './raw-file';
import { rowIssue, type RowIssue } from './row-issues';
import type { RunContext } from './run-feed';
import { stageFeed } from './stage-feed';
import { transformRecord } from './transform';

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
 * The rows that a run of the job has skipped, as a feed of its own, in texts of some length. It is made while it is read,
 * from the raw file; memory does not grow with the number of rows. The caller reads the stream to its end or destroys it.
 * @throws FeedFailure when the raw file cannot be read; amid the texts too
 */
export async function openRejects(
  { jobId, hasRepeatedSkus, hasFailed }: RejectsRequest,
  { db, objectStore }: RunContext,
): Promise<Readable> {
  const feed = await getFeedToRun(db, jobId);
  const superseded = hasRepeatedSkus ? await findSupersededRows(db, objectStore, feed) : new RowSet();
  const file = await openRawFile(objectStore, feed);
  const rejects = readRejects(file, superseded);
  const stream = Readable.from(hasFailed ? untilBreak(rejects) : rejects);
  // Of the stream, not of the generator: one that was never asked for anything cleans nothing up.
  stream.once('close', () => void file.close());
  return stream;
}

/** The rows up to where the file is broken: there the run has failed too. */
async function* untilBreak(rejects: AsyncGenerator<string>): AsyncGenerator<string> {
  try {
    yield* rejects;
  } catch (error) {
    if (!(error instanceof FeedFailure) || error.unavailable) throw error;
  }
}

/** The header and every row that a run skips as they came, with what is wrong before them. */
async function* readRejects({ header, chunks }: OpenFeed, superseded: RowSet): AsyncGenerator<string> {
  const extractor = new RecordExtractor(
    header,
    (_place, text) => `${reportCells(reportColumns, header.delimiter)}${text}\n`,
    (record) => {
      const { values, issues = [] } = transformRecord(record.read(), header);
      const errors = issues.filter(({ severity }) => severity === 'error');
      if (values && superseded.has(record.row)) {
        errors.push(rowIssue(record, values.sku, { code: 'duplicate_sku', field: 'sku' }));
      }
      if (errors.length === 0) return null;
      const cells = [record.line, joined(errors, 'code'), joined(errors, 'message')];
      return `${reportCells(cells, header.delimiter)}${record.bytes.toString('utf8')}\n`;
    },
  );
  let batch = '';
  try {
    for await (const text of extractor.read(chunks)) {
      batch += text;
      if (batch.length < limits.copyBatchCharacters) continue;
      yield batch;
      batch = '';
    }
    yield batch;
  } catch (error) {
    // Of a broken file, what stands before the break.
    yield batch;
    throw error;
  }
}

/** Each text once: a row with two missing cells has one code and two messages. */
function joined(issues: RowIssue[], key: 'code' | 'message'): string {
  return [...new Set(issues.map((issue) => issue[key]))].join(' ');
}

/** The cells and the delimiter after them. A spreadsheet takes none of them for a formula. */
function reportCells(cells: (string | number)[], delimiter: Delimiter): string {
  return stringify([cells], { delimiter, escape_formulas: true, eof: false }) + delimiter;
}

/** A set of row numbers, in one bit each. */
class RowSet {
  private bits = new Uint8Array(1024);

  add(row: number): void {
    const byte = row >>> 3;
    if (byte >= this.bits.length) {
      const larger = new Uint8Array(Math.max(2 * this.bits.length, byte + 1));
      larger.set(this.bits);
      this.bits = larger;
    }
    this.bits[byte]! |= 1 << (row & 7);
  }

  has(row: number): boolean {
    return ((this.bits[row >>> 3] ?? 0) & (1 << (row & 7))) !== 0;
  }
}

const declareSupersededSql = `
  declare superseded no scroll cursor for
  select row_number from feed_rows
  join (select sku, max(line) as winner from feed_rows group by sku having count(*) > 1) as repeated using (sku)
  where line < winner
`;

/**
 * Finds the rows of a feed that a later valid row of the same sku replaces: stages the feed as a run does, and undoes it.
 * @throws FeedFailure when the file cannot be read to its end
 */
async function findSupersededRows(db: Database, objectStore: ObjectStore, feed: FeedToRun): Promise<RowSet> {
  const trx = await beginTransaction(db, 'bulk');
  try {
    await stageFeed(trx, { objectStore, feed }, new RunTally());
    await trx.raw(declareSupersededSql);
    return await fetchRows(trx);
  } finally {
    await trx.rollback();
  }
}

async function fetchRows(trx: Knex.Transaction): Promise<RowSet> {
  const superseded = new RowSet();
  for (;;) {
    const { rows } = await trx.raw<{ rows: { row_number: number }[] }>('fetch 10000 from superseded');
    if (rows.length === 0) return superseded;
    for (const { row_number } of rows) superseded.add(row_number);
  }
}

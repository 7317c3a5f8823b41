import { pipeline } from 'node:stream/promises';
import type { Knex } from 'knex';
import { limits } from '../config';
import { isDatabaseUnavailable, type Database } from '../db/database';
import {
  claimRun,
  completeRun,
  failRun,
  getFeedToRun,
  markLoading,
  markRunning,
  type FeedToRun,
} from '../jobs/jobs.repository';
import type { Log } from '../log';
import { StorageError, type ObjectStore } from '../storage/object-store';
import type { ProductColumn } from './columns';
import { RecordExtractor } from './extract';
import { FeedFailure } from './feed-failure';
import { readHeader, type FeedHeader } from './header';
import {
  createStaging,
  foldRepeatedSkus,
  mergeProducts,
  replaceRowIssues,
  stageRows,
  stagedRow,
} from './load';
import { RowIssueLog } from './row-issues';
import type { RunCounters } from './summary';
import { transformRecord } from './transform';

/** What a run works with. */
export interface RunContext {
  db: Database;
  objectStore: ObjectStore;
  log: Log;
}

/** How a run ended; the job's row has the rest. `unavailable`: the database went away, and nothing could be recorded. */
export type RunOutcome = 'completed' | 'failed' | 'already_running' | 'unavailable';

/** What is known of the rows so far. */
class RunTally {
  readonly issues = new RowIssueLog();
  staged = 0;
  rejected = 0;
  /** Milliseconds per phase, for the log. */
  readonly milliseconds: Record<string, number> = {};

  /** Does `work` and notes how long it took. */
  async time<T>(phase: string, work: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    try {
      return await work();
    } finally {
      this.milliseconds[phase] = Math.round(performance.now() - startedAt);
    }
  }
}

/**
 * Runs a validation job: reads the raw file of its feed, stages the good rows, merges them into the partner's products,
 * and records what became of every row. One transaction holds it all, the claim on the job too: products, issues,
 * counters and the final states appear together, and whatever kills this process or the connection undoes the rest and
 * frees the job.
 *
 * Safe to call at once for any jobs: of two runs of one job the second is told `already_running`; runs of one partner
 * wait for each other where they touch its products. Safe to repeat.
 */
export async function runFeed(jobId: number, { db, objectStore, log }: RunContext): Promise<RunOutcome> {
  const tally = new RunTally();
  let run: number | undefined;
  try {
    const outcome = await db.transaction(async (trx): Promise<RunOutcome> => {
      if (!(await claimRun(trx, jobId))) return 'already_running';
      const feed = await getFeedToRun(trx, jobId);
      // On a connection of its own: callers see the state while the transaction goes on.
      run = await markRunning(db, jobId);
      try {
        // A savepoint: what fails is undone, while the claim on the job stays until the failure is recorded.
        await trx.transaction((work) => loadFeed(work, db, objectStore, feed, tally));
        return 'completed';
      } catch (error) {
        log.warn({ job_id: jobId, err: error }, 'run failed');
        await recordFailure(trx, { jobId, run }, error, tally);
        return 'failed';
      }
    });
    const { staged, rejected, milliseconds } = tally;
    log.info({ job_id: jobId, outcome, staged, rejected, ms: milliseconds }, 'run');
    return outcome;
  } catch (error) {
    log.error({ job_id: jobId, err: error }, 'run could not be committed');
    return await recordLostRun(db, { jobId, run }, error, tally, log);
  }
}

/** Reads, stages and merges one feed, and completes its job, within `trx`. */
async function loadFeed(
  trx: Knex.Transaction,
  db: Database,
  objectStore: ObjectStore,
  feed: FeedToRun,
  tally: RunTally,
): Promise<void> {
  await createStaging(trx);
  const columns = await tally.time('stage', () => stageFeed(trx, objectStore, feed, tally));

  await markLoading(db, feed.feedId);
  const repeated = await tally.time('fold', () => foldRepeatedSkus(trx));
  const merged = await tally.time('merge', () => mergeProducts(trx, feed, columns));

  tally.issues.count('duplicate_sku', repeated);
  const skipped = tally.rejected + repeated;
  const counters: RunCounters = {
    processed: merged.inserted + merged.updated + merged.unchanged + skipped,
    ...merged,
    skipped,
  };
  await replaceRowIssues(trx, feed.jobId, tally.issues.kept);
  await completeRun(trx, feed, counters, tally.issues.countsByCode);
}

/** Streams the raw file through parser and transform into the staging table. @returns the columns that the feed has */
async function stageFeed(
  trx: Knex.Transaction,
  objectStore: ObjectStore,
  feed: FeedToRun,
  tally: RunTally,
): Promise<Set<ProductColumn>> {
  const source = readRawFile(objectStore, feed.objectKey);
  const { header, chunks } = await openFeed(source);
  let batch = '';
  const extractor = new RecordExtractor(header, (record) => {
    const { values, issues } = transformRecord(record, header);
    if (issues) {
      tally.rejected++;
      for (const issue of issues) tally.issues.add(issue);
      return null;
    }
    tally.staged++;
    batch += stagedRow(record.line, values);
    if (batch.length < limits.copyBatchCharacters) return null;
    const full = batch;
    batch = '';
    return full;
  });
  async function* withRest(batches: AsyncIterable<[string]>): AsyncGenerator<string> {
    for await (const [text] of batches) yield text;
    yield batch;
  }
  try {
    await pipeline(extractor.watch(chunks), extractor.parser(), withRest, await stageRows(trx));
  } catch (error) {
    throw extractor.explain(error);
  }
  return new Set(Object.keys(header.positions) as ProductColumn[]);
}

/** The bytes of the raw file; whatever fails here is the object store's fault. */
async function* readRawFile(objectStore: ObjectStore, key: string): AsyncGenerator<Buffer, undefined> {
  try {
    yield* (await objectStore.get(key)) as AsyncIterable<Buffer>;
  } catch (error) {
    const missing = error instanceof StorageError && error.missing;
    throw new FeedFailure(
      missing
        ? 'The raw file is missing from object storage.'
        : 'The raw file could not be read from object storage.',
      error,
    );
  }
}

/** Reads as much as the header needs. @returns the header and the whole file, what was read included */
async function openFeed(
  source: AsyncGenerator<Buffer, undefined>,
): Promise<{ header: FeedHeader; chunks: AsyncIterable<Buffer> }> {
  let prefix: Buffer = Buffer.alloc(0);
  while (prefix.length <= limits.headerRowBytes) {
    const next = await source.next();
    if (next.done) break;
    prefix = Buffer.concat([prefix, next.value]);
  }
  const header = readHeader(prefix);
  if ('problem' in header) {
    await source.return(undefined);
    throw new FeedFailure(header.problem);
  }
  async function* chunks(): AsyncGenerator<Buffer> {
    yield prefix;
    yield* source;
  }
  return { header, chunks: chunks() };
}

function failureReason(error: unknown): string {
  if (error instanceof FeedFailure) return error.message;
  return 'The products could not be saved.';
}

/** Says in the job that its run failed, and what it had skipped until then, unless another run has taken over by now. */
async function recordFailure(
  trx: Knex.Transaction,
  at: { jobId: number; run: number },
  error: unknown,
  { rejected, issues }: RunTally,
): Promise<void> {
  if (!(await failRun(trx, at, failureReason(error), rejected, issues.countsByCode))) return;
  await createStaging(trx);
  await replaceRowIssues(trx, at.jobId, issues.kept);
}

/** The transaction is lost, and with it the claim. */
async function recordLostRun(
  db: Database,
  { jobId, run }: { jobId: number; run: number | undefined },
  error: unknown,
  tally: RunTally,
  log: Log,
): Promise<RunOutcome> {
  try {
    if (run === undefined) throw error;
    await db.transaction((trx) => recordFailure(trx, { jobId, run }, error, tally));
    return 'failed';
  } catch (second) {
    log.error({ job_id: jobId, err: second }, 'failure could not be recorded');
    if (isDatabaseUnavailable(second)) return 'unavailable';
    throw second;
  }
}

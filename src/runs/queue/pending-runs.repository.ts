import type { Knex } from 'knex';
import { queryRows, type Database } from '../../base/db/database';
import { raw, sql, type Sql } from '../../base/db/sql';
import type { RunNumber } from '../jobs/job-runs.repository';

/*
 * A run is a row of `runs` from its request on: `queued`, `running`, then `completed`, `failed` or `cancelled`. A load reads the
 * feed of its job; a revert undoes a run of the job. The queue consists of the rows that are queued or running, by the time of
 * their request. A job has at most one of them.
 * A writer of a run locks the rows of its job and its feed first, in this order, except for progress reports.
 */

export type RunOfKind = RunNumber & { kind: 'load' | 'revert' };

/** A run that is queued or in progress. */
export interface PendingRun extends RunOfKind {
  /** Null for a load. */
  revertsRun: number | null;
  status: 'queued' | 'running';
  attemptsLeft: number;
  /** Whether its cancellation is requested. */
  isCancelled: boolean;
}

export const pendingColumns = raw(`
  job_id as "jobId", run, kind, reverts_run as "revertsRun", runs.status, attempts_left as "attemptsLeft",
  runs.cancel_requested as "isCancelled"`);

/** Finds the run of a job that is queued or in progress. */
export async function findPendingRun(db: Database, jobId: number): Promise<PendingRun | undefined> {
  const [pending] = await queryRows<PendingRun>(
    db,
    sql`select ${pendingColumns} from runs
    where job_id = ${jobId} and status in ('queued', 'running') order by run desc limit 1`,
  );
  return pending;
}

/** Locks the rows of a job and its feed: serializes requests, ends, merges of partners and removals of their data. */
export async function lockJobRow(trx: Knex.Transaction, jobId: number): Promise<void> {
  await queryRows(trx, sql`select from ${jobRow(jobId)} for no key update`);
}

/** The rows of a job and its feed, locked, for a statement that writes its run. */
export const lockedJobSql = (jobId: number): Sql =>
  sql`job as materialized (select job_id, feed_id from ${jobRow(jobId)} for no key update)`;

const jobRow = (jobId: number): Sql =>
  sql`validation_jobs join feeds using (feed_id) where job_id = ${jobId}`;

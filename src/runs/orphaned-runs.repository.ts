import type { Knex } from 'knex';
import { lockSql, runKey } from './queue.repository';

/** Running job without claim: its process died. */
export interface OrphanedRun {
  job_id: number;
  /** Number of the run, from 1. */
  run_count: number;
  attempts_left: number;
  cancel_requested: boolean;
  /** Whether it is a revert. */
  is_revert: boolean;
}

/** Finds orphaned runs, and locks them for the transaction. Skips those that another transaction has locked. */
export async function lockOrphanedRuns(trx: Knex.Transaction): Promise<OrphanedRun[]> {
  const { rows } = await trx.raw<{ rows: OrphanedRun[] }>(
    `select job_id, run_count, attempts_left, cancel_requested, false as is_revert from validation_jobs as job
     where status = 'running' and case when status = 'running' then ${lockSql} end
     for no key update skip locked`,
  );
  const reverts = await trx.raw<{ rows: OrphanedRun[] }>(
    `select job_id, run as run_count, attempts_left, cancel_requested, true as is_revert from runs as job
     where kind = 'revert' and status = 'running' and case when status = 'running' then ${lockSql} end
     for no key update skip locked`,
  );
  return [...rows, ...reverts.rows];
}

/**
 * Locks a job that the transaction has reserved; waits for its claim to end.
 * @param revert - the number of a revert; null for a load
 * @returns its orphaned run, if any
 */
export async function lockReservedRun(
  trx: Knex.Transaction,
  jobId: number,
  revert: number | null = null,
): Promise<OrphanedRun | undefined> {
  await trx.raw(`select pg_advisory_xact_lock(${runKey}) from (select cast(? as bigint) as job_id) as job`, [
    jobId,
  ]);
  const { rows } = await trx.raw<{ rows: OrphanedRun[] }>(
    revert === null
      ? `select job_id, run_count, attempts_left, cancel_requested, false as is_revert from validation_jobs
         where job_id = :jobId and status = 'running' for no key update`
      : `select job_id, run as run_count, attempts_left, cancel_requested, true as is_revert from runs
         where (job_id, run) = (:jobId, :revert) and status = 'running' for no key update`,
    { jobId, ...(revert !== null && { revert }) },
  );
  return rows[0];
}

/** Requeues an orphaned run at its position. The caller has locked the job. */
export async function requeueRun(trx: Knex.Transaction, jobId: number): Promise<void> {
  await trx.raw(
    `with job as (
       update validation_jobs set status = 'queued', started_at = null, progress = null where job_id = ? returning feed_id
     )
     update feeds set status = 'processing' from job where feeds.feed_id = job.feed_id`,
    [jobId],
  );
}

import type { Knex } from 'knex';
import type { Database } from '../db/database';
import { inTransaction } from '../db/transaction';
import type { RunCounters } from '../etl/run-result';
import { announceRevertEnd } from '../jobs/job-runs.repository';
import { revertedBySql } from '../partners/reverted-by';
import type { RunNumber } from '../jobs/run-progress.repository';
import { jobAlreadyRunning, jobAlreadyWaiting, runAlreadyReverted } from '../shared/errors';
import { formatId } from '../shared/ids';

/*
 * A revert is a row of `runs` from its request on: the job still shows the last load. It is queued, claimed and recovered like
 * a load; see queue.repository.ts. Its number is taken at the request, and stays when it is repeated.
 */

/** The request of a revert. */
export interface RevertRequest {
  /** The run to undo. */
  revertsRun: number;
  skipsConflicts: boolean;
  /** As `requesterName` returns it. */
  requestedBy?: string;
  /** The `x-request-id` of the response, for the log of the revert. */
  requestId?: string;
}

/** A revert in the queue or in progress. */
interface PendingRevert {
  run: number;
  reverts_run: number;
  status: 'queued' | 'running';
}

/** Finds the revert of a job that is queued or in progress: there is at most one. */
export async function findPendingRevert(db: Database, jobId: number): Promise<PendingRevert | undefined> {
  const { rows } = await db.raw<{ rows: PendingRevert[] }>(
    `select run, reverts_run, status from runs
     where job_id = ? and kind = 'revert' and status in ('queued', 'running') order by run desc limit 1`,
    [jobId],
  );
  return rows[0];
}

/** Finds the completed revert of a run that is in force: it was not reverted itself. */
export async function findRevertInForce(
  db: Database,
  { jobId, run }: RunNumber,
): Promise<number | undefined> {
  const { rows } = await db.raw<{ rows: [{ by: number | null }] }>(
    `select ${revertedBySql(':jobId', ':run')} as by`,
    { jobId, run },
  );
  return rows[0].by ?? undefined;
}

/**
 * Enqueues a revert, or joins one of the same run that is queued or in progress.
 * @param attempts - maximum number of attempts
 * @returns its number, and whether it was queued or in progress already
 * @throws job_already_running, job_already_waiting, run_already_reverted
 */
export async function requestRevert(
  db: Database,
  jobId: number,
  { revertsRun, skipsConflicts, requestedBy, requestId }: RevertRequest,
  attempts: number,
): Promise<{ run: number; waited: boolean }> {
  return inTransaction(db, 'request', async (trx) => {
    const id = formatId('JV', jobId);
    // Requests of loads and reverts of the job follow each other.
    const job = await trx('validation_jobs')
      .where('job_id', jobId)
      .forNoKeyUpdate()
      .first<{ status: string; run_requested_at: Date | null }>('status', 'run_requested_at');
    if (job.status === 'running') throw jobAlreadyRunning(id);
    if (job.status === 'queued' && job.run_requested_at) throw jobAlreadyWaiting(id);
    const pending = await findPendingRevert(trx, jobId);
    if (pending && pending.reverts_run !== revertsRun) {
      throw pending.status === 'running' ? jobAlreadyRunning(id) : jobAlreadyWaiting(id);
    }
    if (pending) {
      await trx.raw(
        'update runs set attempts_left = greatest(attempts_left, :attempts) where (job_id, run) = (:jobId, :run)',
        { jobId, run: pending.run, attempts },
      );
      return { run: pending.run, waited: true };
    }
    const by = await findRevertInForce(trx, { jobId, run: revertsRun });
    if (by !== undefined) throw runAlreadyReverted(id, revertsRun, by);
    const { rows } = await trx.raw<{ rows: [{ run: number }] }>(
      `with job as (
         update validation_jobs set run_count = run_count + 1 where job_id = :jobId returning job_id, run_count
       )
       insert into runs (
         job_id, run, kind, status, reverts_run, skips_conflicts, requested_by, request_id, requested_at, attempts_left
       )
       select job_id, run_count, 'revert', 'queued', :revertsRun, :skipsConflicts, :requestedBy, :requestId,
         statement_timestamp(), :attempts
       from job
       returning run`,
      {
        ...{ jobId, revertsRun, skipsConflicts, attempts },
        requestedBy: requestedBy ?? null,
        requestId: requestId ?? null,
      },
    );
    return { run: rows[0].run, waited: false };
  });
}

/** Dequeues a revert that has not started, unless a request without a waiting client has joined it. */
export async function withdrawRevert(db: Database, { jobId, run }: RunNumber): Promise<void> {
  await db.raw(
    `delete from runs where (job_id, run) = (:jobId, :run) and status = 'queued' and attempts_left = 1`,
    { jobId, run },
  );
}

/** Dequeues a revert, which the caller has locked. The run is kept as cancelled. */
export async function cancelQueuedRevert(trx: Knex.Transaction, { jobId, run }: RunNumber): Promise<void> {
  await trx('runs')
    .where({ job_id: jobId, run, status: 'queued' })
    .update({ status: 'cancelled', finished_at: trx.raw('clock_timestamp()') });
}

/** Requests the revert of a job that is in progress to stop. @returns undefined if there is none, or it is just ending */
export async function requestRevertCancel(
  trx: Knex.Transaction,
  jobId: number,
): Promise<{ run: number } | undefined> {
  const { rows } = await trx.raw<{ rows: { run: number }[] }>(
    `update runs set cancel_requested = true
     where (job_id, run) in (
       select job_id, run from runs where job_id = ? and kind = 'revert' and status = 'running'
       for no key update skip locked
     )
     returning run`,
    [jobId],
  );
  return rows[0];
}

/** Tells whether the cancellation of a revert in progress is requested. */
export async function isRevertCancelled(db: Database, { jobId, run }: RunNumber): Promise<boolean> {
  const revert = db('runs').where({ job_id: jobId, run, status: 'running', cancel_requested: true });
  return (await revert.first('run')) !== undefined;
}

/** A revert that has been started. */
export interface StartedRevert {
  revertsRun: number;
  skipsConflicts: boolean;
}

/**
 * Marks the claimed revert as running, on a second connection, like `markRunning`.
 * @param isRepeated - whether an orphaned revert may restart; not if it is to be cancelled
 * @returns undefined when it is no longer queued
 */
export async function markRevertRunning(
  db: Database,
  { jobId, run }: RunNumber,
  isRepeated = false,
): Promise<StartedRevert | undefined> {
  const { rows } = await db.raw<{ rows: StartedRevert[] }>(
    `update runs set status = 'running', started_at = now(), attempts_left = attempts_left - 1
     where (job_id, run) = (:jobId, :run) and (status = 'queued' or (:isRepeated and status = 'running' and not cancel_requested))
     returning reverts_run as "revertsRun", skips_conflicts as "skipsConflicts"`,
    { jobId, run, isRepeated },
  );
  return rows[0];
}

/** Requeues an orphaned revert at its position. The caller has locked the job. */
export async function requeueRevert(trx: Knex.Transaction, { jobId, run }: RunNumber): Promise<void> {
  await trx.raw(`update runs set status = 'queued', started_at = null where (job_id, run) = (?, ?)`, [
    jobId,
    run,
  ]);
}

/**
 * Completes a revert, and publishes that. The caller keeps the attention of its partner, at its end.
 * @returns false if its cancellation is requested; the caller must then roll back
 */
export async function completeRevert(
  trx: Knex.Transaction,
  { jobId, run }: RunNumber,
  counters: RunCounters,
): Promise<boolean> {
  const completed = await trx('runs')
    .where({ job_id: jobId, run, cancel_requested: false })
    .update({ status: 'completed', finished_at: trx.raw('clock_timestamp()'), ...counters });
  if (completed === 0) return false;
  await announceRevertEnd(trx, { jobId, run });
  return true;
}

/** Fails a revert that is in progress. @returns whether it was failed */
export async function failRevert(
  db: Database,
  { jobId, run }: RunNumber,
  reason: string,
  skipped: number,
): Promise<boolean> {
  const failed = await db('runs')
    .where({ job_id: jobId, run, status: 'running' })
    .update({
      status: 'failed',
      finished_at: db.raw('clock_timestamp()'),
      failure_reason: reason,
      ...{ processed: skipped, inserted: 0, updated: 0, unchanged: 0, skipped, withdrawn: 0, restored: 0 },
    });
  return failed > 0;
}

import type { Database } from '../db/database';
import type { RunPhase } from '../etl/copy-rows';

/** How far a run is: `JobProgress` of the document. Sizes in bytes, rates of the last seconds. */
export interface RunProgress {
  phase: RunPhase;
  rows: number;
  bytes_read: number;
  bytes_total: number;
  rows_per_second: number;
  bytes_per_second: number;
}

/** Which run of a job, from 1. */
export interface RunNumber {
  jobId: number;
  run: number;
}

/** Why a run has failed that somebody has cancelled. */
export const cancelledReason = 'The run was cancelled.';

/**
 * Shows how far a run is. Waits for nobody: not when the run is being ended, or has been.
 * @returns whether it has been asked to stop
 */
export async function reportProgress(db: Database, at: RunNumber, progress: RunProgress): Promise<boolean> {
  const { rows } = await db.raw<{ rows: { cancel_requested: boolean }[] }>(
    `with job as (
       select job_id, cancel_requested from validation_jobs
       where job_id = :jobId and run_count = :run and status = 'running'
       for no key update skip locked
     ), told as (
       update validation_jobs set progress = :progress from job
       where validation_jobs.job_id = job.job_id and progress is distinct from cast(:progress as jsonb)
     )
     select cancel_requested from job`,
    { ...at, progress: JSON.stringify(progress) },
  );
  return rows[0]?.cancel_requested ?? false;
}

/** Has the server give up the statement that a run is amid. `backend` is the server's process, also behind a pooler. */
export async function cancelStatementOf(db: Database, backend: number): Promise<void> {
  await db.raw('select pg_cancel_backend(?)', [backend]);
}

/** The `version` of these validation jobs, by number; without those that are not there. */
export async function listJobVersions(
  db: Database,
  jobIds: Iterable<number>,
): Promise<ReadonlyMap<number, string>> {
  const { rows } = await db.raw<{ rows: { job_id: number; version: string }[] }>(
    'select job_id, xmin::text as version from validation_jobs where job_id = any(:jobIds)',
    { jobIds: [...jobIds] },
  );
  return new Map(rows.map(({ job_id, version }) => [job_id, version]));
}

import type { Database } from '../db/database';
import type { RunPhase } from '../etl/run-stats';

/** Progress of a run: `JobProgress` of the contract. Rates are those of the last five seconds. */
export interface RunProgress {
  phase: RunPhase;
  rows: number;
  bytes_read: number;
  bytes_total: number;
  rows_per_second: number;
  bytes_per_second: number;
}

/** Identifies a run of a job; the first one is 1. */
export interface RunNumber {
  jobId: number;
  run: number;
}

/**
 * Reports progress, unless the job is locked (its run is just ending) or no longer running.
 * @returns whether the cancellation of the run is requested
 */
export async function reportProgress(db: Database, at: RunNumber, progress: RunProgress): Promise<boolean> {
  const { rows } = await db.raw<{ rows: { cancel_requested: boolean }[] }>(
    `with job as (
       select job_id, cancel_requested from validation_jobs
       where job_id = :jobId and run_count = :run and status = 'running'
       for no key update skip locked
     ), reported as (
       update validation_jobs set progress = :progress from job
       where validation_jobs.job_id = job.job_id and progress is distinct from cast(:progress as jsonb)
     )
     select cancel_requested from job`,
    { ...at, progress: JSON.stringify(progress) },
  );
  return rows[0]?.cancel_requested ?? false;
}

/** Cancels the running statement of a run. `backend` is the server process, also behind a pooler. */
export async function cancelStatementOf(db: Database, backend: number): Promise<void> {
  await db.raw('select pg_cancel_backend(cast(? as integer))', [backend]);
}

/** Gets the versions of validation jobs by number, without missing ones. */
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

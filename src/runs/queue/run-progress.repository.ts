import { queryRows, type Database } from '../../base/db/database';
import { sql } from '../../base/db/sql';
import type { RunNumber } from '../jobs/job-runs.repository';
import type { RunProgress } from '../jobs/jobs.repository';

/**
 * Reports progress, unless the run is locked (it is just ending) or no longer in progress.
 * @param progress - null for a revert, which reports none
 * @returns whether the cancellation of the run is requested
 */
export async function reportProgress(
  db: Database,
  { jobId, run }: RunNumber,
  progress: RunProgress | null,
): Promise<boolean> {
  const report = progress && JSON.stringify(progress);
  const [found] = await queryRows<{ cancel_requested: boolean }>(
    db,
    sql`with running as (
      select job_id, run, cancel_requested from runs
      where (job_id, run) = (${jobId}, ${run}) and status = 'running'
      for no key update skip locked
    ), reported as (
      update runs set progress = ${report} from running
      where (runs.job_id, runs.run) = (running.job_id, running.run) and progress is distinct from cast(${report} as jsonb)
    )
    select cancel_requested from running`,
  );
  return found?.cancel_requested ?? false;
}

/** Cancels the running statement of a run. `backend` is the server process, also behind a pooler. */
export async function cancelStatementOf(db: Database, backend: number): Promise<void> {
  await queryRows(db, sql`select pg_cancel_backend(cast(${backend} as integer))`);
}

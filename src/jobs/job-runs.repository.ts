import type { Database } from '../db/database';
import { raw } from '../db/sql';
import { boundedPageSql, type Found } from '../db/page';
import type { LoadMode } from '../feed-format/load-options';
import type { PartnerScope } from '../shared/caller';
import { publishEventsSql } from '../events/outbox';
import type { CounterColumns } from './jobs.repository';
import { revertedBySql } from '../partners/reverted-by';
import type { RunNumber } from './run-progress.repository';

/** Row of `runs`; the counters are null unless it is completed or failed. */
export interface RunRow extends CounterColumns {
  run: number;
  kind: 'load' | 'revert';
  /** The run that a revert undoes; null for a load. */
  reverts_run: number | null;
  /** The run that has undone it, in force; null: none. */
  reverted_by: number | null;
  status: 'queued' | 'running' | 'completed' | 'failed' | 'cancelled';
  /** Null for a revert. */
  mode: LoadMode | null;
  /** The name of the key that requested it, as far as the reader may know it; null: not known. */
  requested_by: string | null;
  requested_at: Date | null;
  /** Null while a revert is queued, and if the run was cancelled before its start. */
  started_at: Date | null;
  finished_at: Date | null;
  failure_reason: string | null;
}

/** Bindings: `scope`. To a key that is bound to a partner, all other keys than those of the partner are the operator's. The sources of its jobs are its own. */
const runColumns = `
  run, ${revertedBySql('runs.job_id', 'runs.run')} as reverted_by, kind, reverts_run, status, mode, requested_at, started_at, finished_at, failure_reason, processed, inserted, updated,
  unchanged, skipped, withdrawn, restored, would_withdraw, withdrawals_withheld,
  case
    when cast(:scope as text) is null or requested_by is null or starts_with(requested_by, 'source:')
      or exists (select from api_keys where key_name = requested_by and partner_name = :scope)
    then requested_by else 'operator'
  end as requested_by`;

/** Lists runs of an existing job before `beforeRun`, newest first. */
export async function listRuns(
  db: Database,
  jobId: number,
  scope: PartnerScope,
  page: { beforeRun: number; limit: number },
): Promise<Found<RunRow>[]> {
  const { rows } = await db.raw<{ rows: Found<RunRow>[] }>(
    boundedPageSql(
      `select ${runColumns} from runs where job_id = :jobId and run < :beforeRun order by run desc limit :limit + 1`,
      ':limit',
    ),
    { jobId, scope, ...page },
  );
  return rows;
}

/** A run with its job and feed. */
export type JobRunRow = RunRow & { job_id: number; feed_id: number };

/** Finds a run of a job; undefined if the job has no such run. */
export async function findRun(
  db: Database,
  { jobId, run, scope }: { jobId: number; run: number; scope: PartnerScope },
): Promise<JobRunRow | undefined> {
  const { rows } = await db.raw<{ rows: JobRunRow[] }>(
    `select job_id, (select feed_id from validation_jobs where validation_jobs.job_id = runs.job_id) as feed_id, ${runColumns}
     from runs where (job_id, run) = (:jobId, :run)`,
    { jobId, run, scope },
  );
  return rows[0];
}

/** Publishes the end of a revert, with the run as it is now. The caller keeps the attention of its partner, at its end. */
export async function announceRevertEnd(db: Database, at: RunNumber): Promise<void> {
  await db.raw(publishRevertEventSql, { ...at });
}

const publishRevertEventSql = publishEventsSql(
  raw(`
  select cast('job.reverted' as text) as event_type, partner_name, to_json(reverted) as content
  from (
    select runs.*, feed_id from runs join validation_jobs using (job_id) where (job_id, run) = (:jobId, :run)
  ) as reverted join feeds using (feed_id) join partners using (partner_id)
`),
).sql;

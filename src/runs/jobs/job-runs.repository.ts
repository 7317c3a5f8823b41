import { queryRows, type Database } from '../../base/db/database';
import { boundedPageSql, type Found } from '../../base/db/page';
import { raw, sql, type Sql } from '../../base/db/sql';
import type { LoadMode } from '../../feed-format/load-options';
import type { PartnerScope } from '../../base/caller';
import { revertedBySql } from '../../catalog/changes/reverted-by';
import { repeatedReason } from '../../base/errors';
import type { CounterColumns } from './jobs.repository';

/** Identifies a run of a job; the first one is 1. */
export interface RunNumber {
  jobId: number;
  run: number;
}

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
  /** The name of the key that requested it, if the reader may see it; null: unknown. */
  requested_by: string | null;
  requested_at: Date | null;
  /** Null while a revert is queued, and if the run was cancelled before its start. */
  started_at: Date | null;
  finished_at: Date | null;
  failure_reason: string | null;
}

/**
 * Columns of a run. A key that is bound to a partner sees only the names of that partner's keys; all others count as the operator's.
 * The sources of its jobs belong to the partner.
 */
const runColumns = (scope: PartnerScope): Sql => sql`
  run, ${revertedBySql(raw('runs.job_id'), raw('runs.run'))} as reverted_by, kind, reverts_run, status, mode, requested_at,
  started_at, finished_at, failure_reason, processed, inserted, updated, unchanged, skipped, withdrawn, restored,
  would_withdraw, withdrawals_withheld,
  case
    when cast(${scope} as text) is null or requested_by is null or starts_with(requested_by, 'source:')
      or exists (select from api_keys where key_name = requested_by and partner_name = ${scope})
    then requested_by else 'operator'
  end as requested_by`;

/** A load is listed from its start or its cancellation on: until then, the job says that it is queued. */
const isShownSql = sql`(kind = 'revert' or status <> 'queued')`;

/** Lists runs of an existing job before `beforeRun`, newest first. */
export async function listRuns(
  db: Database,
  jobId: number,
  scope: PartnerScope,
  { beforeRun, limit }: { beforeRun: number; limit: number },
): Promise<Found<RunRow>[]> {
  const page = sql`
    select ${runColumns(scope)} from runs
    where job_id = ${jobId} and run < ${beforeRun} and ${isShownSql} order by run desc limit ${limit + 1}`;
  return queryRows(db, boundedPageSql(page, limit));
}

export type JobRunRow = RunRow & { job_id: number; feed_id: number };

const jobRunSql = (scope: PartnerScope): Sql => sql`
  select job_id, (select feed_id from validation_jobs where validation_jobs.job_id = runs.job_id) as feed_id,
    ${runColumns(scope)}
  from runs`;

/** Finds a run of a job; undefined if the job has no such run, or it is a queued load. */
export async function findRun(
  db: Database,
  { jobId, run, scope }: RunNumber & { scope: PartnerScope },
): Promise<JobRunRow | undefined> {
  const [found] = await queryRows<JobRunRow>(
    db,
    sql`${jobRunSql(scope)} where (job_id, run) = (${jobId}, ${run}) and ${isShownSql}`,
  );
  return found;
}

/** A requested run with its number; a load has the number of its first attempt. */
export interface RequestedRun extends RunNumber {
  /** The run to undo; null for a load. */
  revertsRun: number | null;
}

/** Finds the state of a requested run; undefined if the request was withdrawn. */
export async function findRequestedRun(
  db: Database,
  { jobId, run, revertsRun }: RequestedRun,
): Promise<JobRunRow | undefined> {
  const [found] = await queryRows<JobRunRow>(
    db,
    sql`${jobRunSql(null)}
    where job_id = ${jobId} and run >= ${run} and reverts_run is not distinct from cast(${revertsRun} as integer)
      and failure_reason is distinct from ${repeatedReason}
    order by run limit 1`,
  );
  return found;
}

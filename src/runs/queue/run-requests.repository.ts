import type { Knex } from 'knex';
import { changeRows, queryRows, type Database } from '../../base/db/database';
import { sql } from '../../base/db/sql';
import type { RequestedRun, RunNumber } from '../jobs/job-runs.repository';
import { revertedBySql } from '../../catalog/changes/reverted-by';
import { jobAlreadyRunning, jobAlreadyQueued, runAlreadyReverted } from '../../base/errors';
import { formatId } from '../../base/ids';
import { lockJob } from './claims.repository';
import { findPendingRun, lockJobRow, type PendingRun } from './pending-runs.repository';
import { interruptLoad, settleFeed } from './run-ends.repository';
import type { RunTarget } from './run-target.repository';

/** Finds the completed revert of a run that is in force: it was not reverted itself. */
export async function findRevertInForce(
  db: Database,
  { jobId, run }: RunNumber,
): Promise<number | undefined> {
  const [revert] = await queryRows<{ by: number | null }>(
    db,
    sql`select ${revertedBySql(sql`cast(${jobId} as bigint)`, sql`cast(${run} as integer)`)} as by`,
  );
  return revert!.by ?? undefined;
}

/**
 * Enqueues a run. A load joins a queued load, and a revert joins a revert of the same run: it keeps its position, its requester, and
 * its permissions unless the request changes them. An orphaned load is replaced by the next one.
 * @param attempts - maximum number of attempts
 * @returns its number, and whether it was queued, or in progress, already
 * @throws job_already_running, also if the raw file of a load has just been removed; job_already_queued, run_already_reverted
 */
export async function requestRun(
  trx: Knex.Transaction,
  target: RunTarget,
  attempts: number,
): Promise<RequestedRun & { waited: boolean }> {
  const { jobId, reverts } = target;
  const requested = { jobId, revertsRun: reverts?.run ?? null };
  await lockJobRow(trx, jobId);
  const pending = await findPendingRun(trx, jobId);
  if (pending && isSame(pending, target)) {
    await joinRun(trx, pending, target, attempts);
    return { ...requested, run: pending.run, waited: true };
  }
  if (pending) await replaceOrphan(trx, pending, target);
  const by = reverts && (await findRevertInForce(trx, { jobId, run: reverts.run }));
  if (by !== undefined) throw runAlreadyReverted(formatId('JV', jobId), reverts!.run, by);
  return { ...requested, run: await insertRun(trx, target, attempts), waited: false };
}

/** A load in progress is never joined: its file and permissions are fixed. */
function isSame(pending: PendingRun, { reverts }: RunTarget): boolean {
  return reverts
    ? pending.revertsRun === reverts.run
    : pending.kind === 'load' && pending.status === 'queued';
}

async function joinRun(
  trx: Knex.Transaction,
  { jobId, run }: RunNumber,
  { maxWithdrawn, maxWithdrawnPercent, allowOlder }: RunTarget,
  attempts: number,
): Promise<void> {
  await changeRows(
    trx,
    sql`update runs
    set attempts_left = greatest(attempts_left, ${attempts}),
      max_withdrawn = coalesce(cast(${maxWithdrawn ?? null} as bigint), max_withdrawn),
      max_withdrawn_percent = coalesce(cast(${maxWithdrawnPercent ?? null} as double precision), max_withdrawn_percent),
      allow_older = allow_older or ${allowOlder ?? false}
    where (job_id, run) = (${jobId}, ${run})`,
  );
}

/** Makes room for a load whose predecessor is orphaned. @throws job_already_running, job_already_queued */
async function replaceOrphan(
  trx: Knex.Transaction,
  pending: PendingRun,
  { jobId, reverts }: RunTarget,
): Promise<void> {
  const isOfLoads = pending.kind === 'load' && !reverts;
  if (isOfLoads && (await lockJob(trx, jobId))) return interruptLoad(trx, pending);
  const isWaiting = pending.status === 'queued' && reverts;
  throw (isWaiting ? jobAlreadyQueued : jobAlreadyRunning)(formatId('JV', jobId));
}

async function insertRun(trx: Knex.Transaction, target: RunTarget, attempts: number): Promise<number> {
  const { jobId, reverts, maxWithdrawn, maxWithdrawnPercent, allowOlder, requestedBy, requestId } = target;
  const [inserted] = await queryRows<{ run: number }>(
    trx,
    sql`insert into runs (
      job_id, run, partner_id, kind, status, mode, reverts_run, skips_conflicts, requested_by, request_id, requested_at,
      attempts_left, max_withdrawn, max_withdrawn_percent, allow_older
    )
    select job_id, run_count + 1, partner_id, ${reverts ? 'revert' : 'load'}, 'queued',
      case when ${reverts === undefined} then mode end, cast(${reverts?.run ?? null} as integer),
      ${reverts?.skipsConflicts ?? false}, ${requestedBy ?? null}, ${requestId ?? null}, statement_timestamp(), ${attempts},
      cast(${maxWithdrawn ?? null} as bigint), cast(${maxWithdrawnPercent ?? null} as double precision), ${allowOlder ?? false}
    from validation_jobs join feeds using (feed_id)
    where job_id = ${jobId} and (${reverts !== undefined} or raw_file_removed_at is null)
    returning run`,
  );
  if (!inserted) throw jobAlreadyRunning(formatId('JV', jobId));
  return inserted.run;
}

/** Dequeues a run that has not started, unless a request without a waiting client has joined it. Its number is free again. */
export async function withdrawRun(trx: Knex.Transaction, { jobId, run }: RunNumber): Promise<void> {
  await lockJobRow(trx, jobId);
  await changeRows(
    trx,
    sql`delete from runs where (job_id, run) = (${jobId}, ${run}) and status = 'queued' and attempts_left <= 1`,
  );
  await settleFeed(trx, jobId);
}

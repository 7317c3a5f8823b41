import { changeRows, queryRows, type Database } from '../../base/db/database';
import { raw, sql } from '../../base/db/sql';
import { queuedRunAttempts } from '../../runs/queue/run-target.repository';

/** One statement takes a tenth of a second. */
const deliveriesPerStatement = 1_000;

/** Runs that were in progress in its queue when `runs` became the queue, in case their process dies. */
const adoptRunsSql = sql`
  update runs set requested_at = started_at, attempts_left = ${raw(queuedRunAttempts)}
  where status = 'running' and requested_at is null
    and exists (select from graphile_worker.jobs where key = 'run ' || job_id)`;

/** A delivery that is locked longer is orphaned. */
const unlockDeliveriesSql = sql`
  select graphile_worker.force_unlock_workers(array(
    select distinct locked_by from graphile_worker.jobs
    where task_identifier = 'send_webhook' and locked_at < now() - interval '1 minute'
  ))`;

/** `complete_jobs` skips locked jobs, and returns the removed ones. */
const moveDeliveriesSql = sql`
  insert into webhook_deliveries
    (webhook_endpoint_id, message_id, event_type, happened_at, content, attempts, next_attempt_at)
  select cast(payload ->> 'endpoint_id' as bigint), payload ->> 'message_id', payload ->> 'type',
    cast(payload ->> 'timestamp' as timestamptz), payload -> 'content', cast(payload ->> 'failed_attempts' as integer), run_at
  from graphile_worker.complete_jobs(array(
    select id from graphile_worker.jobs
    where task_identifier = 'send_webhook' and locked_at is null
    order by run_at limit ${raw(deliveriesPerStatement)}
  ))`;

/**
 * Moves runs and webhook deliveries out of the queue of release 1.2.0 (graphile-worker).
 *
 * It uses the library's view and functions only. Safe at any time, on any number of processes, also beside processes of that
 * release: the first claim of a run counts. To be removed together with that schema.
 */
export async function takeOverFromLastRelease(db: Database): Promise<void> {
  const statement = sql`select to_regclass('graphile_worker.jobs') is not null as is_there`;
  const [row] = await queryRows<{ is_there: boolean }>(db, statement);
  if (!row!.is_there) return;
  await changeRows(db, adoptRunsSql);
  await queryRows(db, unlockDeliveriesSql);
  while ((await changeRows(db, moveDeliveriesSql)) === deliveriesPerStatement);
}

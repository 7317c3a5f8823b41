import type { Database } from '../db/database';

/** One statement takes a tenth of a second. */
const deliveriesPerStatement = 1_000;

/** What a worker of that release has not sent by then, its process has died over. */
const unlockSql = `
  select graphile_worker.force_unlock_workers(array(
    select distinct locked_by from graphile_worker.jobs
    where task_identifier = 'send_webhook' and locked_at < now() - interval '1 minute'
  ))`;

/** By the library's functions alone; `complete_jobs` leaves alone what a worker has locked, and returns what it removes. */
const moveSql = `
  insert into webhook_deliveries
    (webhook_endpoint_id, message_id, event_type, happened_at, content, attempts, next_attempt_at)
  select cast(payload ->> 'endpoint_id' as bigint), payload ->> 'message_id', payload ->> 'type',
    cast(payload ->> 'timestamp' as timestamptz), payload -> 'content', cast(payload ->> 'failed_attempts' as integer), run_at
  from graphile_worker.complete_jobs(array(
    select id from graphile_worker.jobs
    where task_identifier = 'send_webhook' and locked_at is null
    order by run_at limit :max
  ))`;

/**
 * Moves deliveries here that release 1.2.0 has left in graphile-worker's queue, before the upgrade or during it. Safe at any
 * time, on any number of processes, beside workers of that release. To be removed together with that schema.
 */
export async function moveDeliveriesOfLastRelease(db: Database): Promise<void> {
  const { rows } = await db.raw<{ rows: [{ is_there: boolean }] }>(
    "select to_regclass('graphile_worker.jobs') is not null as is_there",
  );
  if (!rows[0].is_there) return;
  await db.raw(unlockSql);
  let moved: number;
  do {
    ({ rowCount: moved } = await db.raw<{ rowCount: number }>(moveSql, { max: deliveriesPerStatement }));
  } while (moved === deliveriesPerStatement);
}

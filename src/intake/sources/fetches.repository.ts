import type { Knex } from 'knex';
import { changeRows, queryRows, type Database } from '../../base/db/database';
import { raw, sql, type Sql } from '../../base/db/sql';
import { inTransaction } from '../../base/db/transaction';
import type { PartnerScope } from '../../base/caller';
import { failingAfter } from '../../catalog/partners/attention';

export type FetchStatus = 'queued' | 'running' | 'completed' | 'unchanged' | 'failed' | 'skipped';

/** A fetch of a source, numbered from 1 per source. */
export interface FetchRow {
  fetch_number: number;
  status: FetchStatus;
  /** Null for a fetch on request. */
  slot_at: Date | null;
  /** The name of the requester, if the reader may see it. */
  requested_by: string | null;
  requested_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  attempts: number;
  /** While it is running, the expiry of its worker's lease. */
  next_attempt_at: Date;
  http_status: number | null;
  feed_id: number | null;
  failure_reason: string | null;
}

/** A key that is bound to a partner sees only the names of that partner's keys; all others count as the operator's. */
const shownColumns = (scope: PartnerScope): Sql => sql`
  fetch_number, status, slot_at, requested_at, started_at, finished_at, attempts, next_attempt_at, http_status, feed_id,
  failure_reason,
  case
    when cast(${scope} as text) is null or requested_by is null
      or exists (select from api_keys where key_name = requested_by and partner_name = ${scope})
    then requested_by else 'operator'
  end as requested_by`;

/** Retention of fetches after their end. */
const fetchRetentionDays = 90;

/** Lists fetches of a source before `beforeFetch`, newest first. */
export async function listFetches(
  db: Database,
  sourceId: number,
  scope: PartnerScope,
  { beforeFetch, limit }: { beforeFetch: number; limit: number },
): Promise<FetchRow[]> {
  return queryRows<FetchRow>(
    db,
    sql`select ${shownColumns(scope)} from source_fetches
     where source_id = ${sourceId} and fetch_number < ${beforeFetch} order by fetch_number desc limit ${limit}`,
  );
}

/** Queues a fetch; brings forward a queued one. @returns the fetch; undefined if the source is gone */
export function requestFetch(
  db: Database,
  sourceId: number,
  { requestedBy, scope }: { requestedBy: string; scope: PartnerScope },
): Promise<FetchRow | undefined> {
  return inTransaction(db, 'request', async (trx) => {
    await lockSources(trx, [sourceId]);
    await changeRows(
      trx,
      sql`update source_fetches set next_attempt_at = least(next_attempt_at, now())
       where source_id = ${sourceId} and status = 'queued'`,
    );
    await changeRows(
      trx,
      sql`with source as (
         update sources set fetch_count = fetch_count + 1
         where source_id = ${sourceId} and not exists (${unfinishedSql})
         returning source_id, fetch_count
       )
       insert into source_fetches (source_id, fetch_number, status, requested_by)
       select source_id, fetch_count, 'queued', ${requestedBy} from source`,
    );
    const [fetch] = await queryRows<FetchRow>(
      trx,
      sql`select ${shownColumns(scope)} from source_fetches
       where source_id = ${sourceId} and status in ('queued', 'running')`,
    );
    return fetch;
  });
}

const unfinishedSql = raw(`
  select from source_fetches as unfinished
  where unfinished.source_id = sources.source_id and unfinished.status in ('queued', 'running')`);

/** Locks sources, so that the next statement sees all their fetches. */
async function lockSources(trx: Knex.Transaction, sourceIds: number[]): Promise<void> {
  await queryRows(
    trx,
    sql`select from sources where source_id = any (${sourceIds}) order by source_id for update`,
  );
}

/** A source whose time has come. */
export interface DueSource {
  source_id: number;
  definition: { schedule: { cron: string; time_zone: string } | null; is_enabled: boolean };
  /** Null if only its next slot must be computed again. */
  slot_at: Date | null;
}

/** Locks sources that are due at `now`, and sources that were scheduled at a later time: the clock was set back. */
export async function lockDueSources(trx: Knex.Transaction, now: Date, max: number): Promise<DueSource[]> {
  const nowText = now.toISOString();
  return queryRows<DueSource>(
    trx,
    sql`select source_id, definition, case when next_slot_at <= cast(${nowText} as timestamptz) then next_slot_at end as slot_at
     from sources
     where next_slot_at <= cast(${nowText} as timestamptz) or scheduled_at > cast(${nowText} as timestamptz)
     order by source_id limit ${max}
     for update skip locked`,
  );
}

/** Result of a due slot. */
export interface ScheduledSlot {
  sourceId: number;
  slotAt: Date | null;
  nextSlotAt: Date | null;
  /** When the fetch starts. */
  startAt: Date;
  /** Reason without a fetch, as shown to the partner; null if there is one. */
  failureReason: string | null;
}

/**
 * Queues a fetch for each slot, or records it as failed or skipped. It is skipped while the last fetch or its run has not ended.
 * A slot with a fetch gets no second one. The caller has locked the sources.
 * @returns the sources that have become failing
 */
export async function insertSlots(
  trx: Knex.Transaction,
  slots: ScheduledSlot[],
  now: Date,
): Promise<number[]> {
  const timeOf = (time: Date | null) => time?.toISOString() ?? null;
  const failing = await queryRows<{ source_id: number }>(
    trx,
    sql`with due as (
       select * from unnest(
         cast(${slots.map(({ sourceId }) => sourceId)} as bigint[]), cast(${slots.map(({ slotAt }) => timeOf(slotAt))} as timestamptz[]), cast(${slots.map(({ nextSlotAt }) => timeOf(nextSlotAt))} as timestamptz[]), cast(${slots.map(({ startAt }) => timeOf(startAt))} as timestamptz[]),
         cast(${slots.map(({ failureReason }) => failureReason)} as text[])
       ) as slot (source_id, slot_at, next_slot_at, start_at, failure_reason)
     ), source as (
       update sources
       set next_slot_at = due.next_slot_at, scheduled_at = cast(${now.toISOString()} as timestamptz),
         fetch_count = fetch_count + case when due.slot_at is null then 0 else 1 end,
         failures_in_a_row = failures_in_a_row + case when due.slot_at is null or failure_reason is null then 0 else 1 end
       from due
       where sources.source_id = due.source_id
       returning sources.source_id, fetch_count, failures_in_a_row, due.slot_at, due.start_at, failure_reason,
         case
           when failure_reason is not null then 'failed'
           when exists (${unfinishedSql}) or exists (
             select from validation_jobs as job join runs using (job_id)
             where job.feed_id = last_feed_id and kind = 'load' and runs.status in ('queued', 'running')
           ) then 'skipped'
           else 'queued'
         end as status
     ), recorded as (
       insert into source_fetches (source_id, fetch_number, slot_at, status, next_attempt_at, finished_at, failure_reason)
       select source_id, fetch_count, slot_at, status, start_at, case when status <> 'queued' then clock_timestamp() end,
         failure_reason
       from source
       where slot_at is not null
       on conflict do nothing
       returning source_id, status
     )
     select source_id from source join recorded using (source_id, status)
     where status = 'failed' and failures_in_a_row = ${failingAfter}`,
  );
  return failing.map(({ source_id: sourceId }) => sourceId);
}

/** Fetches that one statement removes. */
const removedPerStatement = 5_000;

/** Removes fetches that ended more than `fetchRetentionDays` ago. */
export async function removeOldFetches(db: Database): Promise<void> {
  await changeRows(
    db,
    sql`delete from source_fetches where (source_id, fetch_number) in (
       select source_id, fetch_number from source_fetches where finished_at < now() - ${fetchRetentionDays} * interval '1 day' limit ${removedPerStatement}
     )`,
  );
}

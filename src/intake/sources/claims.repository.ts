import type { Knex } from 'knex';
import { changeRows, queryRows, type Database } from '../../base/db/database';
import { raw, sql, type Sql } from '../../base/db/sql';
import { inTransaction } from '../../base/db/transaction';
import { failingAfter } from '../../catalog/partners/attention';
import { keepAttention, onePartner } from '../../catalog/partners/keep-attention';
import { publishSourceFailed } from './sources.repository';
import type { SourceDefinition } from './source-definition';

/** Maximum number of concurrent fetches per partner in all processes: other partners need slots beside it. */
export const fetchesPerPartner = 2;

/**
 * Length of a lease, which its worker renews during the fetch. After it, the worker is considered dead, and another makes the next attempt.
 */
export const leaseMilliseconds = 60_000;

/** A fetch to be attempted. */
export interface ClaimedFetch {
  source_id: number;
  fetch_number: number;
  /** Attempts begun, including this one. */
  attempts: number;
  partner_id: number;
  partner_name: string;
  source_name: string;
  definition: SourceDefinition;
  secrets: Buffer | null;
  etag: string | null;
  last_modified: string | null;
  last_feed_id: number | null;
}

/** Identifies an attempt: a worker whose lease has expired changes nothing. */
export type FetchClaim = Pick<ClaimedFetch, 'source_id' | 'fetch_number' | 'attempts'>;

const isClaimed = ({ source_id, fetch_number, attempts }: FetchClaim): Sql =>
  sql`source_id = ${source_id} and fetch_number = ${fetch_number} and attempts = ${attempts} and status = 'running'`;

/** Maximum number of due fetches per claim: more than a partner can have sources, so that it includes several partners. */
const candidatesMax = 1_000;

/** Number of free slots of a process that are reserved for partners without a fetch in progress. */
const slotsForOthers = 2;

/** Partners with fetches in progress, and their number. */
const busySql = raw(`busy as materialized (
       select partner_id, count(*) as running from source_fetches join sources using (source_id)
       where status = 'running' and next_attempt_at > now() group by partner_id
     )`);

const isDue = raw("status in ('queued', 'running') and next_attempt_at <= now()");

/**
 * Claims due fetches, until their lease expires. First one for each partner with nothing in progress, the longest waiting first, then a
 * second one. Two workers can select the same rows: the second one sees, when it has the row lock, that the row is no longer due.
 * @param max - maximum number of fetches
 * @param served - partners that get none; while there are any, no partner gets a second one
 */
export async function claimFetches(
  db: Database,
  max: number,
  served: readonly number[] = [],
): Promise<ClaimedFetch[]> {
  const secondMax = served.length > 0 ? 0 : max - slotsForOthers;
  return queryRows<ClaimedFetch>(
    db,
    sql`with ${busySql}, due as materialized (
       select source_id, source_fetches.fetch_number, next_attempt_at, partner_id, coalesce(running, 0) as running
       from source_fetches join sources using (source_id) left join busy using (partner_id)
       where ${isDue} and coalesce(running, 0) < ${fetchesPerPartner} and partner_id <> all (cast(${served} as bigint[]))
       order by next_attempt_at limit ${candidatesMax}
     ), ranked as (
       select *, running + row_number() over (partition by partner_id order by next_attempt_at) as partner_rank from due
     ), ordered as (
       select *, row_number() over (order by partner_rank, next_attempt_at) as position from ranked
       where partner_rank <= ${fetchesPerPartner}
     ), chosen as (
       select source_id, fetch_number from ordered
       where position <= case when partner_rank = 1 then cast(${max} as integer) else cast(${secondMax} as integer) end
     )
     update source_fetches as claimed
     set status = 'running', attempts = claimed.attempts + 1, started_at = now(),
       next_attempt_at = now() + ${leaseMilliseconds} * interval '1 millisecond'
     from chosen join sources using (source_id) join partners using (partner_id)
     where claimed.source_id = chosen.source_id and claimed.fetch_number = chosen.fetch_number
       and claimed.status in ('queued', 'running') and claimed.next_attempt_at <= now()
     returning claimed.source_id, claimed.fetch_number, claimed.attempts, partner_id, partner_name, source_name, definition,
       secrets, etag, last_modified, last_feed_id`,
  );
}

/** Claims fetches for a process, round robin among the partners. No partner gets a second one while another waits for its first. */
export class RoundRobinClaims {
  private readonly served = new Set<number>();

  constructor(private readonly db: Database) {}

  async claim(max: number): Promise<ClaimedFetch[]> {
    let claimed = await claimFetches(this.db, max, [...this.served]);
    const isRoundOver = claimed.length < max && this.served.size > 0;
    if (isRoundOver) this.served.clear();
    // Claimed fetches are returned at once: a second claim can fail.
    if (isRoundOver && claimed.length === 0) claimed = await claimFetches(this.db, max);
    for (const { partner_id } of claimed) this.served.add(partner_id);
    return claimed;
  }
}

/** Tells whether a fetch is due for a partner without one in progress. */
export async function isPartnerWaiting(db: Database): Promise<boolean> {
  const [row] = await queryRows<{ isWaiting: boolean }>(
    db,
    sql`with ${busySql}
     select exists (
       select from source_fetches join sources using (source_id)
       where ${isDue} and not exists (select from busy where busy.partner_id = sources.partner_id)
     ) as "isWaiting"`,
  );
  return row!.isWaiting;
}

/**
 * Counts the fetches in progress, and measures the wait of the oldest work in seconds; 0 if nothing waits. That is a due fetch that can
 * be claimed, or a slot that no worker has noticed.
 */
export async function measureFetches(db: Database): Promise<{ oldestSeconds: number; running: number }> {
  const [row] = await queryRows<{ oldestSeconds: number; running: number }>(
    db,
    sql`with ${busySql}
     select cast(coalesce((select sum(running) from busy), 0) as double precision) as running,
       cast(greatest(extract(epoch from now() - least(
         (
           select min(next_attempt_at) from source_fetches join sources using (source_id) left join busy using (partner_id)
           where ${isDue} and coalesce(running, 0) < ${fetchesPerPartner}
         ),
         (select min(next_slot_at) from sources)
       )), 0) as double precision) as "oldestSeconds"`,
  );
  return row!;
}

/** Renews the lease. @returns whether the attempt still has it */
export async function renewLease(db: Database, claim: FetchClaim): Promise<boolean> {
  const statement = sql`
    update source_fetches set next_attempt_at = now() + ${leaseMilliseconds} * interval '1 millisecond' where ${isClaimed(claim)}`;
  return (await changeRows(db, statement)) > 0;
}

/** Queues a fetch whose attempt was aborted; the attempt does not count. */
export async function releaseFetch(db: Database, claim: FetchClaim): Promise<void> {
  const statement = sql`
    update source_fetches set status = 'queued', next_attempt_at = now(), attempts = attempts - 1 where ${isClaimed(claim)}`;
  await changeRows(db, statement);
}

/** Validators in the last response, for conditional requests. */
export interface Validators {
  etag: string | null;
  lastModified: string | null;
}

/** End of a fetch whose source responded. */
export interface FetchOutcome {
  status: 'completed' | 'unchanged';
  feedId: number;
  httpStatus: number;
  /** Absent: the source keeps its validators. */
  validators?: Validators;
}

/**
 * Ends a fetch, and resets the failures of its source.
 * @returns whether it did: false if the lease has expired, or the source was deleted or has moved to another partner
 */
export async function endFetch(
  trx: Knex.Transaction,
  claim: FetchClaim & Pick<ClaimedFetch, 'partner_id'>,
  { status, feedId, httpStatus, validators }: FetchOutcome,
): Promise<boolean> {
  const ended = await changeRows(
    trx,
    sql`with source as (
       select source_id, source_name from sources where source_id = ${claim.source_id} and partner_id = ${claim.partner_id} for update
     ), ended as (
       update source_fetches
       set status = ${status}, finished_at = clock_timestamp(), feed_id = ${feedId}, http_status = ${httpStatus},
         failure_reason = null
       from source
       where source_fetches.source_id = source.source_id and fetch_number = ${claim.fetch_number} and attempts = ${claim.attempts}
         and status = 'running'
       returning source_fetches.source_id
     ), feed as (
       update feeds set source_name = source.source_name from source, ended
       where feed_id = ${feedId} and ${status} = 'completed'
     )
     update sources
     set failures_in_a_row = 0, last_feed_id = ${feedId},
       etag = case when ${validators !== undefined} then ${validators?.etag ?? null} else etag end,
       last_modified = case when ${validators !== undefined} then ${validators?.lastModified ?? null} else last_modified end
     from ended where sources.source_id = ended.source_id`,
  );
  if (ended === 0) return false;
  await keepAttention(trx, onePartner(claim.partner_id));
  return true;
}

export interface FailedAttempt {
  /** Until the next attempt; undefined: the fetch has failed. */
  retrySeconds?: number;
  httpStatus?: number;
  /** As shown to the partner. */
  reason: string;
  /** Whether it counts as a failure of the source. */
  counts: boolean;
}

/** Records a failed attempt; publishes source.failed with the last of `failingAfter`. @returns the number of consecutive failures */
export function failAttempt(
  db: Database,
  claim: FetchClaim,
  failed: FailedAttempt,
): Promise<number | undefined> {
  const { retrySeconds, httpStatus, reason, counts } = failed;
  const isLast = retrySeconds === undefined;
  return inTransaction(db, 'request', async (trx) => {
    const [row] = await queryRows<{ failures_in_a_row: number; partner_id: number }>(
      trx,
      sql`with source as (
         select source_id from sources where source_id = ${claim.source_id} for update
       ), failed as (
         update source_fetches
         set status = case when ${isLast} then 'failed' else 'queued' end,
           finished_at = case when ${isLast} then clock_timestamp() end,
           next_attempt_at = now() + ${retrySeconds ?? 0} * interval '1 second', http_status = ${httpStatus ?? null}, failure_reason = ${reason}
         from source
         where source_fetches.source_id = source.source_id and fetch_number = ${claim.fetch_number} and attempts = ${claim.attempts}
           and status = 'running'
         returning source_fetches.source_id
       )
       update sources set failures_in_a_row = failures_in_a_row + cast(${counts ? 1 : 0} as integer)
       from failed where sources.source_id = failed.source_id
       returning failures_in_a_row, partner_id`,
    );
    const failures = row?.failures_in_a_row;
    if (counts && failures === failingAfter) await publishSourceFailed(trx, claim.source_id);
    if (row) await keepAttention(trx, onePartner(row.partner_id));
    return failures;
  });
}

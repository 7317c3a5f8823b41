import type { Knex } from 'knex';
import { queryRows, type Database } from '../../base/db/database';
import { lockSql } from '../../base/db/locks';
import { raw, sql, type Sql } from '../../base/db/sql';
import { inTransaction } from '../../base/db/transaction';
import { publishEventsSql } from '../../base/db/outbox';
import { attentionReasons, failingAfter } from './attention';
import { revertedBySql } from '../changes/reverted-by';
import { cancelledReason, repeatedReason } from '../../base/errors';

/*
 * The reasons for which partners need attention (`KnownAttentionReason` of the document has their meaning). They are computed
 * from feeds, runs, sources and stale partners: at the end of each run and fetch for its partner, and by a periodic check for all
 * partners in parts, for reasons that depend on time and for writes of the last release.
 */

/** Maximum number of newest feeds per partner, and of last runs per feed: bounds the work at the end of a run. */
const feedsMax = 50;
const runsMax = 20;

/*
 * `offset 0` keeps the planner from joining whole tables of jobs and runs: each row is found by its index, independent of
 * statistics.
 */

/** The newest feeds with their jobs. `has_run`: they were loaded, or are in progress. */
const feedSql = sql`
  select asked.partner_id, newest.*, job.job_id, has_run,
    concat_ws('/', mode, collection, is_collection_named, source_name) as series
  from asked cross join lateral (
    select feed_id, uploaded_at, sha256, raw_file_removed_at, mode, collection, is_collection_named, source_name
    from feeds where feeds.partner_id = asked.partner_id
    order by uploaded_at desc, feed_id desc limit ${raw(feedsMax)}
  ) as newest cross join lateral (
    select job_id, status <> 'queued' as has_run
    from validation_jobs where validation_jobs.feed_id = newest.feed_id offset 0
  ) as job`;

const runColumns = raw(`
  job_id, run, kind, status, reverts_run, finished_at, failure_reason, processed, skipped, would_withdraw, prices, price_jumps,
  is_correction`);

/** Their last runs. */
const runSql = sql`
  select feed.partner_id, series, job_run.*
  from feed cross join lateral (
    select ${runColumns} from runs where runs.job_id = feed.job_id order by run desc limit ${raw(runsMax)}
  ) as job_run`;

/** The loads that have ended, without repeated attempts and loads that a person cancelled. */
const endedSql = sql`
  select *, row_number() over (partition by partner_id order by finished_at desc, job_id desc, run desc) as place
  from run
  where kind = 'load' and status in ('completed', 'failed')
    and coalesce(failure_reason, '') not in (${raw(`'${repeatedReason}', '${cancelledReason}'`)})`;

/** The completed loads that are not undone. */
const inForceSql = sql`
  select * from ended
  where status = 'completed' and (
    -- Most jobs have none.
    job_id not in (select job_id from run where kind = 'revert' and status = 'completed')
    or ${revertedBySql(raw('ended.job_id'), raw('ended.run'))} is null
  )`;

/** The last run of each loaded feed. Files of corrected rows belong to the load before them. */
const loadSql = sql`
  select *, row_number() over (partition by partner_id order by finished_at desc, job_id desc) as load_place,
    lead(processed) over series as processed_before,
    cast(skipped as numeric) / greatest(processed, 1) as share,
    lead(cast(skipped as numeric) / greatest(processed, 1), 1) over series as share_before,
    lead(cast(skipped as numeric) / greatest(processed, 1), 2) over series as share_before_that,
    lead(cast(skipped as numeric) / greatest(processed, 1), 3) over series as share_at_first
  from (
    select distinct on (job_id) * from in_force where not is_correction order by job_id, run desc
  ) as last_run
  window series as (partition by partner_id, series order by finished_at desc, job_id desc)`;

/** The last load of each partner, with the skipped rows that no corrected row has replaced. */
const lastLoadSql = sql`
  select load.*, skipped - coalesce(corrected, 0) as still_skipped
  from load cross join lateral (
    select cast(sum(processed - skipped) as bigint) as corrected from in_force as correction
    where correction.partner_id = load.partner_id and correction.is_correction
      and correction.finished_at > load.finished_at
  ) as corrections
  where load_place = 1`;

/** The last load with information about prices. An update without a price column has none. */
const pricedSql = sql`
  select distinct on (partner_id) * from in_force
  where not is_correction and prices is not null order by partner_id, finished_at desc, job_id desc, run desc`;

/** Partners whose last run has failed, and the feeds whose run has failed since one completed. */
const failedSql = sql`
  select partner_id, last.finished_at, last.would_withdraw, last.price_jumps, count(distinct failed.job_id) as failed_feeds
  from ended as last join ended as failed using (partner_id) left join (
    select partner_id, min(place) as place from ended where status = 'completed' group by partner_id
  ) as completed using (partner_id)
  where last.place = 1 and last.status = 'failed' and (completed.place is null or failed.place < completed.place)
  group by partner_id, last.finished_at, last.would_withdraw, last.price_jumps`;

/** Feeds that were uploaded after all feeds that were run, except feeds that repeat one of them, or cannot be run. */
const waitingSql = sql`
  with tried as materialized (
    select *, has_run or job_id in (
      select job_id from run where kind = 'load' and status <> 'cancelled'
    ) as was_run from feed
  )
  select partner_id, uploaded_at from tried
  where not was_run and raw_file_removed_at is null and not exists (
    select from tried as other where other.partner_id = tried.partner_id and other.was_run and (
      (other.uploaded_at, other.feed_id) > (tried.uploaded_at, tried.feed_id)
      or (other.sha256, other.series) = (tried.sha256, tried.series)
    )
  )`;

const failingSql = sql`
  select sources.partner_id, case when last.status = 'failed' then finished_at end as failed_at
  from asked join sources using (partner_id) left join lateral (
    select status, finished_at from source_fetches
    where source_fetches.source_id = sources.source_id and status in ('completed', 'unchanged', 'failed')
    order by fetch_number desc limit 1
  ) as last on true
  where definition ->> 'is_enabled' = 'true'
    and (failures_in_a_row >= ${raw(failingAfter)} or (failures_in_a_row > 0 and last.status = 'failed'))`;

/** A run that has completed since ends the staleness before the next check does. */
const staleSql = sql`
  select stale_partners.partner_id, coalesce(nullif(completed_at, '-infinity'), least(
    (select min(uploaded_at) from feeds where feeds.partner_id = stale_partners.partner_id),
    (select min(created_at) from sources where sources.partner_id = stale_partners.partner_id)
  )) as counted_from
  from asked join stale_partners using (partner_id)
  where is_stale and completed_at >= coalesce(
    (select max(last_completed_at) from partner_counts where partner_counts.partner_id = stale_partners.partner_id),
    '-infinity'
  )`;

/** All reasons, with the time of their beginning if it is known. */
const reasonsSql = sql`
  select partner_id,
    case when would_withdraw is null then 'last_run_failed' else 'withdrawals_blocked' end as reason,
    finished_at as since, coalesce(would_withdraw, failed_feeds) as count
  from failed
  union all
  select partner_id, 'price_jump', finished_at, price_jumps from failed where price_jumps is not null
  union all
  select partner_id, 'price_jump', finished_at, price_jumps from last_load where price_jumps is not null
  union all
  select partner_id, 'no_prices', finished_at, processed - skipped from priced
  where prices = 'none' or (prices = 'absent' and exists (
    select from in_force as earlier
    where earlier.partner_id = priced.partner_id and earlier.prices = 'some' and earlier.finished_at < priced.finished_at
  ))
  union all
  select partner_id, 'source_failing', min(coalesce(failed_at, now())), count(*) from failing group by partner_id
  union all
  select partner_id, 'much_smaller', finished_at, processed_before - processed from last_load
  where processed_before >= 20 and 2 * processed < processed_before
  union all
  select partner_id, 'many_skipped', finished_at, still_skipped from last_load
  where still_skipped >= 5 and 10 * still_skipped >= processed
  union all
  select partner_id, 'more_skipped', finished_at, skipped from last_load
  where 20 * skipped >= processed and share > share_before and share_before > share_before_that
    and share_before_that > coalesce(share_at_first, 0)
  union all
  select partner_id, 'stale', now(), cast(floor(extract(epoch from now() - counted_from) / 86400) as bigint) from stale where counted_from is not null
  union all
  select partner_id, 'never_run', min(uploaded_at) + interval '24 hours', count(*) from waiting
  group by partner_id having min(uploaded_at) <= now() - interval '24 hours'`;

/**
 * Computes the reasons of the partners, and writes and publishes the differences. Two parts for one reason are merged: the reason
 * has the earlier beginning and the larger count.
 */
const keepSql = (ids: readonly number[]) => sql`
  with asked as materialized (
    select partner_id from partners where partner_id = any (cast(${ids} as bigint[]))
  ), feed as materialized (${feedSql}
  ), run as materialized (${runSql}
  ), ended as materialized (${endedSql}
  ), in_force as materialized (${inForceSql}
  ), load as materialized (${loadSql}
  ), last_load as materialized (${lastLoadSql}
  ), priced as materialized (${pricedSql}
  ), failed as materialized (${failedSql}
  ), waiting as materialized (${waitingSql}
  ), failing as materialized (${failingSql}
  ), stale as materialized (${staleSql}
  ), wanted as materialized (
    select partner_id, reason, severity, min(since) as since, max(count) as count
    from (${reasonsSql}) as found
    join unnest(array[${raw(`'${attentionReasons.join("', '")}'`)}]) with ordinality as known (reason, severity) using (reason)
    group by partner_id, reason, severity
  ), went as (
    delete from partner_attention as had
    where partner_id = any (cast(${ids} as bigint[])) and not exists (
      select from wanted where (wanted.partner_id, wanted.reason) = (had.partner_id, had.reason)
    )
    returning partner_id, reason, since, count
  ), counted as (
    update partner_attention as had set count = wanted.count, severity = wanted.severity from wanted
    where had.partner_id = any (cast(${ids} as bigint[])) and (wanted.partner_id, wanted.reason) = (had.partner_id, had.reason)
      and (wanted.count, wanted.severity) <> (had.count, had.severity)
  ), came as (
    insert into partner_attention (partner_id, reason, severity, since, count)
    select partner_id, reason, severity, since, count from wanted
    on conflict (partner_id, reason) do nothing
    returning partner_id, reason, since, count
  )
  ${publishEventsSql(sql`
    select 'partner.attention' as event_type, partner_name, json_build_object(
      'partner_name', partner_name, 'reason', reason, 'since', since, 'count', count, 'is_over', is_over
    ) as content
    from (select *, true as is_over from went union all select *, false from came) as change join partners using (partner_id)
    order by partner_id, reason
  `)}`;

/**
 * Locks the reasons of partners until the transaction ends, by ascending number. These locks are the last ones of a transaction,
 * all acquired by one call: they can delay a transaction, but not cause a deadlock.
 */
const lockReasonsSql = (which: Sql): Sql => sql`
  select partner_id, ${lockSql('attention', raw('partner_id'))}
  from (select partner_id from (${which}) as asked order by partner_id offset 0) as asked`;

/**
 * Updates the reasons of some partners from their current data, and publishes partner.attention. Publishes reasons that begin or end, but
 * none of removed partners. Concurrent calls for a partner are serialized.
 * Call it once, at the end of the transaction of a change, which must not wait for further locks.
 * @param which - selects `partner_id`; duplicates count once
 */
export async function keepAttention(db: Database, which: Sql): Promise<void> {
  const ids = await readPartnerIds(db, lockReasonsSql(which));
  if (ids.length > 0) await queryRows(db, keepSql(ids));
}

async function readPartnerIds(db: Database, which: Sql): Promise<number[]> {
  const rows = await queryRows<{ partner_id: number }>(db, which);
  return rows.map(({ partner_id }) => partner_id);
}

export const allPartners = (partnerIds: readonly number[]): Sql =>
  sql`select unnest(cast(${partnerIds} as bigint[])) as partner_id`;

export const onePartner = (partnerId: number): Sql => allPartners([partnerId]);

export const partnersOfJobs = (jobIds: readonly number[]): Sql =>
  sql`select partner_id from feeds join validation_jobs using (feed_id) where job_id = any (${jobIds})`;

/** Number of partners that one transaction checks. */
const partnersPerBatch = 100;

/**
 * Checks the next partners by number, in small transactions, for changes that no other call has seen. Safe concurrently.
 * @param after - number of the last partner that was checked; 0 at first
 * @param max - number of partners; it is rounded up to a whole batch
 * @returns the number of the last partner of this check; 0 if there are no more
 */
export async function checkAttention(db: Database, after: number, max: number): Promise<number> {
  let last = after;
  for (let checked = 0; checked < max; checked += partnersPerBatch) {
    last = await inTransaction(db, 'request', (trx) => checkBatch(trx, last));
    if (last === 0) break;
  }
  return last;
}

/** Removed partners may have reasons too: release 1.2.0 leaves them. */
async function checkBatch(trx: Knex.Transaction, after: number): Promise<number> {
  const ids = await readPartnerIds(
    trx,
    sql`
    select partner_id from partners where partner_id > ${after}
    union select partner_id from partner_attention where partner_id > ${after}
    order by partner_id limit ${partnersPerBatch}`,
  );
  await keepAttention(trx, allPartners(ids));
  return ids.length < partnersPerBatch ? 0 : ids.at(-1)!;
}

import type { Knex } from 'knex';
import { queryRows, type Database } from '../../base/db/database';
import { onlyLock, tryLock } from '../../base/db/locks';
import { sql, type Sql } from '../../base/db/sql';
import { inTransaction } from '../../base/db/transaction';
import { publishEventsSql } from '../../base/db/outbox';
import { allPartners, keepAttention } from '../../catalog/partners/keep-attention';
import { withNumbersSql } from '../../catalog/partners/partners.repository';

/** Number of partners that one transaction records. */
const partnersPerBatch = 500;

/**
 * Partners without a completed feed for the minimum days of their enabled sources, or else `days`. Before their first
 * completed feed, the days count from the first feed or source. Malformed days, after a restore, count as none.
 */
const staleSql = (days: number | null): Sql => sql`
  stale as materialized (
    select partner_id, coalesce(completed_at, '-infinity') as completed_at
    from (
      select partner_id, coalesce(expected.days, cast(${days} as integer)) as days
      from partners left join (
        select partner_id, min(cast(definition ->> 'stale_after_days' as integer)) as days
        from sources
        where definition ->> 'stale_after_days' is not null and definition ->> 'stale_after_days' ~ '^[0-9]{1,5}$'
          and definition ->> 'is_enabled' = 'true'
        group by partner_id
      ) as expected using (partner_id)
      where expected.days is not null or cast(${days} as integer) is not null
    ) as partner
    cross join lateral (
      select max(last_completed_at) as completed_at from partner_counts
      where partner_counts.partner_id = partner.partner_id
    ) as last
    where now() - make_interval(hours => 24 * days) > coalesce(completed_at, least(
      (select min(uploaded_at) from feeds where feeds.partner_id = partner.partner_id),
      (select min(created_at) from sources where sources.partner_id = partner.partner_id)
    ))
  )`;

/** Updates staleness that has changed: by a run that completed later, or by other days. */
const updateKnownSql = (days: number | null): Sql => sql`
  with ${staleSql(days)}, changed as (
    select partner_id from stale_partners
    where is_stale <> exists (select from stale where stale.partner_id = stale_partners.partner_id)
    order by partner_id limit ${partnersPerBatch}
  )
  update stale_partners set is_stale = not is_stale from changed
  where stale_partners.partner_id = changed.partner_id
  returning stale_partners.partner_id`;

/** A partner that is stale for the first time since its last completed run. */
const insertNewSql = (days: number | null): Sql => sql`
  with ${staleSql(days)}
  insert into stale_partners as known (partner_id, completed_at, is_stale)
  select partner_id, completed_at, true
  from stale
  where not exists (
    select from stale_partners as noticed
    where noticed.partner_id = stale.partner_id and noticed.completed_at >= stale.completed_at
  )
  order by partner_id limit ${partnersPerBatch}
  on conflict (partner_id) do update set completed_at = excluded.completed_at, is_stale = true
  returning partner_id`;

const publishStaleSql = (partnerIds: number[]): Sql => {
  const partners = sql`(select partner_id, partner_name from partners where partner_id = any (${partnerIds}))`;
  return publishEventsSql(sql`
    select 'partner.stale' as event_type, partner_name, to_json(partner) as content
    from (${withNumbersSql(partners)}) as partner`);
};

/**
 * Finds the stale partners, and publishes partner.stale, once per completed feed that was the last one for too long. Safe
 * concurrently: one process works at a time.
 * @param days - undefined: only the days of sources count
 * @returns the number of partners that became stale
 */
export async function noticeStalePartners(db: Database, days: number | undefined): Promise<number> {
  for (let noticed = 0; ;) {
    const batch = await inTransaction(db, 'request', (trx) => noticeBatch(trx, days ?? null));
    noticed += batch.noticed;
    if (Math.max(batch.noticed, batch.changed) < partnersPerBatch) return noticed;
  }
}

/** @returns how many partners became stale for the first time, and how many others changed */
async function noticeBatch(
  trx: Knex.Transaction,
  days: number | null,
): Promise<{ noticed: number; changed: number }> {
  if (!(await tryLock(trx, 'stalePartners', onlyLock.stalePartners))) return { noticed: 0, changed: 0 };
  const partnersOf = async (statement: Sql) =>
    (await queryRows<{ partner_id: number }>(trx, statement)).map(({ partner_id }) => partner_id);
  const known = await partnersOf(updateKnownSql(days));
  const noticed = await partnersOf(insertNewSql(days));
  if (known.length + noticed.length > 0) await keepAttention(trx, allPartners([...known, ...noticed]));
  // In the same transaction as the attention of the partner; waits for no lock.
  if (noticed.length > 0) await queryRows(trx, publishStaleSql(noticed));
  return { noticed: noticed.length, changed: known.length };
}

export async function countStalePartners(db: Database): Promise<number> {
  const statement = sql`select cast(count(*) as integer) as count from stale_partners where is_stale`;
  const [row] = await queryRows<{ count: number }>(db, statement);
  return row!.count;
}

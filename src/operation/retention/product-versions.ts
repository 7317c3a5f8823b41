import type { Knex } from 'knex';
import { queryRows } from '../../base/db/database';
import { sql, type Sql } from '../../base/db/sql';

/** Rows per transaction, a few milliseconds. */
const batchRows = 500;

/** Number of changes per batch: most have ended more versions. */
const batchChanges = 20;

/** The last load of each collection of a partner can be undone at any age. */
const keptSql = sql`
  select max(run_id) as run_id
  from catalog_versions join validation_jobs using (job_id) join feeds using (feed_id)
  group by feeds.partner_id, collection`;

/**
 * Versions of products that ended long ago, by the numbers of the changes `among` that ended them. Keeps versions that a kept change
 * has ended or begun, and all later versions of these products: their history has no gap.
 */
const versionsSql = (among: Sql, kept: readonly number[]) => sql`
  product_versions as version
  where until_run_id in (${among}) and not exists (
    select from product_versions as earlier
    where (earlier.partner_id, earlier.product_id) = (version.partner_id, version.product_id)
      and (
        (earlier.until_run_id < version.until_run_id and earlier.until_run_id = any (${kept}))
        or (earlier.until_run_id <= version.until_run_id and earlier.run_id = any (${kept}))
      )
  )`;

const expiredSql = (days: number, kept: readonly number[]) => sql`
  select run_id from catalog_versions
  where effective_at < now() - ${days} * interval '1 day' and run_id <> all (${kept})`;

/** Numbers of removed versions, and the approximate bytes of their rows, without indexes. */
export interface RemovedVersions {
  rows: number;
  bytes: number;
}

/** Counts the versions that `removeExpiredVersions` would remove. */
export async function countExpiredVersions(trx: Knex.Transaction, days: number): Promise<RemovedVersions> {
  const kept = await listKept(trx);
  const [removed] = await queryRows<RemovedVersions>(
    trx,
    sql`select count(*) as rows, cast(coalesce(sum(pg_column_size(version)), 0) as bigint) as bytes
     from ${versionsSql(expiredSql(days, kept), kept)}`,
  );
  return removed!;
}

/** Lists the changes whose versions are kept at any age. */
export async function listKept(trx: Knex.Transaction): Promise<number[]> {
  const rows = await queryRows<{ run_id: number }>(trx, keptSql);
  return rows.map(({ run_id }) => run_id);
}

/**
 * Removes a batch of versions that ended more than `days` ago, the oldest first. Marks the changes that ended them: reads then
 * know where the kept history begins.
 * @param kept - the result of `listKept`
 * @param from - the last change of the previous batch: earlier ones are skipped
 * @returns undefined when there are none
 */
export async function removeExpiredVersions(
  trx: Knex.Transaction,
  days: number,
  kept: number[],
  from = 0,
): Promise<(RemovedVersions & { last: number }) | undefined> {
  const [removed] = await queryRows<RemovedVersions & { last: number | null }>(
    trx,
    sql`with change as materialized (
       ${expiredSql(days, kept)} and run_id >= ${from}
         and exists (select from ${versionsSql(sql`catalog_versions.run_id`, kept)})
       order by run_id limit ${batchChanges}
     ), expired as materialized (
       select partner_id, product_id, until_run_id, pg_column_size(version) as bytes
       from ${versionsSql(sql`select run_id from change`, kept)}
       order by until_run_id limit ${batchRows}
     ), removed as (
       delete from product_versions where (partner_id, product_id, until_run_id) in (
         select partner_id, product_id, until_run_id from expired
       )
     ), marked as (
       update catalog_versions set pruned_at = now()
       where run_id in (select until_run_id from expired) and pruned_at is null
     )
     select count(*) as rows, cast(coalesce(sum(bytes), 0) as bigint) as bytes, max(until_run_id) as last from expired`,
  );
  const { last, ...counts } = removed!;
  return last === null ? undefined : { ...counts, last };
}

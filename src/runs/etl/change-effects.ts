import { queryRows, type Database } from '../../base/db/database';
import { productLayout } from '../../base/db/layout/product-layout';
import { raw, sql, type Sql } from '../../base/db/sql';
import { changingFields } from './field-changes';

/*
 * A change of a catalog in the history: each product that it wrote, before the change, after it, and now. Lists of a run's changes
 * and reverts read the same. A product has no version before the change that inserted it.
 */

/** A change by a run of a job. `feedId` is the feed of the job. */
export interface RunChange {
  partnerId: number;
  feedId: number;
  runId: number;
}

/** Columns that a revert restores, and that show whether a product differs from the change's result. */
const writtenColumns = ['feed_id', 'record_offset', 'collection', 'withdrawn_at', ...changingFields] as const;

/** Versions of the products of a page that the change ended, and versions that a later change ended. */
const versionedSql = ({ partnerId, runId }: RunChange, afterProduct: number, limit: number) => sql`
  (
    select product_id from product_versions
    where until_run_id = ${runId} and partner_id = ${partnerId} and product_id > ${afterProduct}
    order by product_id limit ${limit}
  ) union (
    select product_id from product_versions
    where run_id = ${runId} and partner_id = ${partnerId} and product_id > ${afterProduct}
    order by product_id limit ${limit}
  )`;

/** Products of a page that the change inserted, with its feed, and that no change wrote since. All others have a version. */
const insertedSql = ({ partnerId, feedId, runId }: RunChange, afterProduct: number) => sql`
  select product_id from products
  where partner_id = ${partnerId} and feed_id = ${feedId} and run_id = ${runId} and product_id > ${afterProduct}`;

/** The condition that restricts a statement to these products. */
export const isNamed = (productIds: readonly string[]) =>
  sql`product_id = any (cast(${productIds} as bigint[]))`;

export type EffectTime = 'before' | 'after' | 'now' | 'target';

/** The value of a column: after the change, or after a revert. */
export function valueOf(time: EffectTime, column: string): string {
  switch (time) {
    case 'after':
      return `case when after.product_id is null then now.${column} else after.${column} end`;
    case 'target': {
      const inserted =
        column === 'withdrawn_at' ? 'coalesce(now.withdrawn_at, statement_timestamp())' : `now.${column}`;
      return `case when before.product_id is null then ${inserted} else before.${column} end`;
    }
    default:
      return `${time}.${column}`;
  }
}

const rowOf = (time: EffectTime, columns: readonly string[]) =>
  `(${columns.map((column) => valueOf(time, column)).join(', ')})`;

/** The condition that columns differ between two times. */
export const isDistinct = (one: EffectTime, other: EffectTime, columns: readonly string[]) =>
  raw(`(${rowOf(one, columns)} is distinct from ${rowOf(other, columns)})`);

/**
 * Effects of the change with `columns`. Products deleted since have none, nor have products that were only changed by hand: the
 * version before is external, and its record and collection stayed the same.
 * Statistics cannot know a recent change: PostgreSQL expects one row, and would read all rows of the change for each row. A full
 * join is always a hash or merge join. It stays one as no condition says that `now` exists by a plain column.
 * @param now - the products of the partner, or the named ones
 * @param named - restricts the versions to the same products
 */
export const effectsSql = (
  { partnerId, feedId, runId }: RunChange,
  columns: string,
  now: Sql,
  named: Sql,
) => sql`
  select now.product_id, now.sku, ${raw(columns)},
    before.product_id is null as is_new,
    ${isDistinct('target', 'now', writtenColumns)} as is_needed,
    ${isDistinct('now', 'after', writtenColumns)} as is_changed_since
  from (${now}) as now full join (
    select * from product_versions where partner_id = ${partnerId} and until_run_id = ${runId} and ${named}
  ) as before on before.product_id = now.product_id full join (
    select * from product_versions where partner_id = ${partnerId} and run_id = ${runId} and ${named}
  ) as after on after.product_id = now.product_id
  where coalesce(now.product_id, 0) > 0
    and (before.product_id is not null or after.product_id is not null or now.feed_id = ${feedId} and now.run_id = ${runId})
    and not (
      coalesce(before.is_external, false) and not ${isDistinct('before', 'after', ['feed_id', 'record_offset', 'collection'])}
      and (before.withdrawn_at is null) = (${raw(valueOf('after', 'withdrawn_at'))} is null)
    )`;

/** Maximum number of changes with look-ups of products by number, 7 µs each. For more, all of the partner are read, 1 µs each. */
const lookUpsMax = 50_000;

/**
 * Builds a query of the effects of a revert: the restored values, withdrawals, and whether the product needs the revert
 * (`is_needed`) and is as the change left it (`not is_changed_since`), in its row version `seen_version`.
 */
export function revertEffects(db: Database, change: RunChange, use: EffectUse): Promise<Sql> {
  const columns = writtenColumns.map((column) => `${valueOf('target', column)} as ${column}`);
  const shown = `now.partner_id, now.seen_version, now.withdrawn_at is not null as was_withdrawn, ${columns.join(', ')}`;
  return allEffects(db, change, shown, use);
}

/** `to write`: the query reads the working copy, if there is one, with the versions of its rows. */
type EffectUse = 'to read' | 'to write';

/** Builds a query of all effects of a change with `columns`. */
export async function allEffects(
  db: Database,
  change: RunChange,
  columns: string,
  use: EffectUse = 'to read',
): Promise<Sql> {
  const { partnerId } = change;
  const productIds = await listTouched(db, change, 0, lookUpsMax + 1);
  const isFew = productIds.length <= lookUpsMax;
  const named = isFew ? isNamed(productIds) : raw('true');
  const version = raw(use === 'to write' ? 'xmin' : 'null');
  const effects = effectsSql(
    change,
    columns,
    sql`select *, ${version} as seen_version from products where partner_id = ${partnerId} and ${named}`,
    named,
  );
  if (use === 'to write') return effects;
  const { table, readBefore } = await productLayout(db);
  const written = sql`
    select * from ${table} as stored where partner_id = ${partnerId} and ${isFew ? named : isWritten(change)}`;
  return sql`${readBefore(written)} ${effects}`;
}

/** The condition that the change wrote a product. */
function isWritten({ partnerId, feedId, runId }: RunChange): Sql {
  const ids = sql`select product_id from product_versions where partner_id = ${partnerId}`;
  return sql`(
    feed_id = ${feedId} and run_id = ${runId}
    or product_id in (${ids} and until_run_id = ${runId} union ${ids} and run_id = ${runId})
  )`;
}

/** The assignments of a revert, from a relation with the columns of `revertEffects`. */
export const assignmentsSql = (from: string) =>
  raw(writtenColumns.map((column) => `${column} = ${from}.${column}`).join(', '));

/** Lists the first products after a number that the change wrote. Shards have no versions: these are read separately. */
export async function listTouched(
  db: Database,
  change: RunChange,
  afterProduct: number,
  limit: number,
): Promise<string[]> {
  const listIds = async (touched: Sql) => {
    const rows = await queryRows<{ product_id: number }>(
      db,
      sql`select product_id from (${touched}) as touched order by product_id limit ${limit}`,
    );
    return rows.map(({ product_id }) => product_id);
  };
  const ids = [
    ...(await listIds(versionedSql(change, afterProduct, limit))),
    ...(await listIds(insertedSql(change, afterProduct))),
  ];
  return [...new Set(ids)]
    .sort((one, other) => one - other)
    .slice(0, limit)
    .map(String);
}

/** A change of a run with its history; null: the run has changed nothing. */
export type KeptChange = { change: RunChange | null } | 'not kept';

/**
 * Finds the change that a completed run made. Its history is kept unless retention has removed versions that the change, or a
 * later one, has ended; retention keeps the versions of the last change of each collection.
 * @param isCounted - whether the run has changed products
 */
export async function findRunChange(
  db: Database,
  at: { jobId: number; run: number },
  isCounted: boolean,
): Promise<KeptChange> {
  const [found] = await queryRows<RunChange & { isKept: boolean }>(
    db,
    sql`select change.run_id as "runId", change.partner_id as "partnerId", feed_id as "feedId",
       change.pruned_at is null and (
         not exists (
           select from catalog_versions as later
           where later.partner_id = change.partner_id and later.run_id > change.run_id and later.pruned_at is not null
         ) or change.run_id = (
           select max(run_id)
           from catalog_versions as other join validation_jobs using (job_id) join feeds as loaded using (feed_id)
           where other.partner_id = feeds.partner_id and loaded.partner_id = feeds.partner_id and loaded.collection = feeds.collection
         )
       ) as "isKept"
     from catalog_versions as change join validation_jobs using (job_id) join feeds using (feed_id)
     -- By the index of the partner: the changes of all partners are many.
     where (job_id, run) = (${at.jobId}, ${at.run}) and change.partner_id = feeds.partner_id`,
  );
  if (!found) return isCounted ? 'not kept' : { change: null };
  const { isKept, ...change } = found;
  return isKept ? { change } : 'not kept';
}

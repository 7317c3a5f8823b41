import type { Knex } from 'knex';
import { queryRows, queryRowsWithin } from '../../base/db/database';
import { raw, sql, type Sql } from '../../base/db/sql';
import { revertEffects, type RunChange } from './change-effects';
import { etlWorkMemMegabytes } from './staging';

/** Numbers of products that a revert would change, leave, or overwrite. */
export interface RevertCounts {
  updated: number;
  withdrawn: number;
  restored: number;
  unchanged: number;
  conflicts: number;
}

/** Counts of effects, and `more`, from a relation with the columns of `revertEffects`. */
export const revertCountsSql = (from: Sql, more = raw('')) => sql`
  select count(*) filter (where is_done and not is_withdrawal) as updated,
    count(*) filter (where is_done and is_withdrawal) as withdrawn,
    count(*) filter (where is_done and was_withdrawn and withdrawn_at is null) as restored,
    count(*) filter (where not is_needed) as unchanged,
    count(*) filter (where is_needed and is_changed_since) as conflicts ${more}
  from (
    select *, is_needed and not is_changed_since as is_done,
      not was_withdrawn and withdrawn_at is not null as is_withdrawal
    from ${from}
  ) as effect`;

const firstSql = (which: Sql, count: number) =>
  sql`coalesce((array_agg(cast(product_id as text) order by product_id) filter (where ${which}))[1 : ${raw(count)}], '{}')`;

/** The first products of the lists of a revert. */
interface FirstProducts {
  /** One more than fit into the page. */
  revertedIds: string[];
  conflictIds: string[];
}

/** Timeout of a statement over all products of a change, longer than for requests: some 3 s for a million, a revert more. */
export const wholeReadMilliseconds = 60_000;

/** Raises the limits of a transaction for such statements. */
export async function allowWholeRead(trx: Knex.Transaction): Promise<void> {
  await queryRows(
    trx,
    sql`set local statement_timeout = ${raw(wholeReadMilliseconds)}; set local work_mem = '${raw(etlWorkMemMegabytes)}MB'`,
  );
}

/** Counts the effects of a revert now, and finds the products of a page and the first conflicts. */
export async function countRevert(
  trx: Knex.Transaction,
  change: RunChange,
  page: { afterProduct: number; limit: number; conflictsMax: number },
): Promise<{ counts: RevertCounts } & FirstProducts> {
  await allowWholeRead(trx);
  const effects = await revertEffects(trx, change, 'to read');
  const isAfter = sql`is_done and product_id > ${page.afterProduct}`;
  const statement = revertCountsSql(
    sql`(${effects}) as reverted`,
    sql`, ${firstSql(isAfter, page.limit + 1)} as "revertedIds",
    ${firstSql(raw('is_needed and is_changed_since'), page.conflictsMax)} as "conflictIds"`,
  );
  const [found] = await queryRowsWithin<RevertCounts & FirstProducts>(trx, wholeReadMilliseconds, statement);
  const { revertedIds, conflictIds, ...counts } = found!;
  return { counts, revertedIds, conflictIds };
}

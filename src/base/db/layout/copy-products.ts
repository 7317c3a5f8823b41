import type { Knex } from 'knex';
import { queryRows } from '../database';
import { raw, sql, type Sql } from '../sql';
import type { Fill } from './layout-interface';

/*
 * Fills of a working copy. Statements name the partner by a literal number, so that they read only its shard. Queries over local
 * tables have no bindings: a utility statement takes none.
 */

/** Number of keys up to which each is looked up; beyond, all products of the partner are read. */
const lookUpsMax = 50_000;

const copySql = (table: Sql) =>
  sql`insert into pg_temp.products select products.*, products.xmin from ${table} as products`;

/** Copies the products of a partner that satisfy a condition. */
export const copyWhere =
  (partnerId: number, condition: Sql): Fill =>
  async (trx, table) => {
    await queryRows(
      trx,
      sql`${copySql(table)} where products.partner_id = ${raw(partnerId)} and ${condition} on conflict do nothing`,
    );
  };

/** Copies the first products of a partner by number. */
export const copyFirst =
  (partnerId: number, limit: number): Fill =>
  async (trx, table) => {
    await queryRows(
      trx,
      sql`${copySql(table)} where partner_id = ${raw(partnerId)} order by product_id limit ${raw(limit)}`,
    );
  };

/**
 * Copies the products of a partner with the keys of a query over local tables.
 * @param key - the column: `sku` or `product_id`
 */
export const copyByKey =
  (partnerId: number, key: 'sku' | 'product_id', keys: Sql): Fill =>
  async (trx, table) => {
    const [found] = await queryRows<{ count: number }>(
      trx,
      sql`select count(*) as count from (select from (${keys}) as keys limit ${raw(lookUpsMax + 1)}) as first_keys`,
    );
    const { count } = found!;
    if (count === 0) return;
    const copyKeys = (isKey: Sql) =>
      sql`${copySql(table)} where partner_id = ${raw(partnerId)} and ${raw(key)} ${isKey} on conflict do nothing`;
    if (count > lookUpsMax) await queryWithoutNestedLoops(trx, copyKeys(sql`in (${keys})`));
    else
      await queryRows(
        trx,
        sql`do $do$ begin execute $sql$${copyKeys(raw('= any ($1)'))}$sql$ using array(${keys}); end $do$`,
      );
  };

/** Copies the products of a partner that satisfy a condition, except for the skus of a query over local tables. */
export const copyUnnamed =
  (partnerId: number, condition: Sql, skus: Sql): Fill =>
  (trx, table) =>
    queryWithoutNestedLoops(
      trx,
      sql`${copySql(table)} left join (${skus}) as named on named.sku = products.sku
       where products.partner_id = ${raw(partnerId)} and ${condition} and named.sku is null
       on conflict do nothing`,
    );

/**
 * Executes a statement that joins products of one shard with rows of the coordinator. The shard does not know the number of these
 * rows: a nested loop of many may not end.
 */
export async function queryWithoutNestedLoops(trx: Knex.Transaction, statement: Sql): Promise<void> {
  // Citus sends the whole text of a batch: each of these is a statement of its own.
  await queryRows(trx, raw("set local citus.propagate_set_commands = 'local'"));
  await queryRows(trx, raw('set local enable_nestloop = off'));
  await queryRows(trx, statement);
  await queryRows(trx, raw('set local enable_nestloop to default'));
  await queryRows(trx, raw("set local citus.propagate_set_commands = 'none'"));
}

import type { Knex } from 'knex';
import { queryRows } from '../../base/db/database';
import { raw, sql, type Sql } from '../../base/db/sql';

/*
 * Plans of the statements that lock and write compared products. PostgreSQL would read the whole table, also the products of other
 * partners, for a twentieth of them. No plan depends on statistics of the partner, which may be absent.
 */

/**
 * Tells whether a product is the one of a row. Only an index by number can find it: an equality of partners could use any index of the
 * partner, and read all of its products for each row.
 */
export const isProductOf = (row: Sql): Sql => sql`
  products.product_id = ${row}.product_id
  and (products.partner_id, products.sku) is not distinct from (${row}.partner_id, ${row}.sku)`;

/** Joins that are not nested loops are off. PostgreSQL expects few rows of `isProductOf`, and joins products last. */
const settings = { enable_hashjoin: 'off', enable_mergejoin: 'off', from_collapse_limit: '1' };

const set = (valueOf: (value: string) => string): Sql =>
  raw(
    Object.entries(settings)
      .map(([name, value]) => `set local ${name} to ${valueOf(value)}`)
      .join('; '),
  );

/**
 * Makes PostgreSQL look up each product that `work` locks or writes, by `isProductOf`. An error of `work` must roll the transaction
 * or its savepoint back.
 */
export async function lookUpProducts(trx: Knex.Transaction, work: () => Promise<void>): Promise<void> {
  await queryRows(
    trx,
    set((value) => value),
  );
  await work();
  await queryRows(
    trx,
    set(() => 'default'),
  );
}

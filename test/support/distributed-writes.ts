import type { Knex } from 'knex';
import type { Client } from 'pg';
import type { Database } from '../../src/base/db/database';
import { connectionOf } from '../../src/base/db/dialect';
import { productLayout, takeWorkingCopy, writeBack } from '../../src/base/db/layout/product-layout';

export const isDistributed = async (db: Database) =>
  (await productLayout(db)).choose({ plain: false, distributed: true });

/** A statement of a test that writes products. */
const writesProducts = /\b(insert into|update|delete from) "?products"?\b/i;

type Query = (connection: Client, statement: { sql: string }) => Promise<unknown>;

/** Changes products in a transaction. Distributed ones are changed in a working copy, whose triggers record the changes. */
export async function changeProducts<T>(
  db: Database,
  work: (trx: Knex.Transaction) => Promise<T>,
): Promise<T> {
  if (!(await isDistributed(db))) return db.transaction(work);
  return db.transaction(async (trx) => {
    await takeWorkingCopy(trx, [
      async (_, table) => {
        await trx.raw(
          `insert into pg_temp.products select products.*, products.xmin from ${table.sql} as products`,
        );
      },
    ]);
    const result = await work(trx);
    const { rows } = await trx.raw<{ rows: { partner_id: number }[] }>(
      `select partner_id from pg_temp.products union select partner_id from pg_temp.changed_products_of_copy`,
    );
    await writeBack(
      trx,
      rows.map(({ partner_id }) => partner_id),
    );
    // Creation times that a test has changed are inserted.
    await trx.raw('delete from product_insertions');
    await trx.raw(
      'insert into product_insertions select created_at, partner_id, count(*) from products group by created_at, partner_id',
    );
    return result;
  });
}

/** Allows tests to change distributed products by SQL, but not in transactions of the test's own. */
export function changeProductsInCopies(db: Database): void {
  const client = db.client as Knex.Client & { query: Query };
  const query = client.query.bind(client) as Query;
  client.query = async (connection, statement) => {
    if (!writesProducts.test(statement.sql) || !(await isDistributed(db)))
      return query(connection, statement);
    return changeProducts(db, async (trx) => query(await connectionOf(trx), statement));
  };
}

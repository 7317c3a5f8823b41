import type { Knex } from 'knex';
import { withShortLock } from './short-lock';

/** Each attempt for the lock is a transaction of its own. */
export const config = { transaction: false };

/**
 * Creates the sums of sales by product. They begin empty: the service adds up the orders while it runs, and until then reads each of
 * them for these sums; the other sums stay in use. Can be repeated after a failure.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    -- Room in each page for the next version of a row.
    create table if not exists sales_by_product (
      -- Of the orders.
      partner_name text collate "C" not null,
      product_id bigint not null,
      currency text collate "C" not null,
      units_sold bigint not null,
      total_sales numeric not null,
      primary key (partner_name, product_id, currency)
    ) with (fillfactor = 70);

    -- A range of months is a range of the key.
    create table if not exists sales_by_product_and_month (
      -- The first day, of UTC.
      sales_month date not null,
      partner_name text collate "C" not null,
      product_id bigint not null,
      currency text collate "C" not null,
      units_sold bigint not null,
      total_sales numeric not null,
      primary key (sales_month, partner_name, product_id, currency)
    ) with (fillfactor = 90);

    create table if not exists sales_by_product_and_day (
      sales_day date not null,
      partner_name text collate "C" not null,
      product_id bigint not null,
      currency text collate "C" not null,
      units_sold bigint not null,
      total_sales numeric not null,
      primary key (sales_day, partner_name, product_id, currency)
    ) with (fillfactor = 90);
  `);
  // The transaction that wrote the sums by product last. Another one than transaction_id: a release without them has rolled up since.
  await withShortLock(db, 'alter table sales_rollup add column if not exists product_transaction_id xid8');
}

/** Drops what `up` created. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    drop table sales_by_product_and_day, sales_by_product_and_month, sales_by_product;
    alter table sales_rollup drop column product_transaction_id;
  `);
}

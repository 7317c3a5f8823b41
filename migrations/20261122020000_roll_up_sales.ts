import type { Knex } from 'knex';

/**
 * Sums of sales, and what tells which orders are in them. They begin empty: the service adds up the orders that are
 * there while it runs, and until then counts each of them.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    -- Which transaction created the order: an order is in the sums when their snapshot sees that transaction. 1 is
    -- before all of them. A constant first: the rows that are there are not rewritten.
    alter table orders add column transaction_id xid8 not null default '1';
    alter table orders alter column transaction_id set default pg_current_xact_id();
    create index orders_transaction_id on orders (transaction_id);

    -- One row.
    create table sales_rollup (
      is_the_only_row boolean primary key default true check (is_the_only_row),
      -- What the statement saw that made the sums.
      seen pg_snapshot not null,
      -- The transaction that wrote this row. A row that is copied into another database has another one: there, what
      -- was seen means nothing.
      transaction_id xid8 not null,
      rolled_up_at timestamptz not null
    );
    insert into sales_rollup (seen, transaction_id, rolled_up_at) values ('1:1:', '1', '-infinity');

    -- Room in each page for the next version of a row: an update then touches no index.
    create table sales_by_partner (
      partner_name text collate "C" not null,
      currency text collate "C" not null,
      units_sold bigint not null,
      total_sales numeric not null,
      primary key (partner_name, currency)
    ) with (fillfactor = 50);
    create table sales_by_day (
      -- Of UTC.
      sales_day date not null,
      currency text collate "C" not null,
      units_sold bigint not null,
      total_sales numeric not null,
      primary key (sales_day, currency)
    ) with (fillfactor = 90);
    create table sales_by_partner_and_day (
      partner_name text collate "C" not null,
      sales_day date not null,
      currency text collate "C" not null,
      units_sold bigint not null,
      total_sales numeric not null,
      primary key (partner_name, sales_day, currency)
    ) with (fillfactor = 90);

    -- Each item of an order took a lock on the row of its product, and popular products are in many orders at once. No
    -- product is ever deleted, and an item has a copy of all that it tells of its product.
    alter table order_items drop constraint order_items_product_id_fkey;
  `);
}

/** Drops what `up` created. Orders stay. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    alter table order_items
      add constraint order_items_product_id_fkey foreign key (product_id) references products;
    drop table sales_by_partner_and_day, sales_by_day, sales_by_partner, sales_rollup;
    alter table orders drop column transaction_id;
  `);
}

import type { Knex } from 'knex';
import { withShortLock } from './short-lock';

/** No transaction around all steps: each lock on `products` lasts milliseconds, and the indexes are built concurrently. */
export const config = { transaction: false };

/**
 * Lists begin at the newest or oldest active product. No other index is partial: the planner would read such an index as a
 * whole where its statistics are older than a load.
 */
const active = 'where withdrawn_at is null';

/**
 * The indexes of `products`, see docs/scaling.md. Of equal keys without the product number, a B-tree keeps one.
 */
const indexes: Record<string, string> = {
  products_partner_id_product_id: 'unique index % on products (partner_id, product_id)',
  products_product_id: 'unique index % on products (product_id)',
  products_partner_id_sku: 'unique index % on products (partner_id, sku)',
  products_active_created_at: `index % on products (created_at, product_id) ${active}`,
  products_active_partner_id_created_at: `index % on products (partner_id, created_at, product_id) ${active}`,
  products_partner_id_feed_id: 'index % on products (partner_id, feed_id, product_id)',
  // Compares integers: a third faster than numeric(16, 4), and in the same order.
  products_partner_id_price: 'index % on products (partner_id, cast(price * 10000 as bigint))',
  products_partner_id_brand: 'index % on products (partner_id, brand)',
  // An entry of an index holds 2,704 bytes at most, a character takes up to four: 1,000 of them do not fit.
  products_partner_id_category: 'index % on products (partner_id, left(category, 600))',
  products_partner_id_product_name: 'index % on products (partner_id, left(product_name, 24))',
  products_partner_id_availability: 'index % on products (partner_id, availability)',
};

/** Indexes that these replace, and that each load maintains at great cost. */
const costly = [
  'products_price',
  'products_brand',
  'products_product_name',
  'products_category',
  'products_availability',
  'products_partner_id',
];

/** Cheap to maintain, and the last release reads its usual listings with them: the next release drops them. */
const ofLastRelease = ['products_created_at', 'products_partner_id_created_at', 'products_feed_id'];

/**
 * Prepares `products` for withdrawals, history and partitions, and replaces its indexes by cheaper ones. Reads and writes
 * go on meanwhile. Can be repeated after a failure.
 */
export async function up(db: Knex): Promise<void> {
  await withShortLock(
    db,
    `
      alter table products
        add column if not exists withdrawn_at timestamptz,
        add column if not exists run_id bigint,
        add column if not exists record_offset bigint,
        add column if not exists collection text collate "C" not null default 'main';
    `,
  );
  const { rows } = await db.raw<{ rows: unknown[] }>('select from products limit 1');
  const isEmpty = rows.length === 0;
  for (const [name, definition] of Object.entries(indexes)) await createIndex(db, name, definition, isEmpty);
  await withShortLock(
    db,
    `
      do $$
      begin
        if to_regclass('products_partner_id_product_id') is not null then
          alter table products
            drop constraint products_pkey,
            drop constraint if exists products_sku_partner_id_key,
            add constraint products_pkey primary key using index products_partner_id_product_id;
        end if;
      end $$;
    `,
  );
  for (const name of isEmpty ? [...costly, ...ofLastRelease] : costly) {
    await db.raw(`drop index ${isEmpty ? '' : 'concurrently'} if exists ${name}`);
  }
}

/** Creates an index unless a valid one is there. An interrupted `create index concurrently` leaves an invalid one. */
async function createIndex(db: Knex, name: string, definition: string, isEmpty: boolean): Promise<void> {
  const { rows } = await db.raw<{ rows: { indisvalid: boolean }[] }>(
    `select indisvalid from pg_index
     where indexrelid = coalesce(to_regclass(:name), case when :name = 'products_partner_id_product_id' and (
       select indnatts = 2 from pg_index where indexrelid = to_regclass('products_pkey')
     ) then to_regclass('products_pkey') end)`,
    { name },
  );
  if (rows[0]?.indisvalid) return;
  if (rows[0]) await db.raw(`drop index concurrently ${name}`);
  const concurrently = isEmpty ? '' : 'concurrently ';
  await db.raw(`create ${definition.replace('index %', `index ${concurrently}${name}`)}`);
}

/** Restores the indexes and the primary key; withdrawals are lost. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    alter table products drop constraint products_pkey, add constraint products_pkey primary key (product_id);
    alter table products add constraint products_sku_partner_id_key unique (sku, partner_id);
    drop index products_product_id, products_partner_id_sku, products_active_created_at,
      products_active_partner_id_created_at, products_partner_id_feed_id, products_partner_id_price, products_partner_id_brand,
      products_partner_id_category, products_partner_id_product_name, products_partner_id_availability;
    create index if not exists products_created_at on products (created_at, product_id);
    create index if not exists products_partner_id_created_at on products (partner_id, created_at, product_id);
    create index if not exists products_feed_id on products (feed_id, product_id);
    create index products_partner_id on products (partner_id, product_id);
    create index products_price on products (price, product_id);
    create index products_brand on products (brand, product_id);
    create index products_product_name on products (left(product_name, 600), product_id);
    create index products_category on products (left(category, 600), product_id);
    create index products_availability on products (availability);
    alter table products drop column withdrawn_at, drop column run_id, drop column record_offset, drop column collection;
  `);
}

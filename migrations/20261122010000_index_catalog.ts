import type { Knex } from 'knex';

/**
 * What the catalog's listings read, see src/products/products.listing.ts. Each index costs every load: there is none for
 * one combination of filters alone.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    -- By sku first, which finds it whatever the partner; a row of a feed has both.
    alter table products
      add unique (sku, partner_id),
      drop constraint products_partner_id_sku_key;

    -- A partner's products in the two orders that have cursors: everything that a key limited to a partner sees.
    create index products_partner_id_created_at on products (partner_id, created_at, product_id);
    create index products_partner_id on products (partner_id, product_id);

    -- The other orders; brand and category are filters too.
    create index products_price on products (price, product_id);
    create index products_brand on products (brand, product_id);
    -- An entry of an index holds 2,704 bytes at most, a character takes up to four: 1,000 of them do not fit.
    create index products_product_name on products (left(product_name, 600), product_id);
    create index products_category on products (left(category, 600), product_id);

    -- A filter only. Without the product number behind it, equal values share an entry: a tenth of the size.
    create index products_availability on products (availability);
  `);
}

/** Restores the indexes as they were. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    drop index products_partner_id_created_at, products_partner_id, products_price, products_brand,
      products_product_name, products_category, products_availability;
    alter table products
      add unique (partner_id, sku),
      drop constraint products_sku_partner_id_key;
  `);
}

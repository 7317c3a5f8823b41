import type { Knex } from 'knex';
import { up as createWithdrawnProducts } from './20261123090000_withdraw_products';

/** The columns of its result. */
export const orderedColumns = `
  product_id bigint, partner_name text, sku text, product_name text, price numeric, currency text, availability text,
  withdrawn_at timestamptz, run_id bigint, feed_id bigint, record_offset bigint`;

/**
 * Creates the function by which orders read products.
 *
 * It locks all products of their partners against withdrawals until the transaction ends, and then reads: a volatile function sees what
 * was committed meanwhile, in the statement that inserts the orders. Locks of rows would be written to the table for each order,
 * and would wait for runs that change prices. Orders do not wait for each other; a withdrawal waits for them at its end.
 *
 * Its plans are kept, and find products by the index however few there were when they were made: PostgreSQL expects ten numbers, and
 * would plan both statements again for fewer, which takes longer than to execute them.
 */
export const productsToOrderSql = `
  create or replace function products_to_order(among bigint[]) returns table (${orderedColumns})
    language plpgsql volatile
    set plan_cache_mode = force_generic_plan set enable_seqscan = off
  as $$
  #variable_conflict use_column
  begin
    -- Only replays, for example: they wait for no lock.
    if cardinality(among) = 0 then
      return;
    end if;
    -- The low byte separates the key from other locks: see src/partners/partner-lock.ts.
    perform pg_advisory_xact_lock_shared((partner_id << 8) | 4)
    from (select distinct partner_id from products where product_id = any (among) order by partner_id) as supplier;
    return query
      select product_id, partner_name, sku, product_name, price, currency, availability, withdrawn_at, run_id, feed_id, record_offset
      from products join partners using (partner_id)
      where product_id = any (among);
  end $$
`;

/** Creates it in place of `withdrawn_products`, which no release has called. */
export async function up(db: Knex): Promise<void> {
  await db.raw(`drop function withdrawn_products; ${productsToOrderSql}`);
}

/** Drops what `up` created. */
export async function down(db: Knex): Promise<void> {
  await db.raw('drop function products_to_order');
  await createWithdrawnProducts(db);
}

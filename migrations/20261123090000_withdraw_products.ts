import type { Knex } from 'knex';

/**
 * Creates the function by which orders exclude withdrawn products.
 *
 * It locks all products of their partners against withdrawals until the transaction ends, and then reads: a volatile function sees what
 * was committed meanwhile, in the statement that inserts the orders. Locks of rows would be written to the table for each order,
 * and would wait for runs that change prices. Orders do not wait for each other; a withdrawal waits for them at its end.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    create function withdrawn_products(among bigint[]) returns setof bigint
      language plpgsql volatile
    as $$
    begin
      -- The low byte separates the key from other locks: see src/partners/partner-lock.ts.
      perform pg_advisory_xact_lock_shared((partner_id << 8) | 4)
      from (select distinct partner_id from products where product_id = any (among) order by partner_id) as supplier;
      return query select product_id from products where product_id = any (among) and withdrawn_at is not null;
    end $$
  `);
}

/** Drops what `up` created. */
export async function down(db: Knex): Promise<void> {
  await db.raw('drop function withdrawn_products');
}

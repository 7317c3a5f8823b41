import type { Knex } from 'knex';

/**
 * Creates the function that reads a page of products with index scans only, in one round trip and without settings of the
 * session: the planner knows the average size of partners and of values, and would sort all products of a large partner for
 * one page.
 *
 * `statement` returns the keys of the page, with `bindings` as `$1`. It runs with the rights of the caller, and can only read:
 * the function is stable.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    create function page_of_products(statement text, bindings text[])
      returns table (state text, partner_id bigint, product_id bigint)
      language plpgsql stable rows 20
      set enable_sort = off
      set enable_incremental_sort = off
      set enable_seqscan = off
      set enable_bitmapscan = off
      set max_parallel_workers_per_gather = 0
      set jit = off
    as $$
    begin
      return query execute statement using bindings;
    end $$
  `);
}

/** Drops what `up` created. */
export async function down(db: Knex): Promise<void> {
  await db.raw('drop function page_of_products');
}

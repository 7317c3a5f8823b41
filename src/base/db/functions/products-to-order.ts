import { sharedLockSql } from '../locks';
import { raw } from '../sql';

export const orderedColumns = `
  product_id bigint, partner_name text, sku text, product_name text, price numeric, currency text, availability text,
  withdrawn_at timestamptz, run_id bigint, feed_id bigint, record_offset bigint`;

/**
 * Reads the products of orders.
 * It locks all products of their partners against withdrawals until the transaction ends, and then reads: a volatile function sees
 * changes that were committed meanwhile, in the statement that inserts the orders. Row locks would be written to the table for each
 * order, and would wait for runs that change prices. Orders do not wait for each other; a withdrawal waits for them at its end.
 * Its plans are kept, and find products by the index although there were few when the plan was made: PostgreSQL expects ten
 * numbers. For fewer, it would plan both statements again, which takes longer than their execution.
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
    perform ${sharedLockSql('withdrawals', raw('partner_id')).sql}
    from (select distinct partner_id from products where product_id = any (among) order by partner_id) as supplier;
    return query
      select product_id, partner_name, sku, product_name, price, currency, availability, withdrawn_at, run_id, feed_id, record_offset
      from products join partners using (partner_id)
      where product_id = any (among);
  end $$;
`;

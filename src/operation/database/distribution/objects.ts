import { orderedColumns, productsToOrderSql } from '../../../base/db/functions/products-to-order';
import { sharedLockSql } from '../../../base/db/locks';
import { raw } from '../../../base/db/sql';

/**
 * Product numbers per block, which belongs to one partner. For products from before the distribution, `product_blocks` has a row for
 * each run of numbers of one partner.
 */
const blockNumbers = 1_024;

/** The tables among the objects of `createObjectsSql`. */
export const objectTables = 'product_blocks, product_insertions, product_partners';

/** The sequence of block numbers among them. */
export const numbersSequence = 'product_block_numbers';

/** Additional local objects of a distributed `products`; `products_local` exists, with all products. */
export const createObjectsSql = `
  -- Ranges of product numbers, each of one partner. next_id is the first number that is not drawn yet.
  create table product_blocks (
    first_id bigint primary key,
    last_id bigint not null,
    partner_id bigint not null,
    next_id bigint not null
  );
  insert into product_blocks
  select min(product_id), max(product_id), partner_id, max(product_id) + 1
  from (
    select product_id, partner_id, count(*) filter (where is_first) over (order by product_id) as run
    from (
      select product_id, partner_id,
        partner_id is distinct from lag(partner_id) over (order by product_id) as is_first
      from products_local
    ) as marked
  ) as numbered
  group by partner_id, run;
  create index product_blocks_partner_id on product_blocks (partner_id, first_id);

  -- Finds the partners of product numbers, whether or not there are such products; null where there is none.
  create function partners_of_products(asked bigint[])
    returns table (place bigint, asked_id bigint, partner_id bigint, partner_name text) language sql stable
  as $$
    select place, asked_id, partners.partner_id, partner_name
    from unnest(asked) with ordinality as numbers (asked_id, place)
      left join lateral (
        select * from product_blocks where first_id <= asked_id order by first_id desc limit 1
      ) as block on last_id >= asked_id
      left join partners on partners.partner_id = block.partner_id
  $$;

  -- When products of a partner were inserted: which partners have the newest products.
  create table product_insertions (created_at timestamptz not null, partner_id bigint not null, products bigint not null);
  insert into product_insertions
  select created_at, partner_id, count(*) from products_local group by created_at, partner_id;
  create index product_insertions_created_at on product_insertions (created_at, partner_id);

  -- Partners with products, beside them: a page of all partners reads the indexes of each one.
  create table product_partners (partner_id bigint primary key);

  -- As in a local table, but by partner. The nodes commit one after the other: a product may still be as it was before a withdrawal
  -- that is committed here. Then its version that ended is later than the product, and the product is read again.
  create or replace function products_to_order(among bigint[]) returns table (${orderedColumns}) language plpgsql volatile as $$
  #variable_conflict use_column
  declare
    supplier record;
    found_rows json;
  begin
    for supplier in
      select partner_id, partner_name, array_agg(asked_id) as asked_ids from partners_of_products(among)
      where partner_id is not null group by partner_id, partner_name order by partner_id
    loop
      perform ${sharedLockSql('withdrawals', raw('supplier.partner_id')).sql};
      for attempt in 1..50 loop
        execute format(
          'select json_agg(products) from (
             select * from products where partner_id = %s and product_id = any ($1)
           ) as products', supplier.partner_id
        ) into found_rows using supplier.asked_ids;
        exit when not exists (
          select from json_populate_recordset(cast(null as products), found_rows) as found join product_versions as version
            on (version.partner_id, version.product_id) = (supplier.partner_id, found.product_id)
          where until_run_id > coalesce(found.run_id, 0) and until_run_id <> 9223372036854775807
        );
        perform pg_sleep(0.001);
      end loop;
      return query
        select product_id, supplier.partner_name, sku, product_name, price, currency, availability, withdrawn_at, run_id, feed_id,
          record_offset
        from json_populate_recordset(cast(null as products), found_rows);
    end loop;
  end $$;

  -- Reads a product by its number alone, in one round trip: the local table leads to the shard. It only reads, and needs no transaction
  -- on the worker.
  create function product_by_number(asked_id bigint) returns table (partner_name text, product products_local)
    language plpgsql stable set citus.function_opens_transaction_block = off
  as $$
  declare
    owner_id bigint;
  begin
    select owner.partner_id, owner.partner_name into owner_id, partner_name
    from partners_of_products(array[asked_id]) as owner;
    if owner_id is null then
      return;
    end if;
    select * into product from products where partner_id = owner_id and product_id = asked_id;
    if found then
      return next;
    end if;
  end $$;

  create sequence ${numbersSequence} minvalue 0 start 0;
  -- Numbers that were drawn before belong to no new block.
  select setval('${numbersSequence}', last_id / ${blockNumbers} + 1, false)
  from (
    select greatest(
      pg_sequence_last_value(cast(pg_get_serial_sequence('products_local', 'product_id') as regclass)),
      (select max(last_id) from product_blocks)
    ) as last_id
  ) as drawn
  where last_id is not null;

  -- Draws consecutive numbers for new products, and returns the first one. The caller holds the lock of the partner.
  create function draw_product_numbers(of_partner bigint, how_many bigint) returns bigint language plpgsql as $$
  declare
    -- One more: number 0 is never drawn.
    blocks bigint := (how_many + ${blockNumbers}) / ${blockNumbers};
    drawn bigint;
    low bigint;
    high bigint;
  begin
    update product_blocks set next_id = next_id + how_many
    where first_id = (select max(first_id) from product_blocks where partner_id = of_partner)
      and next_id + how_many <= last_id + 1
    returning next_id - how_many into drawn;
    if found then
      return drawn;
    end if;
    -- Blocks that other partners draw at the same time may be in between.
    loop
      select min(block), max(block) into low, high
      from (select nextval('${numbersSequence}') as block from generate_series(1, blocks)) as next_blocks;
      exit when high - low = blocks - 1;
    end loop;
    drawn := greatest(low * ${blockNumbers}, 1);
    insert into product_blocks (first_id, last_id, partner_id, next_id)
    values (low * ${blockNumbers}, high * ${blockNumbers} + ${blockNumbers - 1}, of_partner, drawn + how_many);
    return drawn;
  end $$;

  -- Keeps which products of a working copy were updated or deleted; and those that came from another partner.
  create function note_working_change() returns trigger language plpgsql as $$
  begin
    insert into pg_temp.changed_products_of_copy (partner_id, product_id, is_stored)
    select partner_id, product_id, true from changed_from
    on conflict do nothing;
    if tg_op = 'UPDATE' then
      insert into pg_temp.changed_products_of_copy (partner_id, product_id, is_stored)
      select partner_id, product_id, false from changed_to
      on conflict do nothing;
    end if;
    return null;
  end $$;
`;

/** Drops what `createObjectsSql` creates. */
export const dropObjectsSql = `
  drop table ${objectTables};
  ${productsToOrderSql}
  drop sequence ${numbersSequence};
  drop function draw_product_numbers(bigint, bigint);
  drop function product_by_number(bigint);
  drop function partners_of_products(bigint[]);
  drop function note_working_change();
`;

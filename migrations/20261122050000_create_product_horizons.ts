import type { Knex } from 'knex';

/**
 * Up to when the products that can be seen were created. A load of a million products adds them at the end of the order
 * by creation, where the catalog's default page begins: until it commits, each page would walk through all that nobody
 * can see yet, for a second and more. A page that starts at the horizon does not meet them.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    -- No product that can be seen was created after the latest of these.
    create table product_horizons (created_at timestamptz not null);
    insert into product_horizons select created_at from products order by created_at desc limit 1;

    create function note_product_horizon() returns trigger language plpgsql as $$
    declare
      -- Of a row there is a time of its own.
      horizon timestamptz := coalesce(new.created_at, now());
    begin
      -- Those that another load is replacing are left to it: loads do not wait for each other here.
      delete from product_horizons where ctid = any (
        array(select ctid from product_horizons where created_at <= horizon for update skip locked)
      );
      insert into product_horizons values (horizon);
      return null;
    end
    $$;
    create trigger products_note_horizon after insert on products
      for each statement execute function note_product_horizon();
    -- None of ours does that, but a product that is never shown would be worse than a slow page.
    create trigger products_note_later_horizon after insert or update of created_at on products
      for each row when (new.created_at > now()) execute function note_product_horizon();
  `);
}

/** Drops what `up` created. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    drop trigger products_note_horizon on products;
    drop trigger products_note_later_horizon on products;
    drop function note_product_horizon;
    drop table product_horizons;
  `);
}

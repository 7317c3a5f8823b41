/**
 * Keeps the time of the newest visible product in `product_horizons`.
 * A load of a million products adds them at the end of the order by creation, where the default page of the catalog begins. Until the
 * load commits, each page would read them all, unless it starts at this time.
 */
export const noteProductHorizonSql = `
  create or replace function note_product_horizon() returns trigger language plpgsql as $$
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
`;

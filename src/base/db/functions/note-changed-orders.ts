/** Notes every manual change of orders, for the sums of sales. New orders are not noted. */

export const noteChangedOrdersSql = `
  create or replace function note_changed_orders() returns trigger language plpgsql as $$
  begin
    if tg_op = 'TRUNCATE' then
      insert into sales_changes values (null, null);
    elsif tg_op = 'DELETE' then
      insert into sales_changes
      select distinct partner_name, cast(created_at at time zone 'UTC' as date) from old_rows;
    else
      insert into sales_changes
      select distinct partner_name, cast(created_at at time zone 'UTC' as date)
      from (
        (
          select order_id, partner_name, currency, created_at, transaction_id from old_rows
          except all
          select order_id, partner_name, currency, created_at, transaction_id from new_rows
        )
        union all
        (
          select order_id, partner_name, currency, created_at, transaction_id from new_rows
          except all
          select order_id, partner_name, currency, created_at, transaction_id from old_rows
        )
      ) as changed;
    end if;
    return null;
  end $$;
`;

/** The same for the items of orders. It locks the order: another transaction may be changing its partner or day. */
export const noteChangedOrderItemsSql = `
  create or replace function note_changed_order_items() returns trigger language plpgsql as $$
  begin
    if tg_op = 'TRUNCATE' then
      insert into sales_changes values (null, null);
    elsif tg_op = 'INSERT' then
      -- An order that is created by the same transaction counts with all of its items.
      insert into sales_changes
      select distinct partner_name, sales_day
      from (
        select partner_name, cast(created_at at time zone 'UTC' as date) as sales_day
        from (select distinct order_id from new_rows) as changed join orders using (order_id)
        where transaction_id <> pg_current_xact_id()
        for share of orders
      ) as changed;
    elsif tg_op = 'DELETE' then
      insert into sales_changes
      select distinct partner_name, sales_day
      from (
        select partner_name, cast(created_at at time zone 'UTC' as date) as sales_day
        from (select distinct order_id from old_rows) as changed join orders using (order_id)
        for share of orders
      ) as changed;
    else
      insert into sales_changes
      select distinct partner_name, sales_day
      from (
        select partner_name, cast(created_at at time zone 'UTC' as date) as sales_day
        from (select order_id from old_rows union select order_id from new_rows) as changed
        join orders using (order_id)
        for share of orders
      ) as changed;
    end if;
    return null;
  end $$;
`;

/** Stamps an order with its transaction: a copied order has the id of a transaction of another server. */
export const stampOrderSql = `
  create or replace function stamp_order() returns trigger language plpgsql as $$
  begin
    new.transaction_id := pg_current_xact_id();
    return new;
  end $$;
`;

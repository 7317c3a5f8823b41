import type { Knex } from 'knex';

/**
 * Notes every change of orders by hand, for the sums of sales. Creating orders notes nothing. The triggers fire whatever
 * `session_replication_role` is; `sales-verification.ts` detects that they were disabled.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    -- The partners and UTC days whose sums are to be rebuilt; nulls: all of them.
    create table sales_changes (
      partner_name text collate "C",
      sales_day date
    );

    -- One row: the last time that the sums were compared with the orders.
    create table sales_verification (
      is_the_only_row boolean primary key default true check (is_the_only_row),
      -- What the server knew of changes to the tables.
      fingerprint text not null,
      verified_at timestamptz not null,
      -- How long it took.
      seconds double precision not null
    );

    -- An order that is copied from elsewhere has the id of a transaction of another server.
    create function stamp_order() returns trigger language plpgsql as $$
    begin
      new.transaction_id := pg_current_xact_id();
      return new;
    end $$;
    create trigger orders_stamp before insert on orders
      for each row when (new.transaction_id is distinct from pg_current_xact_id()) execute function stamp_order();

    create function note_changed_orders() returns trigger language plpgsql as $$
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
    create trigger orders_note_update after update on orders
      referencing old table as old_rows new table as new_rows
      for each statement execute function note_changed_orders();
    create trigger orders_note_delete after delete on orders
      referencing old table as old_rows
      for each statement execute function note_changed_orders();
    create trigger orders_note_truncate after truncate on orders
      for each statement execute function note_changed_orders();

    -- Locks the order: another transaction may be changing its partner or day.
    create function note_changed_order_items() returns trigger language plpgsql as $$
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
    create trigger order_items_note_insert after insert on order_items
      referencing new table as new_rows
      for each statement execute function note_changed_order_items();
    create trigger order_items_note_update after update on order_items
      referencing old table as old_rows new table as new_rows
      for each statement execute function note_changed_order_items();
    create trigger order_items_note_delete after delete on order_items
      referencing old table as old_rows
      for each statement execute function note_changed_order_items();
    create trigger order_items_note_truncate after truncate on order_items
      for each statement execute function note_changed_order_items();

    alter table orders enable always trigger orders_stamp;
    alter table orders enable always trigger orders_note_update;
    alter table orders enable always trigger orders_note_delete;
    alter table orders enable always trigger orders_note_truncate;
    alter table order_items enable always trigger order_items_note_insert;
    alter table order_items enable always trigger order_items_note_update;
    alter table order_items enable always trigger order_items_note_delete;
    alter table order_items enable always trigger order_items_note_truncate;
  `);
}

/** Drops what `up` created. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    drop trigger orders_stamp on orders;
    drop trigger orders_note_update on orders;
    drop trigger orders_note_delete on orders;
    drop trigger orders_note_truncate on orders;
    drop trigger order_items_note_insert on order_items;
    drop trigger order_items_note_update on order_items;
    drop trigger order_items_note_delete on order_items;
    drop trigger order_items_note_truncate on order_items;
    drop function stamp_order, note_changed_orders, note_changed_order_items;
    drop table sales_changes, sales_verification;
  `);
}

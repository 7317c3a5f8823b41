import type { Knex } from 'knex';
import { withShortLock } from './short-lock';

/** Each attempt for the locks is a transaction of its own, and so is each count. */
export const config = { transaction: false };

/**
 * Creates the numbers of each partner and the triggers that keep them, and counts what is there. Can be repeated after a
 * failure: a count replaces the one before it. Triggers, because the last release writes too during an upgrade.
 */
export async function up(db: Knex): Promise<void> {
  await withShortLock(
    db,
    `
      -- The numbers of a partner are the sums of its rows, and the latest time. Each change of a number inserts a row, so that
      -- uploads, runs and manual changes never wait for one another; the end of a run replaces the rows of its partner by
      -- one. No foreign key: an open manual transaction must not lock its partner.
      create table if not exists partner_counts (
        partner_count_id bigint generated always as identity,
        partner_id bigint not null,
        products bigint not null default 0,
        feeds bigint not null default 0,
        last_completed_at timestamptz,
        primary key (partner_id, partner_count_id)
      );

      -- Counts active products. With the rights of its owner, like log_manual_change.
      create or replace function count_products() returns trigger language plpgsql security definer as $$
      begin
        case tg_op
          when 'INSERT' then
            insert into partner_counts (partner_id, products)
            select partner_id, count(*) from added_products where withdrawn_at is null group by partner_id;
          when 'DELETE' then
            insert into partner_counts (partner_id, products)
            select partner_id, -count(*) from removed_products where withdrawn_at is null group by partner_id;
          when 'UPDATE' then
            insert into partner_counts (partner_id, products)
            select partner_id, sum(change)
            from (
              select partner_id, -1 as change from removed_products where withdrawn_at is null
              union all
              select partner_id, 1 from added_products where withdrawn_at is null
            ) as changed
            group by partner_id having sum(change) <> 0;
          else
            insert into partner_counts (partner_id, products)
            select partner_id, -sum(products) from partner_counts group by partner_id having sum(products) <> 0;
        end case;
        return null;
      end $$;

      create or replace function count_feeds() returns trigger language plpgsql security definer as $$
      begin
        if tg_op <> 'INSERT' then
          insert into partner_counts (partner_id, feeds) values (old.partner_id, -1);
        end if;
        if tg_op <> 'DELETE' then
          insert into partner_counts (partner_id, feeds) values (new.partner_id, 1);
        end if;
        return null;
      end $$;

      -- The run holds the lock of its partner: no other transaction replaces these rows. What is not committed yet stays.
      create or replace function note_completed_run() returns trigger language plpgsql security definer as $$
      declare
        run_of bigint := (select partner_id from feeds where feed_id = new.feed_id);
      begin
        with replaced as (
          delete from partner_counts where partner_id = run_of returning products, feeds, last_completed_at
        )
        insert into partner_counts (partner_id, products, feeds, last_completed_at)
        select run_of, coalesce(sum(products), 0), coalesce(sum(feeds), 0),
          greatest(max(last_completed_at), new.finished_at)
        from replaced;
        return null;
      end $$;

      -- Counts a partner anew, after changes that no trigger has seen. Waits for the run of the partner, for nothing else:
      -- the statement removes the rows of what it counts, and leaves those of what it does not see yet.
      create or replace function recount_partner(of_partner bigint) returns void language plpgsql as $$
      begin
        -- As a run does, see src/partners/partner-lock.ts.
        perform pg_advisory_xact_lock((of_partner << 8) | 3);
        perform from partners where partner_id = of_partner for no key update;
        with replaced as (
          delete from partner_counts where partner_id = of_partner returning last_completed_at
        )
        insert into partner_counts (partner_id, products, feeds, last_completed_at)
        select of_partner,
          (select count(*) from products where partner_id = of_partner and withdrawn_at is null),
          (select count(*) from feeds where partner_id = of_partner),
          greatest(
            (select max(last_completed_at) from replaced),
            (
              select max(finished_at) from validation_jobs join feeds using (feed_id)
              where partner_id = of_partner and validation_jobs.status = 'completed'
            )
          );
      end $$;

      do $$
      declare
        counting text;
      begin
        foreach counting in array array['count_products()', 'count_feeds()', 'note_completed_run()', 'recount_partner(bigint)']
        loop
          execute format('alter function %s set search_path = %I, pg_temp', counting, current_schema());
        end loop;
      end $$;

      create or replace trigger products_counted_insert after insert on products
        referencing new table as added_products for each statement execute function count_products();
      create or replace trigger products_counted_delete after delete on products
        referencing old table as removed_products for each statement execute function count_products();
      create or replace trigger products_counted_update after update on products
        referencing old table as removed_products new table as added_products
        for each statement execute function count_products();
      create or replace trigger products_counted_truncate after truncate on products
        for each statement execute function count_products();
      create or replace trigger feeds_counted after insert or delete on feeds
        for each row execute function count_feeds();
      create or replace trigger feeds_counted_move after update of partner_id on feeds
        for each row when (old.partner_id <> new.partner_id) execute function count_feeds();
      create or replace trigger validation_jobs_completed after update of status on validation_jobs
        for each row when (new.status = 'completed' and old.status <> 'completed') execute function note_completed_run();
    `,
  );
  const { rows } = await db.raw<{ rows: { partner_id: string }[] }>('select partner_id from partners');
  for (const { partner_id: partnerId } of rows) await db.raw('select recount_partner(?)', [partnerId]);
}

/** Drops what `up` created. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    drop trigger products_counted_insert on products;
    drop trigger products_counted_delete on products;
    drop trigger products_counted_update on products;
    drop trigger products_counted_truncate on products;
    drop trigger feeds_counted on feeds;
    drop trigger feeds_counted_move on feeds;
    drop trigger validation_jobs_completed on validation_jobs;
    drop function count_products(), count_feeds(), note_completed_run(), recount_partner(bigint);
    drop table partner_counts;
  `);
}

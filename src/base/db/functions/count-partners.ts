import { lockSql } from '../locks';
import { raw } from '../sql';
import { inThisSchema } from './in-this-schema';

/**
 * Counts the active products of partners.
 * The numbers of a partner are the sums of its rows. Each change inserts a row: uploads, runs and manual changes never wait for
 * one another.
 */
export const countProductsSql = `
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
  ${inThisSchema('count_products()')}
`;

export const countFeedsSql = `
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
  ${inThisSchema('count_feeds()')}
`;

/**
 * Replaces the rows of a partner by one at the end of its run.
 * The run has the lock of its partner: no other transaction replaces these rows. Uncommitted rows stay.
 */
export const noteCompletedRunSql = `
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
  ${inThisSchema('note_completed_run()')}
`;

/**
 * Counts a partner anew, after changes that no trigger has seen.
 * It waits only for the run of the partner. The statement removes the rows that it counts, and leaves rows that it does not see yet.
 */
export const recountPartnerSql = `
  create or replace function recount_partner(of_partner bigint) returns void language plpgsql as $$
  begin
    -- As a run does.
    perform ${lockSql('partner', raw('of_partner')).sql};
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
  ${inThisSchema('recount_partner(bigint)')}
`;

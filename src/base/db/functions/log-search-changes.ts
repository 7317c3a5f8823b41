import { inThisSchema } from './in-this-schema';

/** Adds products that were changed by anything but a run to the backlog of the search index. */
export const logSearchChangeSql = `
  create or replace function log_search_change() returns trigger language plpgsql security definer as $$
  begin
    if current_setting('partner_catalog.keeps_digests', true) = 'on' then
      return null;
    end if;
    insert into search_backlog (partner_id, product_ids)
    select partner_id, case when count(*) <= 1000 then array_agg(product_id) end
    from changed_products
    group by partner_id;
    return null;
  end $$;
  ${inThisSchema('log_search_change()')}
`;

/** The same for `truncate products`. */
export const logSearchTruncationSql = `
  create or replace function log_search_truncation() returns trigger language plpgsql security definer as $$
  begin
    insert into search_backlog (partner_id) select partner_id from partners;
    return null;
  end $$;
  ${inThisSchema('log_search_truncation()')}
`;

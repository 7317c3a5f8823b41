import { inThisSchema } from './in-this-schema';

/** The columns of a product that a version has too. */
const columns = `
  partner_id, product_id, sku, product_name, description, brand, category, price, currency, availability, feed_id,
  collection, created_at, withdrawn_at, record_offset, run_id`;

/** The end of a version that no run has ended yet: the greatest bigint. */
const pending = 9_223_372_036_854_775_807n;

/**
 * Keeps products as they were before an update or a deletion.
 * `partner_catalog.change` names the cause: the number of a change; 'none' for anything that is no change of a catalog; otherwise
 * it was a manual change. Until a change ends it, the version before the first manual change is pending.
 */
export const keepVersionsSql = `
  create or replace function keep_versions() returns trigger language plpgsql security definer as $$
  declare
    change_text text := coalesce(current_setting('partner_catalog.change', true), '');
    change bigint;
  begin
    if change_text = 'none' then
      return null;
    end if;
    if change_text = '' then
      insert into product_versions (${columns}, until_run_id, is_external)
      select ${columns}, ${pending}, true from changed_products
      on conflict do nothing;
      return null;
    end if;
    change := cast(change_text as bigint);
    -- The statement has locked the products: a manual change is committed before it, and visible, or comes after it.
    if exists (
      select from product_versions
      where partner_id = (select partner_id from changed_products limit 1) and until_run_id = ${pending}
    ) then
      update product_versions as version set until_run_id = change
      from changed_products
      where (version.partner_id, version.product_id) = (changed_products.partner_id, changed_products.product_id)
        and version.until_run_id = ${pending};
      insert into product_versions (${columns}, until_run_id)
      select ${columns}, change from changed_products
      where not exists (
        select from product_versions as version
        where (version.partner_id, version.product_id) = (changed_products.partner_id, changed_products.product_id)
          and version.until_run_id = change
      );
    else
      insert into product_versions (${columns}, until_run_id)
      select ${columns}, change from changed_products;
    end if;
    return null;
  end $$;
  ${inThisSchema('keep_versions()')}
`;

import { inThisSchema } from './in-this-schema';

/**
 * Logs the partners whose products were changed by anything but a run.
 * It has the rights of its owner, as all triggers on products: a role that may change products needs no rights on the log.
 */

export const logManualChangeSql = `
  create or replace function log_manual_change() returns trigger language plpgsql security definer as $$
  begin
    if current_setting('partner_catalog.keeps_digests', true) = 'on' then
      return null;
    end if;
    -- A row that is there will do, if this transaction can keep runs from deleting it: so a partner has hardly more than
    -- one. A transaction with a snapshot of its own would fail on a row that was deleted since.
    insert into manual_changes (partner_id)
    select partner_id
    from (select distinct partner_id from changed_products) as changed
    where current_setting('transaction_isolation') <> 'read committed'
      or not exists (
        select from manual_changes as logged where logged.partner_id = changed.partner_id for key share skip locked
      );
    return null;
  end $$;
  ${inThisSchema('log_manual_change()')}
`;

/** The same for `truncate products`. */
export const logManualTruncationSql = `
  create or replace function log_manual_truncation() returns trigger language plpgsql security definer as $$
  begin
    insert into manual_changes (partner_id) select partner_id from partners;
    return null;
  end $$;
  ${inThisSchema('log_manual_truncation()')}
`;

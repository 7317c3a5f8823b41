import type { Knex } from 'knex';

/** A log of manual changes of products, by partner, and the digests that runs keep as long as it has nothing of theirs. */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    -- Blocks of digests of 12 bytes each. At the same place in both: a record, and the sku of the product that is as that
    -- record says; zeros where no record is known to say it.
    create table digest_blocks (
      partner_id bigint not null references partners on delete cascade,
      block_number integer not null,
      records bytea not null,
      skus bytea not null,
      primary key (partner_id, block_number),
      constraint digest_blocks_of_as_many_skus check (octet_length(records) = octet_length(skus))
    );
    -- Digests cannot be compressed.
    alter table digest_blocks alter records set storage external, alter skus set storage external;

    -- Partners whose products were changed by anything but a run, since the last run that took account of it. Rows are only
    -- inserted, and deleted by runs. No foreign key: an open manual transaction must not lock its partner.
    create table manual_changes (
      manual_change_id bigint generated always as identity,
      partner_id bigint not null,
      primary key (partner_id, manual_change_id)
    );

    -- With the rights of its owner: a role that may change products needs no rights on the log.
    create function log_manual_change() returns trigger language plpgsql security definer as $$
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

    create function log_manual_truncation() returns trigger language plpgsql security definer as $$
    begin
      insert into manual_changes (partner_id) select partner_id from partners;
      return null;
    end $$;

    do $$
    begin
      execute format('alter function log_manual_change() set search_path = %I, pg_temp', current_schema());
      execute format('alter function log_manual_truncation() set search_path = %I, pg_temp', current_schema());
    end $$;

    create trigger products_inserted after insert on products
      referencing new table as changed_products for each statement execute function log_manual_change();
    create trigger products_deleted after delete on products
      referencing old table as changed_products for each statement execute function log_manual_change();
    -- Two of them: a product may go from one partner to another.
    create trigger products_updated_from after update on products
      referencing old table as changed_products for each statement execute function log_manual_change();
    create trigger products_updated_to after update on products
      referencing new table as changed_products for each statement execute function log_manual_change();
    -- Replaces the trigger that deleted from record_digests: to drop that would lock readers out.
    create or replace trigger products_changed after truncate on products
      for each statement execute function log_manual_truncation();
    drop function forget_record_digests();
  `);
}

/** Drops what `up` created; runs of 1.2.0 are told of manual changes again. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    create function forget_record_digests() returns trigger language plpgsql as $$
    begin
      if current_setting('partner_catalog.run', true) is distinct from 'on' then
        delete from record_digests;
      end if;
      return null;
    end $$;
    create or replace trigger products_changed after insert or update or delete or truncate on products
      for each statement execute function forget_record_digests();
    drop trigger products_inserted on products;
    drop trigger products_deleted on products;
    drop trigger products_updated_from on products;
    drop trigger products_updated_to on products;
    drop function log_manual_change();
    drop function log_manual_truncation();
    drop table manual_changes, digest_blocks;
  `);
}

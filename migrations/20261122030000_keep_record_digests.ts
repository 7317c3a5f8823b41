import type { Knex } from 'knex';

/** What a run knows of the records that made the products, so that it can pass over those that have not changed. */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    -- Blocks of digests of 12 bytes each. At the same place in both: a record, and the sku of the product that is as that
    -- record says; zeros where no record is known to say it.
    create table record_digests (
      partner_id bigint not null references partners,
      block_number integer not null,
      records bytea not null,
      skus bytea not null,
      primary key (partner_id, block_number),
      constraint record_digests_of_as_many_skus check (octet_length(records) = octet_length(skus))
    );
    -- Digests cannot be compressed.
    alter table record_digests alter records set storage external, alter skus set storage external;

    -- Whoever else changes products has the next runs read everything.
    create function forget_record_digests() returns trigger language plpgsql as $$
    begin
      if current_setting('partner_catalog.run', true) is distinct from 'on' then
        delete from record_digests;
      end if;
      return null;
    end $$;
    create trigger products_changed after insert or update or delete or truncate on products
      for each statement execute function forget_record_digests();
  `);
}

/** Forgets the digests; the next runs read everything. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    drop trigger products_changed on products;
    drop function forget_record_digests();
    drop table record_digests;
  `);
}

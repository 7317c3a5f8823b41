import type { Knex } from 'knex';

/**
 * Creates the part of the identity of a database that a copy of its server gets anew (`src/operation/retention/bucket-owner.ts` has
 * the rest), and the ranges of feed numbers that a restore has left out: files with these numbers are of lost feeds. An older dump that
 * was restored over this schema has left the tables.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    create table if not exists database_identity (
      is_the_only_row boolean primary key default true check (is_the_only_row),
      identity uuid not null default gen_random_uuid()
    );
    insert into database_identity default values on conflict do nothing;
    create table if not exists omitted_feed_numbers (
      first_id bigint primary key,
      last_id bigint not null
    );
  `);
}

/** Drops what `up` created. */
export async function down(db: Knex): Promise<void> {
  await db.raw('drop table database_identity, omitted_feed_numbers');
}

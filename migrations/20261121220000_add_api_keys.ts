import type { Knex } from 'knex';

/** API keys that a command creates and revokes. */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    create table api_keys (
      api_key_id bigint generated always as identity primary key,
      key_name text collate "C" not null,
      -- SHA-256 of the key, which itself is kept nowhere.
      key_digest bytea not null unique,
      -- The partner that the key is limited to, by name: its first feed may be still to come.
      partner_name text collate "C",
      created_at timestamptz not null default now(),
      revoked_at timestamptz,
      constraint api_keys_name_not_blank check (key_name ~ '\\S'),
      constraint api_keys_digest_is_whole check (octet_length(key_digest) = 32)
    );
    -- A name tells one of the keys in use; that of a revoked key may be given again.
    create unique index api_keys_name_in_use on api_keys (key_name) where revoked_at is null;
  `);
}

/** Drops all keys. */
export async function down(db: Knex): Promise<void> {
  await db.raw('drop table api_keys');
}

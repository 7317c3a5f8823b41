import type { Knex } from 'knex';

/** API keys that only read, that expire, and the last use of each. */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    alter table api_keys
      -- Such a key, and one that expires, is kept under the SHA-256 of its digest: see keys.repository.ts.
      add column is_read_only boolean not null default false,
      -- The key is refused from then on; null: never.
      add column expires_at timestamptz,
      -- To the minute.
      add column last_used_at timestamptz;
  `);
}

/** Drops the columns. Keys with a limit stay unusable. */
export async function down(db: Knex): Promise<void> {
  await db.raw(
    'alter table api_keys drop column is_read_only, drop column expires_at, drop column last_used_at',
  );
}

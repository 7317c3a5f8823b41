import type { Knex } from 'knex';

/** How a feed is to be loaded, what a run was allowed to withdraw, and what it did. */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    alter table feeds
      add column mode text not null default 'upsert',
      add column collection text collate "C" not null default 'main',
      -- Of its rows; null: no limit.
      add column max_skipped_percent numeric,
      -- When a run of the feed was completed last; null: never, or by release 1.2.0 only.
      add column last_completed_at timestamptz;

    alter table validation_jobs
      -- What the request of the queued, running or last run allows; null: the usual limit.
      add column max_withdrawn bigint,
      add column allow_older boolean not null default false,
      -- Null unless the last run has ended, and after a run of release 1.2.0.
      add column withdrawn bigint,
      add column restored bigint,
      -- Of a run that failed because of that number.
      add column would_withdraw bigint,
      add column withdrawals_withheld boolean;
  `);
}

/** Drops the columns. Feeds are loaded in mode upsert then. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    alter table feeds
      drop column mode, drop column collection, drop column max_skipped_percent, drop column last_completed_at;
    alter table validation_jobs
      drop column max_withdrawn, drop column allow_older, drop column withdrawn, drop column restored,
      drop column would_withdraw, drop column withdrawals_withheld;
  `);
}

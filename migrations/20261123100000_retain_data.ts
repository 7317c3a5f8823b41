import type { Knex } from 'knex';
import { withShortLock } from './short-lock';

/** Each attempt for the locks is a transaction of its own. */
export const config = { transaction: false };

/**
 * Creates what retention needs: times of removal, the lease of the process that prunes, and the objects to delete. Can be
 * repeated after a failure.
 */
export async function up(db: Knex): Promise<void> {
  await withShortLock(
    db,
    `
      -- Applies to the last finished run, unless that ended later: the last release does not reset it.
      alter table validation_jobs add column if not exists issues_removed_at timestamptz;
      -- Jobs with issues to remove. Progress reports change none of these columns.
      create index if not exists validation_jobs_with_issues on validation_jobs (finished_at)
        where cast(issue_counts as text) <> '[]' and (issues_removed_at is null or issues_removed_at < finished_at);

      alter table feeds add column if not exists raw_file_removed_at timestamptz;

      -- Objects to delete, written in the transaction that removes their last reference.
      create table if not exists removed_objects (
        bucket text collate "C" not null,
        object_key text collate "C" not null,
        primary key (bucket, object_key)
      );

      -- One process prunes at a time: the holder of the lease, which each batch renews.
      create table if not exists retention (
        is_the_only_row boolean primary key default true check (is_the_only_row),
        pruned_at timestamptz not null default '-infinity',
        lease_holder uuid,
        leased_until timestamptz not null default '-infinity'
      );
      insert into retention default values on conflict do nothing;

      -- A day of issues is some 1 % of the rows: autovacuum must free their space before the next day needs it.
      alter table row_issues set (
        autovacuum_vacuum_scale_factor = 0.005, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 1
      );
    `,
  );
}

/** Drops what `up` created. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    alter table row_issues reset (
      autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold, autovacuum_vacuum_cost_delay
    );
    drop table retention, removed_objects;
    alter table feeds drop column raw_file_removed_at;
    drop index validation_jobs_with_issues;
    alter table validation_jobs drop column issues_removed_at;
  `);
}

import type { Knex } from 'knex';
import { withShortLock } from './short-lock';

/** Each attempt for the locks is a transaction of its own, and the index is built concurrently. */
export const config = { transaction: false };

/** Lets runs of the kind `revert` wait in the queue, and finds what a change began. Can be repeated after a failure. */
export async function up(db: Knex): Promise<void> {
  await withShortLock(
    db,
    `
      alter table runs
        -- Of a revert: the run that it undoes.
        add column if not exists reverts_run integer,
        -- Of a revert: whether it leaves products alone that were changed since.
        add column if not exists skips_conflicts boolean not null default false,
        -- Of a revert in the queue, as in validation_jobs.
        add column if not exists attempts_left smallint not null default 0,
        -- Null while a revert is queued.
        alter column started_at drop not null,
        drop constraint if exists runs_status_known,
        drop constraint if exists runs_counted_when_finished,
        drop constraint if exists runs_reverts_a_run,
        add constraint runs_status_known check (status in ('queued', 'running', 'completed', 'failed')) not valid,
        add constraint runs_counted_when_finished check (
          (status in ('completed', 'failed'))
            = (num_nonnulls(finished_at, processed, inserted, updated, unchanged, skipped) = 6)
        ) not valid,
        add constraint runs_reverts_a_run check ((kind = 'revert') = (reverts_run is not null)) not valid;

      -- Reverts that are queued or running: hardly ever more than a few.
      create index if not exists runs_in_queue on runs (requested_at, job_id)
        where kind = 'revert' and status in ('queued', 'running');
    `,
  );
  for (const name of ['runs_status_known', 'runs_counted_when_finished', 'runs_reverts_a_run']) {
    await db.raw(`alter table runs validate constraint ${name}`);
  }
  // An interrupted build leaves an invalid index.
  const { rows } = await db.raw<{ rows: unknown[] }>(
    "select from pg_index where indexrelid = to_regclass('product_versions_run_id') and not indisvalid",
  );
  if (rows.length > 0) await db.raw('drop index concurrently product_versions_run_id');
  await db.raw(
    'create index concurrently if not exists product_versions_run_id on product_versions (run_id)',
  );
}

/** Drops what `up` created. Reverts are forgotten. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    drop index product_versions_run_id;
    delete from runs where kind = 'revert';
    alter table runs
      drop column reverts_run, drop column skips_conflicts, drop column attempts_left,
      alter column started_at set not null,
      drop constraint runs_status_known, drop constraint runs_counted_when_finished,
      add constraint runs_status_known check (status in ('running', 'completed', 'failed')),
      add constraint runs_counted_when_finished check (
        (status <> 'running') = (num_nonnulls(finished_at, processed, inserted, updated, unchanged, skipped) = 6)
      );
  `);
}

import type { Knex } from 'knex';

/**
 * Since when a run of the job waits in the queue; null: it is to be started by whoever asks for it. The queue itself is
 * in a schema of its own, which graphile-worker keeps up to date.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    alter table validation_jobs
      add column queued_at timestamptz,
      add constraint validation_jobs_queued_until_it_runs check (queued_at is null or status = 'queued');
    create index validation_jobs_queued on validation_jobs (queued_at) where queued_at is not null;
  `);
}

/** Drops what `up` created. */
export async function down(db: Knex): Promise<void> {
  await db.raw('alter table validation_jobs drop column queued_at');
}

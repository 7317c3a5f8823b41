import type { Knex } from 'knex';

/**
 * How far the run of a job is, as it has told last: `JobProgress` of the document, null unless a run goes on. Whether it
 * has been asked to stop.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    alter table validation_jobs
      add column progress jsonb,
      add column cancel_requested boolean not null default false
  `);
}

/** Drops what `up` created. */
export async function down(db: Knex): Promise<void> {
  await db.raw('alter table validation_jobs drop column progress, drop column cancel_requested');
}

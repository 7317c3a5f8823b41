import type { Knex } from 'knex';

/**
 * Makes the jobs the queue of their runs. `queued_at` goes on being release 1.2.0's mark of a run in graphile-worker's
 * queue: that release fails what has it and is not there.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    alter table validation_jobs
      -- When the run was asked for that waits or is in progress: its place in the queue. Null: there is none.
      add column run_requested_at timestamptz,
      -- How often that run may still be begun, should its process die.
      add column attempts_left smallint not null default 0,
      -- Of the feed, noted with the request: runs of one partner keep their order. Not 'partner_id': release 1.2.0 joins
      -- feeds and partners by that name.
      add column run_partner_id bigint;
    create index validation_jobs_in_queue on validation_jobs (run_requested_at, job_id)
      where run_requested_at is not null and status in ('queued', 'running');
    create index validation_jobs_of_partner_in_queue on validation_jobs (run_partner_id, run_requested_at, job_id)
      where run_requested_at is not null and status in ('queued', 'running');
  `);
}

/** Drops what `up` created; runs that wait have to be asked for again. */
export async function down(db: Knex): Promise<void> {
  await db.raw(
    'alter table validation_jobs drop column run_requested_at, drop column attempts_left, drop column run_partner_id',
  );
}

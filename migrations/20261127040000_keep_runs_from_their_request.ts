import type { Knex } from 'knex';
import { withShortLock } from './short-lock';

/** Each attempt for the locks is a transaction of its own, and the indexes are built concurrently. */
export const config = { transaction: false };

const indexes = {
  // The queue, by position.
  runs_pending: "(requested_at, job_id, run) where status in ('queued', 'running')",
  runs_pending_of_partner: "(partner_id, requested_at, job_id, run) where status in ('queued', 'running')",
};

export const functions = {
  keep_run: '6d83250466205b3c',
  show_run: '34690f00ea919ca6',
};

/** Makes each run a row of `runs` from its request on. Can be repeated after a failure. */
export async function up(db: Knex): Promise<void> {
  await withShortLock(
    db,
    `
      alter table runs
        -- Of the feed, noted with the request: runs of one partner keep their order. Null in runs that ended before.
        add column if not exists partner_id bigint,
        -- JobProgress of the document: the last report of a load in progress.
        add column if not exists progress jsonb,
        -- What the request of a load allows; null: the usual limit.
        add column if not exists max_withdrawn bigint,
        add column if not exists max_withdrawn_percent double precision,
        add column if not exists allow_older boolean not null default false;
    `,
  );
  for (const [name, definition] of Object.entries(indexes)) {
    // An interrupted build leaves an invalid index.
    const { rows } = await db.raw<{ rows: unknown[] }>(
      'select from pg_index where indexrelid = to_regclass(?) and not indisvalid',
      [name],
    );
    if (rows.length > 0) await db.raw(`drop index concurrently ${name}`);
    await db.raw(`create index concurrently if not exists ${name} on runs ${definition}`);
  }
  if (!(await db.schema.hasColumn('validation_jobs', 'run_requested_at'))) return;
  await withShortLock(
    db,
    `
      lock table validation_jobs, runs in access exclusive mode;
      create or replace trigger validation_jobs_run after update of status, queued_at, cancel_requested on validation_jobs
        for each row when (pg_trigger_depth() = 0) execute function keep_run();

      -- Loads in progress have a row.
      update runs set partner_id = feeds.partner_id, requested_by = job.requested_by, request_id = job.request_id,
        requested_at = job.run_requested_at, attempts_left = job.attempts_left, cancel_requested = job.cancel_requested,
        progress = job.progress, max_withdrawn = job.max_withdrawn, max_withdrawn_percent = job.max_withdrawn_percent,
        allow_older = job.allow_older
      from validation_jobs as job join feeds using (feed_id)
      where job.status = 'running' and (runs.job_id, runs.run) = (job.job_id, job.run_count);

      -- Those that wait have none, also those in the queue of release 1.2.0.
      with job as (
        update validation_jobs set run_count = run_count + 1
        where status = 'queued' and coalesce(run_requested_at, queued_at) is not null
        returning *
      )
      insert into runs (
        job_id, run, partner_id, status, mode, requested_by, request_id, requested_at, attempts_left, max_withdrawn,
        max_withdrawn_percent, allow_older
      )
      select job_id, run_count, partner_id, 'queued', mode, requested_by, request_id, coalesce(run_requested_at, queued_at),
        case when run_requested_at is null then 5 else attempts_left end, max_withdrawn, max_withdrawn_percent, allow_older
      from job join feeds using (feed_id);

      update runs set partner_id = feeds.partner_id
      from validation_jobs as job join feeds using (feed_id)
      where runs.job_id = job.job_id and kind = 'revert' and runs.status in ('queued', 'running');

      create or replace trigger runs_shown after insert or delete or update of status, cancel_requested on runs
        for each row when (pg_trigger_depth() = 0) execute function show_run();

      drop index if exists runs_in_queue;
      -- No release has known these.
      alter table validation_jobs
        drop column run_requested_at, drop column attempts_left, drop column run_partner_id, drop column requested_by,
        drop column request_id, drop column max_withdrawn, drop column max_withdrawn_percent, drop column allow_older;
    `,
    functions,
  );
}

/** Moves the queue of loads back to their jobs. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    alter table validation_jobs
      add column run_requested_at timestamptz, add column attempts_left smallint not null default 0,
      add column run_partner_id bigint, add column requested_by text, add column request_id text collate "C",
      add column max_withdrawn bigint, add column max_withdrawn_percent double precision,
      add column allow_older boolean not null default false;
    create index validation_jobs_in_queue on validation_jobs (run_requested_at, job_id)
      where run_requested_at is not null and status in ('queued', 'running');
    create index validation_jobs_of_partner_in_queue on validation_jobs (run_partner_id, run_requested_at, job_id)
      where run_requested_at is not null and status in ('queued', 'running');
    create index runs_in_queue on runs (requested_at, job_id) where kind = 'revert' and status in ('queued', 'running');

    update validation_jobs as job
    set run_requested_at = runs.requested_at, attempts_left = runs.attempts_left, run_partner_id = runs.partner_id,
      requested_by = runs.requested_by, request_id = runs.request_id, max_withdrawn = runs.max_withdrawn,
      max_withdrawn_percent = runs.max_withdrawn_percent, allow_older = runs.allow_older, progress = runs.progress
    from runs
    where runs.job_id = job.job_id and kind = 'load' and runs.status in ('queued', 'running');

    drop index runs_pending;
    drop trigger runs_shown on runs;
    drop trigger validation_jobs_run on validation_jobs;
    drop function show_run();
    with queued as (delete from runs where kind = 'load' and status = 'queued' returning job_id)
    update validation_jobs as job set run_count = run_count - 1 from queued where job.job_id = queued.job_id;
    alter table runs drop column partner_id, drop column progress, drop column max_withdrawn,
      drop column max_withdrawn_percent, drop column allow_older;

    create or replace function keep_run() returns trigger language plpgsql security definer as $$
    begin
      if old.status = 'running' and new.run_count = old.run_count and new.status in ('completed', 'failed') then
        update runs set status = new.status, finished_at = new.finished_at, failure_reason = new.failure_reason,
          processed = new.processed, inserted = new.inserted, updated = new.updated, unchanged = new.unchanged,
          skipped = new.skipped, withdrawn = coalesce(new.withdrawn, 0), restored = coalesce(new.restored, 0),
          would_withdraw = new.would_withdraw, withdrawals_withheld = new.withdrawals_withheld
        where job_id = new.job_id and run = new.run_count and status = 'running';
      elsif old.status = 'running' and (new.status <> 'running' or new.run_count <> old.run_count) then
        update runs set status = 'failed', finished_at = clock_timestamp(), failure_reason = 'The run was interrupted.',
          processed = 0, inserted = 0, updated = 0, unchanged = 0, skipped = 0, withdrawn = 0, restored = 0
        where job_id = new.job_id and run = old.run_count and status = 'running';
      end if;
      if new.status = 'running' and new.run_count <> old.run_count then
        insert into runs (job_id, run, status, mode, requested_by, requested_at, started_at)
        select new.job_id, new.run_count, new.status, mode, new.requested_by, new.run_requested_at, new.started_at
        from feeds where feed_id = new.feed_id;
      end if;
      return null;
    end $$;
    do $$
    begin
      execute format('alter function keep_run() set search_path = %I, pg_temp', current_schema());
    end $$;
    create trigger validation_jobs_run after update of status, run_count on validation_jobs
      for each row execute function keep_run();
  `);
}

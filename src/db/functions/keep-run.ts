import { inThisSchema } from './in-this-schema';

/**
 * Keeps the rows of runs that load a feed, in the transaction that changes the job.
 *
 * A run whose process died is followed by the next one, or by none: the job is queued again.
 */
export const keepRunSql = `
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
  ${inThisSchema('keep_run()')}
`;

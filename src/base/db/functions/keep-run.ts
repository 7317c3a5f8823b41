import { inThisSchema } from './in-this-schema';

/*
 * A run is a row of `runs` from its request on. The row of its job shows the last load, in the columns of release 1.2.0:
 * status, run_count, queued_at, started_at, finished_at, failure_reason, processed, inserted, updated, unchanged, skipped,
 * cancel_requested; and withdrawn, restored, would_withdraw, withdrawals_withheld. `show_run` writes them for a run of this
 * release; `keep_run` writes the run for a process of release 1.2.0, which knows only the job. Neither calls the other: they
 * ignore statements of triggers. A writer of both rows locks the row of the job first.
 */

/** Shows the last load in its job: cancelled loads, and attempts that were followed by others, do not count. */
export const showRunSql = `
  create or replace function show_run() returns trigger language plpgsql security definer as $$
  declare
    changed runs;
    shown runs;
  begin
    if tg_op = 'DELETE' then
      changed := old;
    else
      changed := new;
    end if;
    if tg_op <> 'UPDATE' then
      -- The number of a request that was withdrawn is free again, if it is the last one.
      update validation_jobs
      set run_count = case
        when tg_op = 'INSERT' then greatest(run_count, changed.run)
        when run_count = changed.run then run_count - 1
        else run_count
      end
      where job_id = changed.job_id;
    end if;
    if changed.kind <> 'load' then
      return null;
    end if;
    select * into shown from runs
    where job_id = changed.job_id and kind = 'load' and status <> 'cancelled'
      and failure_reason is distinct from 'The run was interrupted.'
    order by run desc limit 1;
    update validation_jobs
    set status = coalesce(shown.status, 'queued'), queued_at = null, started_at = shown.started_at,
      finished_at = shown.finished_at, failure_reason = shown.failure_reason, processed = shown.processed,
      inserted = shown.inserted, updated = shown.updated, unchanged = shown.unchanged, skipped = shown.skipped,
      withdrawn = shown.withdrawn, restored = shown.restored, would_withdraw = shown.would_withdraw,
      withdrawals_withheld = shown.withdrawals_withheld, cancel_requested = coalesce(shown.cancel_requested, false),
      progress = null
    where job_id = changed.job_id;
    return null;
  end $$;
  ${inThisSchema('show_run()')}
`;

/**
 * Stores the load that release 1.2.0 requests, starts, cancels or ends. A run in its queue is in this one too: the first claim
 * counts, and it has five attempts, as a run that this release enqueues. A run whose process died is followed by the next
 * one, or by none: then the job is queued again.
 */
export const keepRunSql = `
  create or replace function keep_run() returns trigger language plpgsql security definer as $$
  declare
    has_ended boolean := new.status in ('completed', 'failed') and new.run_count = old.run_count;
  begin
    if old.status = 'running' and not has_ended and (new.status <> 'running' or new.run_count <> old.run_count) then
      update runs set status = 'failed', finished_at = clock_timestamp(), failure_reason = 'The run was interrupted.',
        processed = 0, inserted = 0, updated = 0, unchanged = 0, skipped = 0, withdrawn = 0, restored = 0, progress = null
      where job_id = new.job_id and run = old.run_count and status = 'running';
    end if;
    if has_ended and old.status in ('queued', 'running') then
      update runs set status = new.status, finished_at = new.finished_at, failure_reason = new.failure_reason,
        processed = new.processed, inserted = new.inserted, updated = new.updated, unchanged = new.unchanged,
        skipped = new.skipped, withdrawn = coalesce(new.withdrawn, 0), restored = coalesce(new.restored, 0),
        would_withdraw = new.would_withdraw, withdrawals_withheld = new.withdrawals_withheld,
        cancel_requested = new.cancel_requested, progress = null
      where job_id = new.job_id and kind = 'load' and status in ('queued', 'running');
    elsif new.status = 'running' and new.run_count <> old.run_count then
      update runs set run = new.run_count, status = 'running', started_at = new.started_at, attempts_left = attempts_left - 1
      where job_id = new.job_id and kind = 'load' and status = 'queued';
      if not found then
        insert into runs (job_id, run, partner_id, status, mode, started_at)
        select new.job_id, new.run_count, partner_id, 'running', mode, new.started_at from feeds where feed_id = new.feed_id;
      end if;
    elsif new.status = 'queued' and new.queued_at is not null then
      -- A client of this release may wait for it, and withdraw it when it leaves.
      update runs set attempts_left = greatest(attempts_left, 5)
      where job_id = new.job_id and kind = 'load' and status = 'queued';
      insert into runs (job_id, run, partner_id, status, mode, requested_at, attempts_left)
      select new.job_id, new.run_count + 1, partner_id, 'queued', mode, new.queued_at, 5 from feeds
      where feed_id = new.feed_id and not exists (
        select from runs where job_id = new.job_id and kind = 'load' and status = 'queued'
      );
      update validation_jobs set run_count = run_count + 1
      where job_id = new.job_id and exists (select from runs where (job_id, run) = (new.job_id, new.run_count + 1));
    elsif new.cancel_requested and not old.cancel_requested then
      -- The run may be just ending, and about to write its job.
      update runs set cancel_requested = true
      where (job_id, run) in (
        select job_id, run from runs
        where (job_id, run) = (new.job_id, new.run_count) and status = 'running' for no key update skip locked
      );
    end if;
    return null;
  end $$;
  ${inThisSchema('keep_run()')}
`;

import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { Link, useLocation } from 'wouter';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { useJob } from '../data/queries';
import { reasonOf } from '../data/reasons';
import { fetchRuns, lastLoadOf, requesterOf } from '../data/runs';
import { useStartRun } from '../data/start-run';
import { time } from '../locale';
import { Action } from '../parts/action';
import { FailureNotice } from '../parts/failure';
import { Card, Loading } from '../parts/page';
import { Time } from '../parts/time';
import { WorkProgress } from '../parts/work-progress';
import { Summary } from '../parts/summary';
import { Value, visible } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';

/** A run in progress, or the last one. */
export function RunView({ feed }: { feed: Schemas['Feed'] }) {
  const jobId = feed.validation_job_id;
  const preview = addressOf('feed', { feed: feed.feed_id, step: 'plan' });
  const [, navigate] = useLocation();
  const queries = useQueryClient();
  const job = useJob(jobId);
  const runs = useQuery({
    queryKey: ['runs', jobId, 'latest', job.data?.status],
    queryFn: () => fetchRuns(jobId),
    placeholderData: keepPreviousData,
  });
  const { past, error, press } = useStartRun(feed, {
    onQuestion: () => navigate(preview),
    onQueued: () => queries.invalidateQueries(),
  });
  const status = job.data?.status;
  // Other views show the changes of the run.
  useEffect(() => {
    if (status === 'running') void queries.invalidateQueries({ queryKey: ['feed'] });
    if (status === 'completed' || status === 'failed')
      void queries.invalidateQueries({ predicate: ({ queryKey: [of] }) => of !== 'job' && of !== 'runs' });
  }, [status, queries]);
  if (job.error) return <FailureNotice error={job.error} retry={() => void job.refetch()} />;
  if (!job.data || runs.isPending) return <Loading />;
  // Runs read before the last change of the status do not have the last one.
  const known = runs.isPlaceholderData ? [] : (runs.data ?? []);
  const isInProgress = status === 'running' || job.data.queued_at !== undefined;
  const undoing = known.find(({ run: number }) => number === job.data.reverted_by);
  return (
    <Card title={isInProgress ? texts.run.inProgress : texts.run.last}>
      {error && <FailureNotice error={error} />}
      {runs.error && <FailureNotice error={runs.error} retry={() => void runs.refetch()} />}
      {isInProgress ? (
        <InProgress job={job.data} />
      ) : (
        <>
          {status === 'completed' && (
            <Completed feed={feed} job={job.data} run={lastLoadOf(known)} undoing={undoing} />
          )}
          {status === 'failed' && <Failed feed={feed} job={job.data} />}
          {status === 'queued' && (
            <p className="muted">
              {texts.run.notYet} {texts.run.notYetLead}
            </p>
          )}
          {status !== 'queued' || past.newer !== null ? (
            <Link className={`button ${status === 'queued' ? 'primary' : ''}`} href={preview}>
              {status === 'queued' ? texts.run.previewFirst : texts.run.preview}
            </Link>
          ) : (
            <div className="actions">
              <Action kind="primary" onPress={() => press()}>
                {texts.run.start}
              </Action>
              <Link className="button" href={preview}>
                {texts.run.seePreview}
              </Link>
            </div>
          )}
        </>
      )}
    </Card>
  );
}

function InProgress({ job }: { job: Schemas['Job'] }) {
  const cancel = useMutation({
    mutationFn: () =>
      bodyOf(client.POST('/jobs/{job_id}/cancel', { params: { path: { job_id: job.job_id } } })),
  });
  const { progress } = job;
  return (
    <>
      <WorkProgress
        label={progress ? (texts.run.phases[progress.phase] ?? texts.run.working) : texts.run.waiting}
        percent={
          progress && (progress.bytes_total > 0 ? (100 * progress.bytes_read) / progress.bytes_total : 0)
        }
      />
      {progress && (
        <p className="muted">{texts.run.rows(progress.rows, Math.round(progress.rows_per_second))}</p>
      )}
      {cancel.error && <FailureNotice error={cancel.error} />}
      <Action isDisabled={cancel.isPending || cancel.isSuccess} onPress={() => cancel.mutate()}>
        {cancel.isIdle || cancel.isError ? texts.run.cancel : texts.run.cancelling}
      </Action>
    </>
  );
}

interface CompletedOptions {
  feed: Schemas['Feed'];
  job: Schemas['Job'];
  run: number | undefined;
  /** The run that has undone this one. */
  undoing: Schemas['Run'] | undefined;
}

const actionsOfCounts: Record<string, string> = {
  inserted: 'insert',
  updated: 'update',
  withdrawn: 'withdraw',
  restored: 'restore',
};

function Completed({ feed: { feed_id: feed, partner_name: partner }, job, run, undoing }: CompletedOptions) {
  const { summary } = job;
  const hasIssues = job.issue_counts.length > 0;
  const hasErrors = job.issue_counts.some(({ severity }) => severity === 'error');
  const issues = addressOf('feed', { feed, step: 'issues' });
  const linkOf = (name: string) => {
    if (name === 'skipped') return issues;
    const action = actionsOfCounts[name];
    return action && run !== undefined ? addressOf('feed', { feed, step: 'runs', run, action }) : undefined;
  };
  return (
    <>
      {job.reverted_by === undefined ? (
        <p role="status" className={`notice ${summary?.skipped || hasIssues ? '' : 'good'}`}>
          <span>
            <strong>{texts.run.done}.</strong> {summary && resultOf(summary, hasIssues)}{' '}
            <Time at={job.finished_at} />
          </span>
        </p>
      ) : (
        <p role="status" className="notice">
          {texts.run.undone(job.reverted_by)}
          {undoing &&
            ` ${texts.run.undoneBy(time(undoing.finished_at), visible(requesterOf(undoing.requested_by)))}`}
        </p>
      )}
      {summary?.is_withdrawal_withheld && <p className="notice">{texts.run.withheld}</p>}
      {summary && <Summary summary={summary} addressOf={linkOf} />}
      <div className="actions">
        {hasIssues && (
          <Link className={`button ${hasErrors ? 'primary' : ''}`} href={issues}>
            {hasErrors ? texts.run.mend : texts.run.warnings}
          </Link>
        )}
        {run !== undefined && (
          <Link className="button" href={addressOf('feed', { feed, step: 'runs', run })}>
            {texts.run.changes}
          </Link>
        )}
        <Link className="button" href={addressOf('catalog', { partner })}>
          {texts.run.catalog}
        </Link>
      </div>
    </>
  );
}

function resultOf({ skipped }: Schemas['RunSummary'], hasIssues: boolean): string {
  if (skipped > 0) return texts.run.skipped(skipped);
  return hasIssues ? texts.run.warned : texts.run.clean;
}

/** Shows why the run failed. If a confirmation can prevent it, the preview of the next run offers it. */
function Failed({
  feed: { feed_id: feed },
  job: { message = '', summary },
}: Omit<CompletedOptions, 'run' | 'undoing'>) {
  const withdraw = summary?.would_withdraw;
  return (
    <div role="alert" className="notice bad">
      <h3>{texts.run.failed}</h3>
      <p>
        <Value>{reasonOf(message)}</Value>
      </p>
      {withdraw !== undefined && (
        <Link className="button" href={addressOf('feed', { feed, step: 'plan', withdraw })}>
          {texts.plan.withdraw(withdraw)}
        </Link>
      )}
    </div>
  );
}

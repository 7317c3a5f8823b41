import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Label, ProgressBar } from 'react-aria-components';
import { Link } from 'wouter';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { addressOf } from '../data/address';
import { useJob } from '../data/queries';
import { runJob } from '../data/upload';
import { Action } from '../parts/action';
import { Confirm } from '../parts/confirm';
import { Failure } from '../parts/failure';
import { Card, Loading } from '../parts/page';
import { Summary } from '../parts/summary';
import { Value } from '../parts/value';
import { texts } from '../texts';

/** A run in progress, or the last one. */
export function RunView({ feed }: { feed: Schemas['Feed'] }) {
  const jobId = feed.validation_job_id;
  const queries = useQueryClient();
  const job = useJob(jobId);
  const runs = useQuery({
    queryKey: ['runs', jobId, 'latest', job.data?.status],
    queryFn: () =>
      bodyOf(
        client.GET('/jobs/{job_id}/runs', { params: { path: { job_id: jobId }, query: { limit: 20 } } }),
      ),
  });
  const run = useMutation({
    mutationFn: (query: Parameters<typeof runJob>[1]) => runJob(jobId, query),
    onSuccess: () => queries.invalidateQueries(),
  });
  const status = job.data?.status;
  // Other views show what the run has changed.
  useEffect(() => {
    if (status === 'running') void queries.invalidateQueries({ queryKey: ['feed'] });
    if (status === 'completed' || status === 'failed')
      void queries.invalidateQueries({ predicate: ({ queryKey: [of] }) => of !== 'job' && of !== 'runs' });
  }, [status, queries]);
  if (job.error) return <Failure error={job.error} retry={() => void job.refetch()} />;
  if (!job.data || !runs.data) return <Loading />;
  const hasRun = status !== 'queued';
  const last = runs.data.items.find((one) => one.status !== 'cancelled');
  return (
    <Card title={texts.run.title}>
      {run.error && <Failure error={run.error} />}
      {status === 'running' || job.data.queued_at !== undefined ? (
        <InProgress job={job.data} />
      ) : (
        <>
          {status === 'completed' && <Completed feed={feed} job={job.data} run={last?.run} />}
          {status === 'failed' && <Failed job={job.data} onRun={run.mutate} />}
          {!hasRun && <p className="muted">{texts.run.notYet}</p>}
          <Action
            kind={status === 'completed' ? undefined : 'primary'}
            isDisabled={run.isPending}
            onPress={() => run.mutate({})}
          >
            {hasRun ? texts.run.again : texts.run.start}
          </Action>
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
  const share = progress && progress.bytes_total > 0 ? (100 * progress.bytes_read) / progress.bytes_total : 0;
  return (
    <>
      <ProgressBar className="progress" value={share} isIndeterminate={!progress}>
        {({ percentage, valueText }) => (
          <>
            <Label>
              {progress ? (texts.run.phases[progress.phase] ?? progress.phase) : texts.run.waiting}
            </Label>
            <span>{progress && valueText}</span>
            <progress aria-hidden max={100} value={percentage} />
          </>
        )}
      </ProgressBar>
      {progress && (
        <p className="muted">{texts.run.rows(progress.rows, Math.round(progress.rows_per_second))}</p>
      )}
      {cancel.error && <Failure error={cancel.error} />}
      <Action isDisabled={cancel.isPending || cancel.isSuccess} onPress={() => cancel.mutate()}>
        {cancel.isIdle || cancel.isError ? texts.run.cancel : texts.run.cancelling}
      </Action>
    </>
  );
}

function Completed({ feed, job, run }: { feed: Schemas['Feed']; job: Schemas['Job']; run?: number }) {
  const { summary } = job;
  return (
    <>
      <p role="status" className="notice good">
        {texts.run.done}.{' '}
        {summary && (summary.skipped > 0 ? texts.run.skipped(summary.skipped) : texts.run.clean)}
      </p>
      {summary && <Summary summary={summary} />}
      <div className="actions">
        {job.issue_counts.length > 0 && (
          <Link className="button primary" href={addressOf('feed', { feed: feed.feed_id, step: 'issues' })}>
            {texts.run.mend}
          </Link>
        )}
        {run !== undefined && (
          <Link className="button" href={addressOf('feed', { feed: feed.feed_id, step: 'runs', run })}>
            {texts.run.changes}
          </Link>
        )}
        <Link className="button" href={addressOf('catalog', { partner: feed.partner_name })}>
          {texts.run.catalog}
        </Link>
      </div>
    </>
  );
}

function Failed({
  job,
  onRun,
}: {
  job: Schemas['Job'];
  onRun: (query: Parameters<typeof runJob>[1]) => void;
}) {
  const [isAsked, setAsked] = useState(false);
  const withdrawn = job.summary?.would_withdraw;
  const isOlder = job.message?.startsWith('A newer feed') ?? false;
  const allow = () => {
    setAsked(false);
    onRun({ max_withdrawn: withdrawn });
  };
  return (
    <div role="alert" className="notice bad">
      <h3>{texts.run.failed}</h3>
      <p>
        <Value>{job.message}</Value>
      </p>
      {withdrawn !== undefined && (
        <Action kind="danger" onPress={() => setAsked(true)}>
          {texts.run.allow(withdrawn)}
        </Action>
      )}
      {isOlder && <Action onPress={() => onRun({ allow_older: true })}>{texts.run.older}</Action>}
      {withdrawn !== undefined && (
        <Confirm
          title={texts.run.allowTitle(withdrawn)}
          isOpen={isAsked}
          onClose={() => setAsked(false)}
          actions={
            <Action kind="danger" onPress={allow}>
              {texts.run.allow(withdrawn)}
            </Action>
          }
        >
          <p>{texts.run.allowLead}</p>
        </Confirm>
      )}
    </div>
  );
}

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { addressOf, useFilters } from '../data/address';
import { usePages } from '../data/queries';
import { runJob, type RunPermissions } from '../data/upload';
import { time } from '../locale';
import { Action } from '../parts/action';
import { Changes } from '../parts/changes';
import { Confirm } from '../parts/confirm';
import { Failure } from '../parts/failure';
import { More } from '../parts/more';
import { Card, Loading } from '../parts/page';
import { Summary } from '../parts/summary';
import { Value } from '../parts/value';
import { texts } from '../texts';
import { Faults } from './faults';

/** What a run would change, before and after; it can be begun here. The address says what the run may do. */
export function PlanView({ feed }: { feed: Schemas['Feed'] }) {
  const [, navigate] = useLocation();
  const [read, write] = useFilters();
  const [isAsked, setAsked] = useState(false);
  const queries = useQueryClient();
  const jobId = feed.validation_job_id;
  const permissions: RunPermissions = {
    max_withdrawn: read('withdraw') ? Number(read('withdraw')) : undefined,
    allow_older: read('older') === 'yes' || undefined,
  };
  const plan = usePages(['plan', jobId, permissions], (cursor) =>
    bodyOf(
      client.POST('/jobs/{job_id}/plan', {
        params: { path: { job_id: jobId }, query: { ...permissions, limit: 200, cursor } },
      }),
    ),
  );
  const run = useMutation({
    mutationFn: () => runJob(jobId, permissions),
    onSuccess: async (job) => {
      // What the last run left would be shown as the outcome of this one.
      queries.setQueryData(['job', jobId], job);
      navigate(addressOf('feed', { feed: feed.feed_id, step: 'run' }));
      await queries.invalidateQueries({ queryKey: ['feed', feed.feed_id] });
    },
    onError: () => setAsked(false),
  });
  if (plan.isLoadingError) return <Failure error={plan.error} retry={() => void plan.refetch()} />;
  const first = plan.data?.pages[0];
  if (!first) return <Loading />;
  const hasRun = feed.validation_status !== 'queued';
  const { max_withdrawn: withdrawn, allow_older: isOlder } = permissions;
  const isQuestion = hasRun || withdrawn !== undefined || isOlder;
  return (
    <>
      <Card title={texts.plan.title}>
        <Summary summary={first.summary} />
        {first.status === 'failed' && <WouldFail plan={first} onAllow={write} />}
        {first.issue_counts.length > 0 && (
          <>
            <h3>{texts.plan.problems}</h3>
            <Faults counts={first.issue_counts} />
          </>
        )}
        {run.error && <Failure error={run.error} />}
        <div className="actions">
          {first.status === 'completed' && (
            <Action
              kind="primary"
              isDisabled={run.isPending}
              onPress={() => (isQuestion ? setAsked(true) : run.mutate())}
            >
              {hasRun ? texts.run.again : texts.plan.run}
            </Action>
          )}
          <Link className="button" href={addressOf('send', { partner: feed.partner_name })}>
            {texts.plan.instead}
          </Link>
        </div>
      </Card>
      <Card>
        <Changes
          items={plan.data!.pages.flatMap(({ items }) => items)}
          action={read('action')}
          onFilter={(action) => write({ action })}
          none={first.status === 'failed' ? texts.plan.noneFailed : texts.plan.none}
          label={texts.plan.title}
        />
        <More list={plan} />
      </Card>
      <Confirm
        title={withdrawn === undefined ? texts.plan.ask : texts.run.allowTitle(first.summary.withdrawn)}
        isOpen={isAsked}
        onClose={() => setAsked(false)}
        actions={
          <Action kind="danger" isDisabled={run.isPending} onPress={() => run.mutate()}>
            {hasRun ? texts.run.again : texts.plan.run}
          </Action>
        }
      >
        <p>{texts.plan.askLead(time(feed.uploaded_at))}</p>
        {isOlder && <p>{texts.plan.askOlder}</p>}
        {withdrawn !== undefined && <p>{texts.run.allowLead}</p>}
        <Summary summary={first.summary} />
      </Confirm>
    </>
  );
}

interface WouldFailOptions {
  plan: Schemas['JobPlan'];
  /** Says in the address what the run may do. */
  onAllow: (permission: Record<string, string>) => void;
}

/** Why the run would fail; where a confirmation can prevent it, the preview of a confirmed run is offered. */
function WouldFail({ plan, onAllow }: WouldFailOptions) {
  const { newer_feed_id: newer, message } = plan;
  const { would_withdraw: withdrawn } = plan.summary;
  return (
    <div role="alert" className="notice bad">
      <h3>{texts.plan.would}</h3>
      <p>
        <Value>{message}</Value>
      </p>
      {newer !== undefined && (
        <div className="actions">
          <Action onPress={() => onAllow({ older: 'yes' })}>{texts.plan.older}</Action>
          <Link className="button" href={addressOf('feed', { feed: newer })}>
            {texts.plan.newer(newer)}
          </Link>
        </div>
      )}
      {withdrawn !== undefined && (
        <Action onPress={() => onAllow({ withdraw: String(withdrawn) })}>
          {texts.plan.withdraw(withdrawn)}
        </Action>
      )}
    </div>
  );
}

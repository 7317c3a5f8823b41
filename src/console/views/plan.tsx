import { Link, useLocation } from 'wouter';
import { useMutation } from '@tanstack/react-query';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { addressOf, useFilters } from '../data/address';
import { usePages } from '../data/queries';
import { runJob } from '../data/upload';
import { Action } from '../parts/action';
import { Changes } from '../parts/changes';
import { Failure } from '../parts/failure';
import { More } from '../parts/more';
import { Card, Loading } from '../parts/page';
import { Summary } from '../parts/summary';
import { Value } from '../parts/value';
import { texts } from '../texts';
import { Faults } from './faults';

/** What a run would change, before and after. */
export function PlanView({ feed }: { feed: Schemas['Feed'] }) {
  const [, navigate] = useLocation();
  const [read, write] = useFilters();
  const jobId = feed.validation_job_id;
  const plan = usePages(['plan', jobId], (cursor) =>
    bodyOf(
      client.POST('/jobs/{job_id}/plan', {
        params: { path: { job_id: jobId }, query: { limit: 200, cursor } },
      }),
    ),
  );
  const run = useMutation({
    mutationFn: () => runJob(jobId),
    onSuccess: () => navigate(addressOf('feed', { feed: feed.feed_id, step: 'run' })),
  });
  if (plan.isLoadingError) return <Failure error={plan.error} retry={() => void plan.refetch()} />;
  const first = plan.data?.pages[0];
  if (!first) return <Loading />;
  return (
    <>
      <Card title={texts.plan.title}>
        <Summary summary={first.summary} />
        {first.status === 'failed' && (
          <div role="alert" className="notice bad">
            <h3>{texts.plan.would}</h3>
            <p>
              <Value>{first.message}</Value>
            </p>
          </div>
        )}
        {first.issue_counts.length > 0 && (
          <>
            <h3>{texts.plan.problems}</h3>
            <Faults counts={first.issue_counts} />
          </>
        )}
        {run.error && <Failure error={run.error} />}
        <div className="actions">
          <Action kind="primary" isDisabled={run.isPending} onPress={() => run.mutate()}>
            {texts.plan.run}
          </Action>
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
          none={texts.plan.none}
          label={texts.plan.title}
        />
        <More list={plan} />
      </Card>
    </>
  );
}

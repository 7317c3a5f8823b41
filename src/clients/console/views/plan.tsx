import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { useFilters } from '../data/address';
import { usePages } from '../data/queries';
import { useStartRun, type Past } from '../data/start-run';
import type { RunOptions } from '../data/upload';
import { time } from '../locale';
import { Action } from '../parts/action';
import { Changes } from '../parts/changes';
import { Confirm } from '../parts/confirm';
import { FailureNotice } from '../parts/failure';
import { More } from '../parts/more';
import { Card, Loading } from '../parts/page';
import { Summary } from '../parts/summary';
import { Value } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';
import { Faults } from './faults';

/** Changes of a run, before and after; it can be started here. The address contains the permissions of the run. */
export function PlanView({ feed }: { feed: Schemas['Feed'] }) {
  const [, navigate] = useLocation();
  const [read, write] = useFilters();
  const [asked, setAsked] = useState<Past>();
  const queries = useQueryClient();
  const jobId = feed.validation_job_id;
  const permissions = permissionsOf(feed, read);
  const plan = usePages(['plan', jobId, permissions], (cursor) =>
    bodyOf(
      client.POST('/jobs/{job_id}/plan', {
        params: { path: { job_id: jobId }, query: { ...permissions, limit: 200, cursor } },
      }),
    ),
  );
  const first = plan.data?.pages[0];
  const { allow_older: isOlder } = permissions;
  // The address can allow any number; the request sends the number in the question.
  const withdrawn = permissions.max_withdrawn === undefined ? undefined : first?.summary.withdrawn;
  const { past, error, press } = useStartRun(feed, {
    permissions: { ...permissions, max_withdrawn: withdrawn },
    isQuestion: isOlder ?? Boolean(withdrawn),
    onQuestion: async (now, isNews) => {
      const shown =
        isNews || plan.isFetching ? (await plan.refetch({ throwOnError: true })).data?.pages[0] : first;
      setAsked(shown?.status === 'completed' ? now : undefined);
    },
    onQueued: async (job) => {
      // Otherwise the results of the last run would be shown as this one's.
      queries.setQueryData(['job', jobId], job);
      navigate(addressOf('feed', { feed: feed.feed_id, step: 'run' }));
      await queries.invalidateQueries({ queryKey: ['feed', feed.feed_id] });
    },
    onError: () => setAsked(undefined),
  });
  if (plan.isLoadingError) return <FailureNotice error={plan.error} retry={() => void plan.refetch()} />;
  if (!first) return <Loading />;
  return (
    <>
      <Card title={texts.plan.title}>
        <Summary summary={first.summary} />
        {first.status === 'failed' && (
          <WouldFail plan={first} onAllow={(permission) => write(permission, true)} />
        )}
        {first.issue_counts.length > 0 && (
          <>
            <h3>{texts.plan.problems}</h3>
            <Faults counts={first.issue_counts} />
          </>
        )}
        {error && <FailureNotice error={error} />}
        <div className="actions">
          {first.status === 'completed' && (
            <Action kind="primary" onPress={() => press()}>
              {past.hasRun ? texts.run.again : texts.plan.run}
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
        title={
          withdrawn ? texts.run.allowTitle(withdrawn) : asked?.hasRun ? texts.plan.ask : texts.plan.askFirst
        }
        isOpen={asked !== undefined}
        onClose={() => setAsked(undefined)}
        actions={
          <Action kind="danger" onPress={() => press(asked)}>
            {asked?.hasRun ? texts.run.again : texts.plan.run}
          </Action>
        }
      >
        <p>{texts.plan.askLead(time(feed.uploaded_at))}</p>
        {isOlder && <p>{texts.plan.askOlder}</p>}
        {asked?.newer && <p>{texts.plan.askNewer(asked.newer)}</p>}
        {withdrawn ? <p>{texts.run.allowLead}</p> : null}
        <Summary summary={first.summary} />
      </Confirm>
    </>
  );
}

/** Returns the permissions of a run in the address. Omits malformed ones, and permissions that only complete feeds can have. */
function permissionsOf({ mode }: Schemas['Feed'], read: (name: string) => string): RunOptions {
  if (mode !== 'replace') return {};
  const withdrawn = read('withdraw');
  return {
    max_withdrawn: /^\d{1,9}$/.test(withdrawn) ? Number(withdrawn) : undefined,
    allow_older: read('older') === 'yes' || undefined,
  };
}

interface WouldFailOptions {
  plan: Schemas['JobPlan'];
  /** Sets permissions of the run in the address. */
  onAllow: (permission: Record<string, string>) => void;
}

/** Shows why the run would fail; if a confirmation can prevent it, offers the preview of a confirmed run. */
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

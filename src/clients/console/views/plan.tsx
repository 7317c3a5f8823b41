import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import type { Schemas } from '../api';
import { useFilters } from '../data/address';
import { changeViewOf } from '../data/changes';
import { permissionsOf, usePlan } from '../data/plan';
import { useStartRun, type Past } from '../data/start-run';
import { time } from '../locale';
import { Action } from '../parts/action';
import { ChangeTabs } from '../parts/change-tabs';
import { Changes } from '../parts/changes';
import { Confirm } from '../parts/confirm';
import { Empty } from '../parts/empty';
import { FailureNotice } from '../parts/failure';
import { Card } from '../parts/page';
import { List } from '../parts/query';
import { Summary } from '../parts/summary';
import { addressOf } from '../routes';
import { texts } from '../texts';
import { Faults } from './faults';
import { PlanProgress } from './plan-progress';
import { WouldFail } from './would-fail';

/** Changes of a run, before and after; it can be started here. The address contains the permissions of the run. */
export function PlanView({ feed }: { feed: Schemas['Feed'] }) {
  const [read, write] = useFilters();
  const permissions = permissionsOf(feed, read);
  const view = changeViewOf(read);
  const { plan, cancel } = usePlan(feed.validation_job_id, permissions, view);
  const first = plan.data?.pages[0];
  // Until another part of the plan is there, the list would be that of the part before.
  const isListed = first !== undefined && !plan.isPlaceholderData;
  const waiting =
    plan.fetchStatus === 'idle' ? (
      <Empty
        title={texts.plan.cancelled}
        lead={texts.plan.cancelledLead}
        action={
          <Action kind="primary" onPress={() => void plan.refetch()}>
            {texts.feed.plan}
          </Action>
        }
      />
    ) : (
      <PlanProgress feed={feed} onCancel={cancel} />
    );
  if (plan.isLoadingError) return <FailureNotice error={plan.error} retry={() => void plan.refetch()} />;
  if (!first) return <Card title={texts.plan.title}>{waiting}</Card>;
  const hasFailed = first.status === 'failed';
  const hasList = !hasFailed || view.action !== undefined || first.items.length > 0;
  return (
    <>
      <Outcome
        feed={feed}
        plan={first}
        isStale={plan.isFetching}
        refetch={async () => (await plan.refetch({ throwOnError: true })).data?.pages[0]}
      />
      {hasList && (
        <Card>
          <ChangeTabs
            view={view}
            summary={hasFailed ? undefined : first.summary}
            order={texts.plan.byFile}
            onChange={write}
          />
          {isListed ? (
            <List
              of={plan}
              empty={
                <Empty
                  title={view.action ? texts.plan.noneShown : texts.plan.none}
                  lead={view.action || hasFailed ? undefined : texts.plan.noneLead}
                />
              }
            >
              {(items) => (
                <Changes items={items} label={texts.plan.title} isOneKind={view.action !== undefined} />
              )}
            </List>
          ) : (
            waiting
          )}
        </Card>
      )}
    </>
  );
}

interface OutcomeOptions {
  feed: Schemas['Feed'];
  plan: Schemas['JobPlan'];
  /** Whether the plan is being made again. */
  isStale: boolean;
  /** Makes the plan again. @throws as `bodyOf` */
  refetch: () => Promise<Schemas['JobPlan'] | undefined>;
}

/** What the run would do in total, and the button that starts it. */
function Outcome({ feed, plan, isStale, refetch }: OutcomeOptions) {
  const [, navigate] = useLocation();
  const [read, write] = useFilters();
  const [asked, setAsked] = useState<Past>();
  const queries = useQueryClient();
  const permissions = permissionsOf(feed, read);
  const { allow_older: isOlder } = permissions;
  // The address can allow any number; the request sends the number in the question.
  const withdrawn = permissions.max_withdrawn === undefined ? undefined : plan.summary.withdrawn;
  const { past, error, press } = useStartRun(feed, {
    permissions: { ...permissions, max_withdrawn: withdrawn },
    isQuestion: isOlder ?? Boolean(withdrawn),
    onQuestion: async (now, isNews) => {
      const shown = isNews || isStale ? await refetch() : plan;
      setAsked(shown?.status === 'completed' ? now : undefined);
    },
    onQueued: async (job) => {
      // Otherwise the results of the last run would be shown as this one's.
      queries.setQueryData(['job', feed.validation_job_id], job);
      navigate(addressOf('feed', { feed: feed.feed_id, step: 'run' }));
      await queries.invalidateQueries({ queryKey: ['feed', feed.feed_id] });
    },
    onError: () => setAsked(undefined),
  });
  const start = past.hasRun ? texts.run.again : texts.plan.run;
  return (
    <Card title={texts.plan.title}>
      {plan.status === 'completed' ? (
        <Summary summary={plan.summary} />
      ) : (
        <WouldFail plan={plan} onAllow={(permission) => write(permission, true)} />
      )}
      {plan.withheld_lines && <p className="notice">{texts.plan.withheld(plan.withheld_lines)}</p>}
      {plan.issue_counts.length > 0 && (
        <>
          <h3>{texts.plan.problems}</h3>
          <Faults counts={plan.issue_counts} />
        </>
      )}
      {error && <FailureNotice error={error} />}
      <div className="actions">
        {plan.status === 'completed' && (
          <Action kind="primary" onPress={() => press()}>
            {start}
          </Action>
        )}
        <Link className="button" href={addressOf('send', { partner: feed.partner_name })}>
          {texts.plan.instead}
        </Link>
      </div>
      <Confirm
        title={
          withdrawn ? texts.run.allowTitle(withdrawn) : asked?.hasRun ? texts.plan.ask : texts.plan.askFirst
        }
        isOpen={asked !== undefined}
        onClose={() => setAsked(undefined)}
        actions={
          <Action kind="danger" onPress={() => press(asked)}>
            {start}
          </Action>
        }
      >
        <p>{texts.plan.askLead(time(feed.uploaded_at))}</p>
        {isOlder && <p>{texts.plan.askOlder}</p>}
        {asked?.newer && <p>{texts.plan.askNewer(asked.newer)}</p>}
        {withdrawn ? <p>{texts.run.allowLead}</p> : null}
        <Summary summary={plan.summary} />
      </Confirm>
    </Card>
  );
}

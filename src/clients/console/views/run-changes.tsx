import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { useFilters } from '../data/address';
import { changeViewOf } from '../data/changes';
import { usePages } from '../data/queries';
import { fetchRuns } from '../data/runs';
import { Action } from '../parts/action';
import { ChangeTabs } from '../parts/change-tabs';
import { Changes } from '../parts/changes';
import { Empty } from '../parts/empty';
import { Card } from '../parts/page';
import { List } from '../parts/query';
import { Summary } from '../parts/summary';
import { addressOf } from '../routes';
import { texts } from '../texts';
import { RevertDialog } from './revert-dialog';

interface Options {
  feed: Schemas['Feed'];
  run: number;
}

/** The changes of a run, and the button that undoes them. */
export function RunChangesView({ feed, run }: Options) {
  const [isAsked, setAsked] = useState(false);
  const [read, write] = useFilters();
  const jobId = feed.validation_job_id;
  const view = changeViewOf(read);
  const changes = usePages(['changes', jobId, run, view], (cursor) =>
    bodyOf(
      client.GET('/jobs/{job_id}/changes', {
        params: {
          path: { job_id: jobId },
          query: { run, action: view.action, sort_by: view.sort, limit: 100, cursor },
        },
      }),
    ),
  );
  const runs = useQuery({ queryKey: ['runs', jobId, 'undone'], queryFn: () => fetchRuns(jobId) });
  const shown = runs.data?.find((each) => each.run === run);
  const undoing = shown?.reverted_by;
  const label = texts.runs.changes(run);
  return (
    <Card
      title={label}
      actions={
        <>
          <Link className="button" href={addressOf('feed', { feed: feed.feed_id, step: 'runs' })}>
            {texts.runs.all}
          </Link>
          {shown?.status === 'completed' && undoing === undefined && (
            <Action kind="danger" onPress={() => setAsked(true)}>
              {texts.runs.revert}
            </Action>
          )}
        </>
      }
    >
      {undoing !== undefined && <p className="notice">{texts.run.undone(undoing)}</p>}
      {shown?.summary && (
        <>
          <Summary summary={shown.summary} />
          <ChangeTabs view={view} summary={shown.summary} order={texts.runs.byProduct} onChange={write} />
        </>
      )}
      <List
        of={changes}
        empty={
          <Empty
            title={view.action ? texts.plan.noneShown : texts.runs.noChanges}
            lead={view.action ? undefined : texts.runs.noChangesLead}
          />
        }
      >
        {(items) => <Changes items={items} label={label} isOneKind={view.action !== undefined} />}
      </List>
      {isAsked && <RevertDialog feed={feed} run={run} onClose={() => setAsked(false)} />}
    </Card>
  );
}

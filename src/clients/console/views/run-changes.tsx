import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { useFilters } from '../data/address';
import { usePages } from '../data/queries';
import { Action } from '../parts/action';
import { Changes } from '../parts/changes';
import { FailureNotice } from '../parts/failure';
import { More } from '../parts/more';
import { Card, Loading } from '../parts/page';
import { Summary } from '../parts/summary';
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
  const changes = usePages(['changes', jobId, run], (cursor) =>
    bodyOf(
      client.GET('/jobs/{job_id}/changes', {
        params: { path: { job_id: jobId }, query: { run, limit: 200, cursor } },
      }),
    ),
  );
  const runs = useQuery({
    queryKey: ['runs', jobId, 'undone'],
    queryFn: () =>
      bodyOf(
        client.GET('/jobs/{job_id}/runs', { params: { path: { job_id: jobId }, query: { limit: 100 } } }),
      ),
  });
  const undoing = runs.data?.items.find((each) => each.run === run)?.reverted_by;
  if (changes.isLoadingError)
    return <FailureNotice error={changes.error} retry={() => void changes.refetch()} />;
  const first = changes.data?.pages[0];
  if (!first) return <Loading />;
  return (
    <Card
      title={texts.runs.changes(run)}
      actions={
        first.status === 'completed' &&
        runs.data &&
        undoing === undefined && (
          <Action kind="danger" onPress={() => setAsked(true)}>
            {texts.runs.revert}
          </Action>
        )
      }
    >
      {undoing !== undefined && <p className="notice">{texts.run.undone(undoing)}</p>}
      {first.summary && <Summary summary={first.summary} />}
      <Changes
        items={changes.data!.pages.flatMap(({ items }) => items)}
        action={read('action')}
        onFilter={(action) => write({ action })}
        none={texts.runs.noChanges}
        label={texts.runs.changes(run)}
      />
      <More list={changes} />
      {isAsked && <RevertDialog feed={feed} run={run} onClose={() => setAsked(false)} />}
    </Card>
  );
}

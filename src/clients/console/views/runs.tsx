import { Link } from 'wouter';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { usePages } from '../data/queries';
import { reasonOf } from '../data/reasons';
import { countsOf, requesterOf } from '../data/runs';
import { count } from '../locale';
import { Empty } from '../parts/empty';
import { Card } from '../parts/page';
import { List } from '../parts/query';
import { Status } from '../parts/summary';
import { DataTable, type DataColumn } from '../parts/table';
import { Time } from '../parts/time';
import { Value } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';

type Run = Schemas['Run'];

/** Every run of a feed, newest first. */
export function RunsView({ feed: { feed_id: feed, validation_job_id: jobId } }: { feed: Schemas['Feed'] }) {
  const runs = usePages(['runs', jobId], (cursor) =>
    bodyOf(client.GET('/jobs/{job_id}/runs', { params: { path: { job_id: jobId }, query: { cursor } } })),
  );
  const counted = (name: 'inserted' | 'updated' | 'withdrawn' | 'restored' | 'skipped'): DataColumn<Run> => ({
    title: texts.counts[name]!,
    kind: 'number',
    cell: ({ summary }) => summary && count(countsOf(summary)[name]),
  });
  const hasRestored = runs.data?.pages.some(({ items }) => items.some(({ summary }) => summary?.restored));
  const columns: DataColumn<Run>[] = [
    { title: texts.runs.number, kind: 'name', cell: (run) => <RunName feed={feed} run={run} /> },
    { title: texts.runs.status, cell: (run) => <Result run={run} /> },
    counted('inserted'),
    counted('updated'),
    counted('withdrawn'),
    ...(hasRestored ? [counted('restored')] : []),
    counted('skipped'),
    {
      title: texts.runs.by,
      cell: ({ requested_by: key }) => key && <Value>{requesterOf(key)}</Value>,
    },
    { title: texts.runs.finished, kind: 'tight', cell: ({ finished_at: at }) => at && <Time at={at} /> },
  ];
  return (
    <Card title={texts.runs.title}>
      <List
        of={runs}
        empty={
          <Empty
            title={texts.runs.none}
            lead={texts.runs.noneLead}
            action={
              <Link className="button" href={addressOf('feed', { feed, step: 'plan' })}>
                {texts.run.seePreview}
              </Link>
            }
          />
        }
      >
        {(items) => (
          <DataTable label={texts.runs.title} columns={columns} rows={items} keyOf={({ run }) => run} />
        )}
      </List>
    </Card>
  );
}

function RunName({ feed, run: { run, kind, status, reverts_run: undone } }: { feed: string; run: Run }) {
  const name = kind === 'load' || undone === undefined ? texts.runs.load(run) : texts.runs.undo(run, undone);
  if (status !== 'completed') return name;
  return <Link href={addressOf('feed', { feed, step: 'runs', run })}>{name}</Link>;
}

function Result({ run: { status, reverted_by: undoing, failure_reason: reason } }: { run: Run }) {
  return (
    <>
      <Status status={status} isUndone={undoing !== undefined} />
      {undoing !== undefined && <p className="muted">{texts.runs.revertedBy(undoing)}</p>}
      {reason && (
        <p className="muted">
          <Value>{reasonOf(reason)}</Value>
        </p>
      )}
    </>
  );
}

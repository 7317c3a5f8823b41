import { Link } from 'wouter';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { usePages } from '../data/queries';
import { count, time } from '../locale';
import { FailureNotice } from '../parts/failure';
import { More } from '../parts/more';
import { Card, Loading } from '../parts/page';
import { Status } from '../parts/summary';
import { ScrollTable } from '../parts/scroll-table';
import { Value } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';

/** Every run of a feed, newest first. */
export function RunsView({ feed }: { feed: Schemas['Feed'] }) {
  const jobId = feed.validation_job_id;
  const runs = usePages(['runs', jobId], (cursor) =>
    bodyOf(client.GET('/jobs/{job_id}/runs', { params: { path: { job_id: jobId }, query: { cursor } } })),
  );
  if (runs.isLoadingError) return <FailureNotice error={runs.error} retry={() => void runs.refetch()} />;
  if (!runs.data) return <Loading />;
  const items = runs.data.pages.flatMap((page) => page.items);
  const { number, kind, status, by, finished } = texts.runs;
  const { inserted, updated, skipped } = texts.counts;
  return (
    <Card title={texts.runs.title}>
      {items.length === 0 ? (
        <p className="muted">{texts.runs.none}</p>
      ) : (
        <ScrollTable
          label={texts.runs.title}
          columns={[
            ...[number, kind, status].map((title) => ({ title })),
            ...[inserted, updated, skipped].map((title) => ({ title: title!, isNumber: true })),
            ...[by, finished].map((title) => ({ title })),
          ]}
        >
          {items.map((run) => (
            <tr key={run.run}>
              <th scope="row">
                {run.status === 'completed' ? (
                  <Link href={addressOf('feed', { feed: feed.feed_id, step: 'runs', run: run.run })}>
                    {texts.runs.changes(run.run)}
                  </Link>
                ) : (
                  run.run
                )}
              </th>
              <td>{texts.runs.kinds[run.kind]}</td>
              <td>
                <Status status={run.status} isUndone={run.reverted_by !== undefined} />
                {run.reverted_by && <p className="muted">{texts.runs.revertedBy(run.reverted_by)}</p>}
                {run.failure_reason && (
                  <p className="muted">
                    <Value>{run.failure_reason}</Value>
                  </p>
                )}
              </td>
              {(['inserted', 'updated', 'skipped'] as const).map((name) => (
                <td key={name} className="number">
                  {run.summary ? count(run.summary[name]) : texts.none}
                </td>
              ))}
              <td>
                <Value>{run.requested_by}</Value>
              </td>
              <td>{time(run.finished_at)}</td>
            </tr>
          ))}
        </ScrollTable>
      )}
      <More list={runs} />
    </Card>
  );
}

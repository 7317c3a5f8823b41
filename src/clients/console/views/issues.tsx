import { Link } from 'wouter';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { useFilters } from '../data/address';
import { useEdits } from '../data/edits';
import { useJob, usePages } from '../data/queries';
import { useLastLoad } from '../data/runs';
import { Card } from '../parts/page';
import { Empty } from '../parts/empty';
import { List, Query } from '../parts/query';
import { DataTable, type DataColumn } from '../parts/table';
import { Value } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';
import { Mend } from './mend';
import { Reasons } from './reasons';

/** The issues of the last run, by reason; the skipped rows can be mended. */
export function IssuesView({ feed }: { feed: Schemas['Feed'] }) {
  const job = useJob(feed.validation_job_id);
  const run = useLastLoad(feed);
  return (
    <Query of={job}>
      {({ status, issue_counts: counts }) => {
        if (status !== 'completed' && status !== 'failed') return <NotRun feed={feed} />;
        return (
          <Query of={run}>
            {(number) => (
              <RunIssues key={`${feed.feed_id}/${number}`} feed={feed} run={number} counts={counts} />
            )}
          </Query>
        );
      }}
    </Query>
  );
}

const NotRun = ({ feed }: { feed: Schemas['Feed'] }) => (
  <Empty
    title={texts.issues.notRun}
    lead={texts.issues.notRunLead}
    action={
      <Link className="button primary" href={addressOf('feed', { feed: feed.feed_id, step: 'run' })}>
        {texts.feed.run}
      </Link>
    }
  />
);

interface RunOptions {
  feed: Schemas['Feed'];
  /** The last load. */
  run: number;
  counts: Schemas['RowIssueCount'][];
}

function RunIssues({ feed, run, counts }: RunOptions) {
  const [read, write] = useFilters();
  const code = read('code');
  const kept = useEdits(feed.feed_id, run);
  const discarded = kept.areDiscarded && (
    <p role="status" className="notice">
      {texts.issues.discarded}
    </p>
  );
  if (counts.length === 0)
    return (
      <>
        {discarded}
        <Card title={texts.issues.none}>
          <p role="status" className="notice good">
            {texts.issues.noneLead}
          </p>
        </Card>
      </>
    );
  const hasShown = (severity: Schemas['IssueSeverity']) =>
    counts.some((each) => each.severity === severity && (code === '' || each.code === code));
  return (
    <>
      {discarded}
      <Reasons counts={counts} code={code} onChoose={(chosen) => write({ code: chosen, page: '' })} />
      {hasShown('error') && <Mend feed={feed} code={code} run={run} kept={kept} />}
      {hasShown('warning') && <Warnings jobId={feed.validation_job_id} code={code} />}
    </>
  );
}

function Warnings({ jobId, code }: { jobId: string; code: string }) {
  const issues = usePages(['issues', jobId, code], (cursor) =>
    bodyOf(
      client.GET('/jobs/{job_id}/issues', {
        params: {
          path: { job_id: jobId },
          query: {
            severity: 'warning',
            code: (code || undefined) as Schemas['KnownRowIssueCode'] | undefined,
            limit: 200,
            cursor,
          },
        },
      }),
    ),
  );
  if (issues.data?.pages[0]?.issues_removed_at) return <p className="notice">{texts.issues.removed}</p>;
  const columns: DataColumn<Schemas['RowIssue']>[] = [
    { title: texts.issues.line, kind: 'number', cell: ({ line }) => line },
    { title: texts.fields.sku!, kind: 'tight', cell: ({ sku }) => sku && <Value>{sku}</Value> },
    { title: texts.plan.field, kind: 'tight', cell: ({ field }) => field && (texts.fields[field] ?? field) },
    { title: texts.issues.value, kind: 'tight', cell: ({ value }) => value && <Value>{value}</Value> },
    { title: texts.issues.reason, cell: ({ message }) => message },
  ];
  return (
    <Card title={texts.issues.warnings}>
      <p className="muted">{texts.issues.warningsLead}</p>
      <List of={issues} empty={null}>
        {(items) => (
          <DataTable
            label={texts.issues.warnings}
            columns={columns}
            rows={items}
            keyOf={({ row, field, column_number, code: reason }) =>
              `${row}/${field ?? ''}/${column_number ?? ''}/${reason}`
            }
          />
        )}
      </List>
    </Card>
  );
}

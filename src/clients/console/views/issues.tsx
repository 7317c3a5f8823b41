import { Link } from 'wouter';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { useFilters } from '../data/address';
import { useEdits } from '../data/edits';
import { useJob, usePages, useProfile } from '../data/queries';
import { useLastLoad } from '../data/runs';
import { FailureNotice } from '../parts/failure';
import { More } from '../parts/more';
import { Card, Loading } from '../parts/page';
import { Prose } from '../parts/prose';
import { ScrollTable } from '../parts/scroll-table';
import { Value } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';
import { MendTable } from './mend-table';

/** The issues of the last run, by reason; the skipped rows can be mended. */
export function IssuesView({ feed }: { feed: Schemas['Feed'] }) {
  const job = useJob(feed.validation_job_id);
  const run = useLastLoad(feed);
  if (job.error) return <FailureNotice error={job.error} retry={() => void job.refetch()} />;
  if (run.error) return <FailureNotice error={run.error} retry={() => void run.refetch()} />;
  if (!job.data || run.data === undefined) return <Loading />;
  const { status, issue_counts: counts } = job.data;
  if (status !== 'completed' && status !== 'failed')
    return (
      <Card>
        <p>{texts.issues.notRun}</p>
        <Link className="button primary" href={addressOf('feed', { feed: feed.feed_id, step: 'run' })}>
          {texts.feed.run}
        </Link>
      </Card>
    );
  return <RunIssues key={`${feed.feed_id}/${run.data}`} feed={feed} run={run.data} counts={counts} />;
}

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
      {hasShown('error') && <MendTable feed={feed} code={code} run={run} kept={kept} />}
      {hasShown('warning') && <Warnings jobId={feed.validation_job_id} code={code} />}
    </>
  );
}

interface ReasonsOptions {
  counts: Schemas['RowIssueCount'][];
  /** The selected reason; empty: all. */
  code: string;
  onChoose: (code: string) => void;
}

function Reasons({ counts, code, onChoose }: ReasonsOptions) {
  const meanings = useProfile().data?.issue_codes ?? [];
  return (
    <Card title={texts.issues.reasons}>
      <ul className="reasons">
        {counts.map(({ code: reason, count, severity }) => {
          const meaning = meanings.find((known) => known.code === reason);
          const isChosen = reason === code;
          return (
            <li key={reason}>
              <button type="button" aria-pressed={isChosen} onClick={() => onChoose(isChosen ? '' : reason)}>
                <strong>
                  <Prose>{meaning?.description ?? reason}</Prose>
                </strong>
                <span className={`badge ${severity === 'error' ? 'bad' : 'watch'}`}>
                  {texts.issues[severity]}: {texts.issues.rows(count)}
                </span>
              </button>
              <p className="muted">
                <code>{reason}</code>
                {meaning && (
                  <>
                    {' · '}
                    {texts.issues.remedy} <Prose>{meaning.remedy}</Prose>
                  </>
                )}
              </p>
            </li>
          );
        })}
      </ul>
    </Card>
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
  if (issues.isLoadingError)
    return <FailureNotice error={issues.error} retry={() => void issues.refetch()} />;
  if (!issues.data) return <Loading />;
  if (issues.data.pages[0]?.issues_removed_at) return <p className="notice">{texts.issues.removed}</p>;
  const items = issues.data.pages.flatMap((page) => page.items);
  const columns = [
    texts.issues.line,
    texts.fields.sku!,
    texts.plan.field,
    texts.issues.value,
    texts.issues.reason,
  ];
  return (
    <Card title={texts.issues.warnings}>
      <p className="muted">{texts.issues.warningsLead}</p>
      <ScrollTable label={texts.issues.warnings} columns={columns.map((title) => ({ title }))}>
        {items.map(({ line, row, sku, field, column_number, value, message, code: reason }) => (
          <tr key={`${row}/${field ?? ''}/${column_number ?? ''}/${reason}`}>
            <td>{line}</td>
            <td>
              <Value>{sku}</Value>
            </td>
            <td>{field && (texts.fields[field] ?? field)}</td>
            <td>
              <mark>
                <Value>{value}</Value>
              </mark>
            </td>
            <td>
              <Value>{message}</Value>
            </td>
          </tr>
        ))}
      </ScrollTable>
      <More list={issues} />
    </Card>
  );
}

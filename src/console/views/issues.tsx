import { Link } from 'wouter';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { addressOf, useFilters } from '../data/address';
import { useJob, usePages, useProfile } from '../data/queries';
import { Failure } from '../parts/failure';
import { More } from '../parts/more';
import { Card, Loading } from '../parts/page';
import { Prose } from '../parts/prose';
import { Table } from '../parts/table';
import { Value } from '../parts/value';
import { texts } from '../texts';
import { MendTable } from './mend-table';

/** The issues of the last run, by reason; the skipped rows can be mended. */
export function IssuesView({ feed }: { feed: Schemas['Feed'] }) {
  const jobId = feed.validation_job_id;
  const [read, write] = useFilters();
  const code = read('code');
  const job = useJob(jobId);
  const issues = usePages(
    ['issues', jobId],
    (cursor) =>
      bodyOf(
        client.GET('/jobs/{job_id}/issues', {
          params: { path: { job_id: jobId }, query: { limit: 1000, cursor } },
        }),
      ),
    job.data?.status === 'completed' || job.data?.status === 'failed',
  );
  if (job.data && !['completed', 'failed'].includes(job.data.status))
    return (
      <Card>
        <p>{texts.issues.notRun}</p>
        <Link className="button primary" href={addressOf('feed', { feed: feed.feed_id, step: 'run' })}>
          {texts.feed.run}
        </Link>
      </Card>
    );
  if (issues.error) return <Failure error={issues.error} retry={() => void issues.refetch()} />;
  const first = issues.data?.pages[0];
  if (!first) return <Loading />;
  if (first.issues_removed_at) return <p className="notice">{texts.issues.removed}</p>;
  if (first.issue_counts.length === 0)
    return (
      <Card title={texts.issues.none}>
        <p role="status" className="notice good">
          {texts.issues.noneLead}
        </p>
      </Card>
    );
  const all = issues.data!.pages.flatMap(({ items }) => items);
  const errors = all.filter(({ severity }) => severity === 'error');
  const warnings = all.filter((issue) => issue.severity === 'warning' && (!code || issue.code === code));
  return (
    <>
      <Reasons
        counts={first.issue_counts}
        code={code}
        onChoose={(chosen) => write({ code: chosen, page: '' })}
      />
      {errors.length > 0 && <MendTable feed={feed} issues={errors} code={code} />}
      {warnings.length > 0 && <Warnings issues={warnings} />}
      <More list={issues} />
    </>
  );
}

interface ReasonsOptions {
  counts: Schemas['RowIssueCount'][];
  /** The reason that is shown; empty: all. */
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

function Warnings({ issues }: { issues: Schemas['RowIssue'][] }) {
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
      <Table label={texts.issues.warnings} columns={columns.map((title) => ({ title }))}>
        {issues.map(({ line, row, sku, field, value, message, code }) => (
          <tr key={`${row}/${field ?? ''}/${code}`}>
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
      </Table>
    </Card>
  );
}

import Table from 'cli-table3';
import stringWidth from 'string-width';
import type { components } from '../../generated/openapi';
import { countText, printable } from './printable';

type Job = components['schemas']['Job'];
type RowIssue = components['schemas']['RowIssue'];

/** What became of a job, for people: its state, its counters, and how often each issue occurred. Ends with a line break. */
export function jobReport(job: Job): string {
  const lines = [`Job ${job.job_id} of feed ${job.feed_id}: ${job.status}.`];
  // The counters, which end it, come below.
  const reason = job.message?.replace(job.result ?? '', '').trim();
  if (reason) lines.push(reason);
  const { summary } = job;
  if (summary) {
    lines.push('');
    for (const counter of ['processed', 'inserted', 'updated', 'unchanged', 'skipped'] as const) {
      lines.push(`${counter.padEnd(10)} ${countText(summary[counter]).padStart(13)}`);
    }
  }
  return lines.map((line) => `${printable(line)}\n`).join('');
}

/**
 * How often each issue occurred, however many are kept, and the first of them.
 * @param url - the address of what the job has under a path: `issues`
 * @param width - of the table, in columns
 */
export function issuesReport(
  { issue_counts, summary }: Job,
  issues: readonly RowIssue[],
  url: (path: string) => string,
  width: number,
): string {
  const total = issue_counts.reduce((sum, { count }) => sum + count, 0);
  const kinds = issue_counts.map(
    ({ code, severity, count }) =>
      `${countText(count)} ${code}${severity === 'error' ? '' : ` (${severity})`}`,
  );
  const first = issues.length > 0 && issues.length < total ? `; the first ${issues.length}:` : '';
  const table = issues.length > 0 ? `\n${issueTable(issues, width)}` : '';
  const links = [`All issues:   GET ${url('issues')}`];
  if (summary && summary.skipped > 0) links.push(`Skipped rows: GET ${url('rejects.csv')}`);
  return `\nIssues: ${printable(kinds.join(', '))}${first}\n${table}\n${links.join('\n')}\n`;
}

/** How wide each column is at most; what does not fit is cut. */
const columns = { line: 11, sku: 24, field: 13, code: 26, value: 24 } as const;
/** The message is wrapped within what the others leave, but not narrower than this. */
const messageWidthMin = 30;
const gap = '  ';

/** Issues as a table that is `width` wide, if that leaves room for their messages. Ends with a line break. */
export function issueTable(issues: readonly RowIssue[], width: number): string {
  const head = [...Object.keys(columns), 'message'];
  // Most messages explain the code, and are the same each time.
  const explained = new Map<string, number>();
  const rows = issues.map(({ line, sku, field, code, value, message }) => {
    const earlier = explained.get(message);
    explained.set(message, earlier ?? line);
    const text = earlier === undefined ? message : `see line ${earlier}`;
    return [String(line), sku ?? '', field ?? '', code, value ?? '', text].map(printable);
  });
  const widths = Object.values(columns).map((widest, column) =>
    Math.min(widest, Math.max(...[head, ...rows].map((cells) => stringWidth(cells[column]!)))),
  );
  const others = widths.reduce((sum, each) => sum + each + gap.length, 0);
  const table = new Table({
    colWidths: [...widths, Math.max(width - others, messageWidthMin)],
    chars: { ...noLines, middle: gap },
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
  });
  table.push(
    head,
    ...rows.map((cells) => [...cells.slice(0, -1), { content: cells.at(-1), wordWrap: true }]),
  );
  const lines = table.toString().split('\n');
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`;
}

const noLines = Object.fromEntries(
  'top top-mid top-left top-right bottom bottom-mid bottom-left bottom-right left left-mid mid mid-mid right right-mid'
    .split(' ')
    .map((name) => [name, '']),
);

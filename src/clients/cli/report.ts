import type { components } from '../../../generated/openapi';
import { inOptions } from './advice';
import { countText, printable } from './printable';
import { textTable, type TableColumn } from './table';

type Job = components['schemas']['Job'];
type RunSummary = components['schemas']['RunSummary'];
type RowIssue = components['schemas']['RowIssue'];
type RowIssueCount = components['schemas']['RowIssueCount'];

/** Formats status and counters of a job. Ends with a line break. */
export function jobReport(job: Job): string {
  const lines = [`Job ${job.job_id} of feed ${job.feed_id}: ${job.status}.`];
  // Without the counters at its end: they follow as a table.
  const reason = job.message?.replace(job.result ?? '', '').trim();
  if (reason) lines.push(inOptions(reason));
  if (job.reverted_by !== undefined) lines.push(`Undone by run ${job.reverted_by}.`);
  return linesText(lines) + (job.summary ? `\n${countersText(job.summary)}` : '');
}

/**
 * Formats the counters of a run, counters of withdrawals only if they are not 0, and why nothing is withdrawn.
 * @param withheldLines - lines of rows that prevent withdrawals, if known
 */
export function countersText(summary: RunSummary, withheldLines: readonly number[] = []): string {
  const usual = ['processed', 'inserted', 'updated', 'unchanged', 'skipped'] as const;
  const ofWithdrawals = (['withdrawn', 'restored'] as const).filter((counter) => summary[counter] > 0);
  const counters = [...usual, ...ofWithdrawals];
  const table = counters.map(
    (counter) => `${counter.padEnd(10)} ${countText(summary[counter]).padStart(13)}`,
  );
  const isWithheld = summary.is_withdrawal_withheld || withheldLines.length > 0;
  return linesText(isWithheld ? [...table, '', withheldText(withheldLines)] : table);
}

/** Maximum number of lines that a text names. */
const linesShown = 10;

function withheldText(lines: readonly number[]): string {
  const more = lines.length > linesShown ? ', …' : '';
  const where = lines.length > 0 ? ` Lines: ${lines.slice(0, linesShown).join(', ')}${more}` : '';
  return `No product is withdrawn, because rows cannot be split into cells and may name any product.${where}`;
}

export function linesText(lines: readonly string[]): string {
  return lines.map((line) => `${printable(line)}\n`).join('');
}

/** Formats the counts of the issues, the first issues, and links to the rest, which `url` makes. */
export function issuesReport(
  { issue_counts, summary }: Job,
  issues: readonly RowIssue[],
  url: (path: string) => string,
): string {
  const links = [`All issues:   GET ${url('issues')}`];
  if (summary && summary.skipped > 0) links.push(`Skipped rows: GET ${url('rejects.csv')}`);
  return `${issuesText(issue_counts, issues)}\n${links.join('\n')}\n`;
}

/** Formats the counts of the issues and a table of the first ones. Begins with a blank line. */
export function issuesText(counts: readonly RowIssueCount[], issues: readonly RowIssue[]): string {
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  const kinds = counts.map(
    ({ code, severity, count }) =>
      `${countText(count)} ${code}${severity === 'error' ? '' : ` (${severity})`}`,
  );
  const first = issues.length > 0 && issues.length < total ? `; the first ${issues.length}:` : '';
  const table = issues.length > 0 ? `\n${issueTable(issues)}` : '';
  return `\nIssues: ${printable(kinds.join(', '))}${first}\n${table}`;
}

const issueColumns: TableColumn[] = [
  ['line', 11],
  ['sku', 24],
  ['field', 13],
  ['code', 26],
  ['value', 24],
];

/** Formats issues as a table. Ends with a line break. */
export function issueTable(issues: readonly RowIssue[], width?: number): string {
  // Most messages depend only on the code: repeated ones refer to the first.
  const explained = new Map<string, number>();
  const rows = issues.map(({ line, sku, field, code, value, message }) => {
    const earlier = explained.get(message);
    explained.set(message, earlier ?? line);
    const text = earlier === undefined ? message : `see line ${earlier}`;
    return [String(line), sku ?? '', field ?? '', code, value ?? '', text];
  });
  return textTable(issueColumns, 'message', rows, width);
}

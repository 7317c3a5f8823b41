import type { components } from '../../../generated/openapi';
import { exitCodes } from './failures';
import { moreText } from './lists';
import { printableJson } from './printable';
import { countersText, issuesText, linesText } from './report';
import type { Work } from './session';
import { textTable } from './table';

type JobPlan = components['schemas']['JobPlan'];
type FieldChange = components['schemas']['FieldChange'];

export function showPlan(jobId: string, page: { limit: number; cursor?: string }): Work {
  return async ({ service, json }) => {
    const plan = await service.askFor('the plan', ['a plan', 'items'], () =>
      service.api.POST('/jobs/{job_id}/plan', { params: { path: { job_id: jobId }, query: page } }),
    );
    process.stdout.write(json ? `${printableJson(plan)}\n` : planReport(plan));
    return plan.status === 'completed' ? exitCodes.done : exitCodes.refused;
  };
}

function planReport({
  job_id,
  feed_id,
  status,
  message,
  summary,
  issue_counts,
  items,
  withheld_lines,
  next_cursor,
}: JobPlan): string {
  const outcome = status === 'completed' ? 'a run would change this.' : `a run would fail. ${message}`;
  const issues = issue_counts.length > 0 ? issuesText(issue_counts, []) : '';
  const changes = items.length > 0 ? `\n${changeTable(items)}` : '';
  return (
    linesText([`Job ${job_id} of feed ${feed_id}: ${outcome}`]) +
    `\n${countersText(summary, withheld_lines)}${issues}${changes}${moreText(next_cursor)}`
  );
}

export function changeTable(
  items: Pick<JobPlan['items'][number], 'line' | 'sku' | 'action' | 'changes'>[],
): string {
  return textTable(
    [
      ['line', 11],
      ['sku', 24],
      ['action', 8],
    ],
    'changes',
    items.map(({ line, sku, action, changes }) => [
      line === null ? '' : String(line),
      sku,
      action,
      changes.map((change) => changeText(change, action)).join('; '),
    ]),
  );
}

function changeText({ field, before, after }: FieldChange, action: string): string {
  const value = (text: string | null) => text ?? '(none)';
  return action === 'insert' ? `${field}: ${value(after)}` : `${field}: ${value(before)} -> ${value(after)}`;
}

import type { components } from '../../../generated/openapi';
import type { FieldValue } from '../etl/field-changes';
import type { ProductEffect } from '../etl/list-effects';
import { summaryText, type RunCounters } from '../etl/run-result';
import { formatId } from '../../base/ids';
import type { JobRunRow, RunRow } from './job-runs.repository';
import { countersOf, endText, type Job } from './jobs.service';
import { cancelledReason } from '../../base/errors';

/** Maps a job to its representation. */
export function jobBody(job: Job): components['schemas']['Job'] {
  return {
    job_id: job.jobId,
    feed_id: formatId('FD', job.feedId),
    status: job.status,
    job_type: job.type,
    message: job.message,
    result: job.result,
    created_at: job.createdAt.toISOString(),
    started_at: job.startedAt?.toISOString() ?? null,
    finished_at: job.finishedAt?.toISOString() ?? null,
    queued_at: job.queuedAt?.toISOString(),
    summary: job.summary,
    issue_counts: job.issueCounts,
    reverted_by: job.revertedBy,
    progress: job.progress,
  };
}

/** Maps a run to its representation. */
export function runBody(run: RunRow): components['schemas']['Run'] {
  return {
    run: run.run,
    kind: run.kind,
    reverts_run: run.reverts_run ?? undefined,
    reverted_by: run.reverted_by ?? undefined,
    status: run.status,
    mode: run.mode ?? undefined,
    requested_by: run.requested_by,
    requested_at: run.requested_at?.toISOString() ?? null,
    started_at: run.started_at?.toISOString() ?? null,
    finished_at: run.finished_at?.toISOString() ?? null,
    failure_reason: run.failure_reason,
    summary: summaryOf(run),
  };
}

/** The counters of a run; null until it has ended, and if it was cancelled before its start. */
function summaryOf(run: RunRow): RunCounters | null {
  return run.status === 'completed' || run.status === 'failed' ? countersOf(run) : null;
}

/** Formats the state of a run for people. */
function runMessage(run: RunRow): string {
  const what = run.kind === 'revert' ? 'Revert' : 'ETL';
  const summary = summaryOf(run);
  if (!summary) {
    if (run.status === 'cancelled') return cancelledReason;
    return run.status === 'queued' ? 'The revert is queued. It starts automatically.' : `${what} is running.`;
  }
  return run.kind === 'revert'
    ? revertText(run.failure_reason, summary)
    : endText(run.failure_reason, summary);
}

/** Formats the message of a revert that has ended, or of its preview. */
export function revertText(failureReason: string | null, counters: RunCounters): string {
  const result = summaryText(counters);
  return failureReason === null ? result : `Revert failed: ${failureReason} ${result}`;
}

/** Maps a page of the changes of a run to its representation. */
export function runChangesBody(
  run: JobRunRow,
  effects: ProductEffect[],
  nextCursor: string | undefined,
): components['schemas']['RunChanges'] {
  return {
    job_id: formatId('JV', run.job_id),
    feed_id: formatId('FD', run.feed_id),
    run: run.run,
    kind: run.kind,
    status: run.status,
    message: runMessage(run),
    summary: summaryOf(run),
    count: effects.length,
    items: effects.map(changeBody),
    next_cursor: nextCursor,
  };
}

/** Maps an effect on a product to an item of a plan. */
export function changeBody(effect: ProductEffect): components['schemas']['ProductChange'] {
  return {
    product_id: formatId('PR', effect.productId),
    row: null,
    line: null,
    sku: effect.sku,
    product_name: effect.productName,
    currency: effect.currency ?? undefined,
    action: effect.action,
    changes: effect.changes,
    price_change_percent: effect.priceChange === null ? undefined : Number(effect.priceChange),
  };
}

/** Maps a run of the kind `revert` to its representation. */
export function revertBody(run: JobRunRow): components['schemas']['RunRevert'] {
  return {
    job_id: formatId('JV', run.job_id),
    feed_id: formatId('FD', run.feed_id),
    reverts_run: run.reverts_run!,
    run: run.run,
    status: run.status,
    message: runMessage(run),
    summary: summaryOf(run),
  };
}

/** Maps a product that a revert would overwrite to its representation. */
export function conflictBody({
  productId,
  sku,
  changes,
  before,
  after,
}: ProductEffect): components['schemas']['RevertConflict'] {
  const isMoved = before.withdrawnAt?.getTime() !== after.withdrawnAt?.getTime();
  const valuesOf = (state: ProductEffect['after'], values: Record<string, FieldValue>) => ({
    feed_id: formatId('FD', state.feedId!),
    ...values,
    ...(isMoved && { withdrawn_at: state.withdrawnAt?.toISOString() ?? null }),
  });
  return {
    product_id: formatId('PR', productId),
    sku,
    current: valuesOf(before, Object.fromEntries(changes.map((change) => [change.field, change.before]))),
    reverted: valuesOf(after, Object.fromEntries(changes.map((change) => [change.field, change.after]))),
  };
}

import type { components } from '../../generated/openapi';
import { changeBody, conflictBody, revertText } from './jobs/jobs.body';
import { formatId } from '../base/ids';
import type { RevertPlan } from './revert.service';

/** Maps the preview of a revert to its representation. */
export function revertPlanBody({
  run,
  failureReason,
  summary,
  changes,
  nextCursor,
  conflicts,
}: RevertPlan): components['schemas']['RunRevert'] {
  return {
    job_id: formatId('JV', run.job_id),
    feed_id: formatId('FD', run.feed_id),
    reverts_run: run.run,
    run: null,
    status: failureReason === null ? 'completed' : 'failed',
    message: revertText(failureReason, summary),
    summary,
    count: changes.length,
    items: changes.map(changeBody),
    conflicts: conflicts.map(conflictBody),
    next_cursor: nextCursor,
  };
}

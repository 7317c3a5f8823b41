import type { Database } from '../../base/db/database';
import { findRunChange } from '../etl/change-effects';
import type { ChangeAction, ChangeSort } from '../etl/change-order';
import { listEffects, type ProductEffect } from '../etl/list-effects';
import { jobToRunNotFound, runHistoryNotKept, runNotFound } from '../../base/errors';
import { parseId } from '../../base/ids';
import type { PartnerScope } from '../../base/caller';
import { formatEffectPosition, parseEffectPosition } from './change-cursors';
import { findRun, type JobRunRow } from './job-runs.repository';
import { findJob } from './jobs.service';

/** Identifies a run by the id of its job, as sent. */
export interface AskedRun {
  id: string;
  run: number;
  scope: PartnerScope;
}

/** @throws job_not_found, run_not_found */
export async function getRun(db: Database, { id, run, scope }: AskedRun): Promise<JobRunRow> {
  if (!(await findJob(db, id, scope))) throw jobToRunNotFound();
  const jobId = parseId('JV', id);
  const found = jobId === undefined ? undefined : await findRun(db, { jobId, run, scope });
  if (!found) throw runNotFound(id, run);
  return found;
}

export const hasChanges = (run: JobRunRow) => countOf(run) > 0;

/** Returns how many changes of a run have the action. Restored products are among the updated ones. */
function countOf({ inserted, updated, restored, withdrawn }: JobRunRow, action?: ChangeAction): number {
  const counts = {
    insert: inserted!,
    update: updated! - (restored ?? 0),
    restore: restored ?? 0,
    withdraw: withdrawn ?? 0,
  };
  return action === undefined ? inserted! + updated! + counts.withdraw : counts[action];
}

interface RunChangePage {
  run: JobRunRow;
  effects: ProductEffect[];
  /** Start of the next page; absent when there are no more changes. */
  nextCursor?: string;
}

/** Which changes to list, and in which order. */
export interface ChangeQuery {
  limit: number;
  sort: ChangeSort;
  /** Absent: all. */
  action?: ChangeAction;
  /** The `nextCursor` of the previous page with the same order. */
  cursor?: string;
}

/**
 * Lists the changes of a run; none for a run that failed or has not ended.
 * @throws job_not_found, run_not_found, history_not_kept, invalid_cursor
 */
export async function listRunChanges(
  db: Database,
  asked: AskedRun,
  { cursor, ...query }: ChangeQuery,
): Promise<RunChangePage> {
  const page = { ...query, ...parseEffectPosition(cursor, query.sort) };
  const run = await getRun(db, asked);
  if (run.status !== 'completed') return { run, effects: [] };
  const kept = await findRunChange(db, { jobId: run.job_id, run: run.run }, hasChanges(run));
  if (kept === 'not kept') throw runHistoryNotKept(asked.id, asked.run);
  if (!kept.change || countOf(run, query.action) === 0) return { run, effects: [] };
  const { effects, hasMore } = await listEffects(db, kept.change, page);
  const last = effects.at(-1);
  const next = last && { size: last.size, afterProduct: last.productId };
  return { run, effects, nextCursor: hasMore && next ? formatEffectPosition(next, query.sort) : undefined };
}

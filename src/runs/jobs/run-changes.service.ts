import type { Database } from '../../base/db/database';
import { findRunChange, listEffects, type EffectPage, type ProductEffect } from '../etl/change-effects';
import { invalidCursor, jobToRunNotFound, runHistoryNotKept, runNotFound } from '../../base/errors';
import { formatId, parseId } from '../../base/ids';
import type { PartnerScope } from '../../base/caller';
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

export const hasChanges = ({ inserted, updated, withdrawn }: JobRunRow) =>
  inserted! + updated! + (withdrawn ?? 0) > 0;

interface RunChangePage {
  run: JobRunRow;
  effects: ProductEffect[];
  /** Start of the next page; absent when there are no more changes. */
  nextCursor?: string;
}

/**
 * Lists the changes of a run by product number; none for a run that failed or has not ended.
 * @throws job_not_found, run_not_found, history_not_kept, invalid_cursor
 */
export async function listRunChanges(
  db: Database,
  asked: AskedRun,
  { limit, cursor }: { limit: number; cursor?: string },
): Promise<RunChangePage> {
  const page = { limit, afterProduct: parseProductPosition(cursor) };
  const run = await getRun(db, asked);
  if (run.status !== 'completed') return { run, effects: [] };
  const kept = await findRunChange(db, { jobId: run.job_id, run: run.run }, hasChanges(run));
  if (kept === 'not kept') throw runHistoryNotKept(asked.id, asked.run);
  if (!kept.change) return { run, effects: [] };
  const { effects, hasMore } = await listEffects(db, 'done', kept.change, page);
  return { run, effects, nextCursor: nextPosition(effects, hasMore) };
}

/** Returns the cursor after the last effect, if there are more. */
export function nextPosition(effects: ProductEffect[], hasMore: boolean): string | undefined {
  const last = effects.at(-1);
  return hasMore && last ? formatId('PR', last.productId) : undefined;
}

/** Parses a cursor to a product number; 0 is before the first. @throws invalid_cursor */
export function parseProductPosition(cursor: unknown): EffectPage['afterProduct'] {
  if (cursor === undefined) return 0;
  const productId = typeof cursor === 'string' ? parseId('PR', cursor) : undefined;
  if (productId === undefined) throw invalidCursor();
  return productId;
}

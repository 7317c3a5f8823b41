import type { Database } from '../../src/base/db/database';
import { inTransaction } from '../../src/base/db/transaction';
import type { RequestedRun, RunNumber } from '../../src/runs/jobs/job-runs.repository';
import { requestRun, withdrawRun } from '../../src/runs/queue/run-requests.repository';
import {
  findRunTarget,
  queuedRunAttempts,
  type RunRequest,
} from '../../src/runs/queue/run-target.repository';

export async function requestRunOf(
  db: Database,
  jobId: number,
  { attempts = queuedRunAttempts, ...request }: RunRequest & { attempts?: number } = {},
): Promise<RequestedRun & { waited: boolean }> {
  const target = await findRunTarget(db, jobId, null);
  return inTransaction(db, 'request', (trx) => requestRun(trx, { ...target!, ...request }, attempts));
}

/** Cancels the request of a run, like a client that disconnects. */
export const withdraw = (db: Database, run: RunNumber): Promise<void> =>
  inTransaction(db, 'request', (trx) => withdrawRun(trx, run));

export async function lastRunOf(db: Database, jobId: number): Promise<RunNumber> {
  const last = await db('runs').where('job_id', jobId).max<{ run: number }>('run as run').first();
  return { jobId, run: last!.run };
}

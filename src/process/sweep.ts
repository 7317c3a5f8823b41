import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../db/database';
import { deleteExpiredAnswers } from '../idempotency/idempotency.repository';
import { failInterruptedRuns } from '../jobs/left-runs.repository';
import { limits } from '../limits';
import type { Log } from '../log';
import { removeIdleLanes } from '../queue/queue';
import { moveDeliveriesOfLastRelease } from '../webhooks/last-release';

/**
 * Shows runs as failed whose process has died, here or elsewhere, moves webhooks that the last release has left, and forgets
 * what was answered too long ago, and lanes of the queue that are idle: now, and then one look after the other.
 */
export async function startSweep(db: Database, log: Log, signal: AbortSignal): Promise<void> {
  let lanesNextAt = 0;
  const sweep = async () => {
    try {
      const interrupted = await failInterruptedRuns(db);
      if (interrupted.length > 0) log.warn({ job_ids: interrupted }, 'interrupted runs are marked as failed');
    } catch (error) {
      log.warn({ err: error }, 'interrupted runs could not be looked for');
    }
    try {
      await moveDeliveriesOfLastRelease(db);
    } catch (error) {
      log.warn({ err: error }, 'failed to move webhook deliveries of the last release');
    }
    try {
      if (performance.now() >= lanesNextAt && (await removeIdleLanes(db))) {
        lanesNextAt = performance.now() + limits.idleLanesMilliseconds;
      }
    } catch (error) {
      lanesNextAt = performance.now() + limits.idleLanesMilliseconds;
      log.warn({ err: error }, 'idle lanes of the queue could not be removed');
    }
    try {
      await deleteExpiredAnswers(db);
    } catch (error) {
      log.warn({ err: error }, 'expired answers to idempotent requests could not be removed');
    }
  };
  const sweepOn = async () => {
    for (;;) {
      await sleep(limits.interruptedRunsMilliseconds, undefined, { ref: false, signal });
      await sweep();
    }
  };
  await sweep();
  // It ends by the signal alone.
  sweepOn().catch(() => undefined);
}

import { setTimeout as sleep } from 'node:timers/promises';
import { runTaskList, type Task } from 'graphile-worker';
import type { Database, DatabaseAddress } from '../db/database';
import { limits } from '../limits';
import type { Log } from '../log';
import { deliver } from './deliver';
import { deliveryTask, freeLeftSql, type Delivery } from '../events/outbox';
import { keepWorking, openQueuePool, queueLogger, queueOptions } from '../queue/queue';

/** Sends events to the endpoints that want them. */
export interface WebhookWorker {
  /** Sends no more; what is on its way has a moment to end. Can be called again. @returns when it has ended */
  stop(): Promise<void>;
}

/**
 * Takes deliveries out of the queue and makes them, some at a time. They wait for the network, not for one another: runs
 * have other places.
 */
export function startWebhookWorker(
  address: DatabaseAddress,
  {
    db,
    log,
    privateAddresses,
    shutdownSeconds,
  }: { db: Database; log: Log; privateAddresses: boolean; shutdownSeconds: number },
): WebhookWorker {
  const stopMilliseconds = Math.min(limits.deliveryStopMilliseconds, shutdownSeconds * 1000);
  const pgPool = openQueuePool(address, limits.queueConnections + 1, log);
  const options = {
    ...queueOptions,
    concurrency: limits.concurrentDeliveries,
    pollInterval: limits.deliveryPollMilliseconds,
    gracefulShutdownAbortTimeout: stopMilliseconds,
    noHandleSignals: true,
    logger: queueLogger(log),
  };
  const send: Task = (payload, { abortSignal: signal }) =>
    deliver(payload as Delivery, { db, log, privateAddresses, signal });
  const places = keepWorking(() => runTaskList(options, { [deliveryTask]: send }, pgPool), log);
  const end = async () => {
    await places.stop();
    await pgPool.end();
  };
  let stopped: Promise<void> | undefined;
  return {
    // What could not be given back to the queue by then is taken from there by whoever looks for what is left.
    stop: () =>
      (stopped ??= Promise.race([
        end(),
        sleep(stopMilliseconds + limits.closeMilliseconds, undefined, { ref: false }),
      ])),
  };
}

/**
 * Frees the deliveries that were taken from the queue so long ago that whoever lives has made them: they are made again.
 * Safe at any time, on any number of processes.
 */
export async function freeLeftDeliveries(db: Database): Promise<void> {
  await db.raw(freeLeftSql, { milliseconds: limits.deliveryOverdueMilliseconds });
}

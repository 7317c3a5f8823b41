import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../db/database';
import { startPeriodicTask } from '../shared/periodic-task';
import { deliver, discardDeliveries, type DeliveryContext } from './deliver';
import { claimDeliveries } from './deliveries.repository';
import { closeMilliseconds } from '../db/database';

/**
 * Events that a process sends at a time: they wait for receivers, in the main thread. Of those, so many to one endpoint,
 * on all processes together: some slow receivers leave places for others.
 */
export const concurrentDeliveries = 12;

/** At shutdown, how long an event that is being sent may take; then another worker sends it. */
const deliveryStopMilliseconds = 5_000;

/** How often the table is asked for deliveries: notifications do not come through every pooler. */
const pollMilliseconds = 500;
/** The same after a failure. */
const failurePauseMilliseconds = 2_000;
/** How often deliveries are looked for that nobody wants any more, or that are too old. */
const discardMilliseconds = 10_000;

/** Sends events to the endpoints that want them. */
export interface WebhookWorker {
  /** Claims no more; what is being sent has a moment to end. Can be called again. @returns when it has ended */
  stop(): Promise<void>;
}

/** Claims deliveries and makes them, some at a time. They wait for the network, not for one another. */
export function startWebhookWorker(
  db: Database,
  {
    log,
    privateAddresses,
    shutdownSeconds,
    observe,
  }: Pick<DeliveryContext, 'log' | 'observe'> & { privateAddresses: boolean; shutdownSeconds: number },
): WebhookWorker {
  const aborting = new AbortController();
  const context = { db, log, observe, privateAddresses, signal: aborting.signal };
  const sending = new Set<Promise<void>>();
  let discardAt = 0;

  const task = startPeriodicTask({
    milliseconds: pollMilliseconds,
    millisecondsAfterFailure: failurePauseMilliseconds,
    onError: (error) => log.warn({ err: error }, 'failed to claim webhook deliveries'),
    async run() {
      if (performance.now() >= discardAt) {
        await discardDeliveries(context);
        discardAt = performance.now() + discardMilliseconds;
      }
      const free = concurrentDeliveries - sending.size;
      if (free === 0) return;
      for (const delivery of await claimDeliveries(db, free)) {
        const sent = deliver(delivery, context)
          .catch((error: unknown) =>
            log.warn({ err: error, webhook_id: delivery.message_id }, 'failed to process a webhook delivery'),
          )
          .finally(() => {
            sending.delete(sent);
            // There is room for the next one of its endpoint.
            task.wake();
          });
        sending.add(sent);
      }
    },
  });

  const ended = async (milliseconds: number) => {
    await Promise.race([Promise.all(sending), sleep(milliseconds, undefined, { ref: false })]);
  };
  const end = async () => {
    await task.stop();
    await ended(Math.min(deliveryStopMilliseconds, shutdownSeconds * 1000));
    aborting.abort();
    // What cannot be released by then is sent again when its lease has expired.
    await ended(closeMilliseconds);
  };
  let stopped: Promise<void> | undefined;
  return { stop: () => (stopped ??= end()) };
}

import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../db/database';
import { startPeriodicTask } from '../shared/periodic-task';
import { deliver, type DeliveryContext } from './deliver';
import { claimDeliveries } from './deliveries.repository';
import { DeliverySlots } from './delivery-slots';
import { closeMilliseconds } from '../db/database';

/** At shutdown, attempts in progress may take this long; then they are aborted, and another worker repeats them. */
const deliveryStopMilliseconds = 5_000;

const failurePauseMilliseconds = 2_000;

interface WebhookWorker {
  /** Drains: claims nothing more, and waits for attempts in progress for some seconds. Safe to call again. */
  stop(): Promise<void>;
}

/**
 * Starts to deliver events. Several processes share the work.
 * @param options - `pollMilliseconds`: interval of polling for due deliveries, as not every pooler passes notifications on
 */
export function startWebhookWorker(
  db: Database,
  {
    log,
    privateAddresses,
    shutdownSeconds,
    pollMilliseconds = 500,
    observe,
  }: Pick<DeliveryContext, 'log' | 'observe'> & {
    privateAddresses: boolean;
    shutdownSeconds: number;
    pollMilliseconds?: number;
  },
): WebhookWorker {
  const aborting = new AbortController();
  // Each delivery in progress listens.
  setMaxListeners(0, aborting.signal);
  const context = { db, log, observe, privateAddresses, signal: aborting.signal };
  const sending = new Set<Promise<void>>();
  const slots = new DeliverySlots();

  const task = startPeriodicTask({
    milliseconds: pollMilliseconds,
    millisecondsAfterFailure: failurePauseMilliseconds,
    onError: (error) => log.warn({ err: error }, 'failed to claim webhook deliveries'),
    async run() {
      const free = slots.free();
      if (!free) return;
      for (const delivery of await claimDeliveries(db, free)) {
        const leave = slots.take(delivery.webhook_endpoint_id);
        const sent = deliver(delivery, context)
          .catch((error: unknown) =>
            log.warn({ err: error, webhook_id: delivery.message_id }, 'failed to process a webhook delivery'),
          )
          .finally(() => {
            leave();
            sending.delete(sent);
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
    // A delivery that is not released by then is repeated when its lease has expired.
    await ended(closeMilliseconds);
  };
  let stopped: Promise<void> | undefined;
  return { stop: () => (stopped ??= end()) };
}

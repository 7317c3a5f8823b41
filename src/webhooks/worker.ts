import type { Database } from '../base/db/database';
import { startClaimingWorker, type ClaimingWorker } from '../base/concurrency/claiming-worker';
import { deliver, type DeliveryContext } from './deliver';
import { claimDeliveries } from './deliveries.repository';
import { DeliverySlots } from './delivery-slots';

/** Starts to deliver events. Several processes share the work. */
export function startWebhookWorker(
  db: Database,
  {
    log,
    secretBox,
    privateAddresses,
    partnerPrivateAddresses,
    proxy,
    shutdownSeconds,
    pollMilliseconds = 500,
    observe,
  }: Omit<DeliveryContext, 'db' | 'signal'> & {
    shutdownSeconds: number;
    /** Interval of polling for due deliveries. */
    pollMilliseconds?: number;
  },
): ClaimingWorker {
  const slots = new DeliverySlots();
  return startClaimingWorker({
    pollMilliseconds,
    shutdownSeconds,
    async claim() {
      const free = slots.free();
      return free ? claimDeliveries(db, free) : [];
    },
    execute(delivery, signal) {
      const leave = slots.take(delivery.webhook_endpoint_id);
      const addresses = { privateAddresses, partnerPrivateAddresses, proxy };
      const context = { db, log, observe, secretBox, ...addresses, signal };
      return deliver(delivery, context).finally(leave);
    },
    onClaimError: (error) => log.warn({ err: error }, 'failed to claim webhook deliveries'),
    onError: (error, { message_id }) =>
      log.warn({ err: error, webhook_id: message_id }, 'failed to process a webhook delivery'),
  });
}

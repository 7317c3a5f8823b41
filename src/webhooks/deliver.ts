import type { Database } from '../db/database';
import type { Log } from '../shared/log';
import { stringifyJson } from '../shared/exact-json';
import {
  deleteDelivery,
  dropUnwantedDeliveries,
  giveUpOldDeliveries,
  releaseDelivery,
  rescheduleDelivery,
  type ClaimedDelivery,
} from './deliveries.repository';
import {
  disableEndpoint,
  disableIfDead,
  noteDelivery,
  noteFailure,
  noteGivenUp,
} from './endpoints.repository';
import type { DeliveryOutcome } from './delivery-outcomes';
import { describeEvent } from './event-data';
import { send, type SendOptions } from './send';

/**
 * After how many seconds an event is sent again that was not accepted, up to a fifth later: nine times within 28 to 33
 * hours, the first again soon, so that a restart of the receiver goes unnoticed.
 */
export const webhookRetrySeconds = [5, 60, 300, 1_800, 7_200, 18_000, 36_000, 36_000];

/** Of how many events that are given up at once a log line has the ids: the first ones. */
const idsInLog = 100;

/** What deliveries are made with. */
export interface DeliveryContext extends SendOptions {
  db: Database;
  log: Log;
  /** Counts deliveries by their outcome. */
  observe?: (outcome: DeliveryOutcome, count: number) => void;
}

/**
 * Sends one event to one endpoint, once. What is not accepted is rescheduled, with a longer delay each time, until it has
 * failed too often. An endpoint that answers 410, or has accepted nothing for days, is disabled. An event whose order no
 * longer exists is discarded.
 * @throws whatever the database throws; another worker sends the event when the lease has expired
 */
export async function deliver(delivery: ClaimedDelivery, context: DeliveryContext): Promise<void> {
  const { db, log, signal, observe } = context;
  const { webhook_endpoint_id: endpointId, message_id: messageId, attempts } = delivery;
  const line = {
    endpoint_id: endpointId,
    webhook_id: messageId,
    event: delivery.event_type,
    attempt: attempts,
  };
  // Workers have died of it, or could not tell what it says.
  if (attempts > webhookRetrySeconds.length + 1) return giveUp(delivery, context);
  const event = await describeEvent(db, delivery);
  if (!event) {
    log.info(line, 'webhook discarded: its order no longer exists');
    observe?.('discarded', 1);
    return deleteDelivery(db, delivery);
  }
  const body = stringifyJson(event);
  const startedAt = performance.now();
  const failure = await failureOf(() =>
    send(delivery.url, delivery.secret, { id: messageId, body }, context),
  );
  const ms = Math.round(performance.now() - startedAt);
  if (failure === null) {
    log.info({ ...line, ms }, 'webhook delivered');
    observe?.('delivered', 1);
    await deleteDelivery(db, delivery);
    if (delivery.failures_in_a_row > 0) await noteDelivery(db, endpointId);
    return;
  }
  // The worker shuts down: the endpoint is not to blame.
  if (signal?.aborted) return releaseDelivery(db, delivery);
  log.warn({ ...line, ms, failure }, 'webhook failed');
  observe?.('failed', 1);
  await noteFailure(db, endpointId, failure);
  if (failure === 'HTTP 410') {
    log.warn({ endpoint_id: endpointId }, 'webhook endpoint disabled: it says that it is gone');
    await disableEndpoint(db, endpointId, 'it says that it is gone');
    return deleteDelivery(db, delivery);
  }
  const seconds = webhookRetrySeconds[attempts - 1];
  // Up to a fifth later: what has failed together does not come again together.
  if (seconds !== undefined) return rescheduleDelivery(db, delivery, seconds * (1 + Math.random() / 5));
  await giveUp(delivery, context);
}

async function giveUp(delivery: ClaimedDelivery, context: DeliveryContext): Promise<void> {
  await deleteDelivery(context.db, delivery);
  await noteEnd(delivery.webhook_endpoint_id, [delivery.message_id], context);
}

/** Drops what nobody wants any more, and gives up what is too old. Safe at any time, on any number of processes. */
export async function discardDeliveries(
  context: Pick<DeliveryContext, 'db' | 'log' | 'observe'>,
): Promise<void> {
  await dropUnwantedDeliveries(context.db);
  for (const { webhook_endpoint_id, message_ids } of await giveUpOldDeliveries(context.db)) {
    await noteEnd(webhook_endpoint_id, message_ids, context);
  }
}

/** Notes that events are given up, and disables their endpoint when it has been dead for too long. */
async function noteEnd(
  endpointId: number,
  messageIds: string[],
  { db, log, observe }: Pick<DeliveryContext, 'db' | 'log' | 'observe'>,
): Promise<void> {
  const line = {
    endpoint_id: endpointId,
    events: messageIds.length,
    webhook_ids: messageIds.slice(0, idsInLog),
  };
  log.error(line, 'webhooks given up');
  observe?.('given_up', messageIds.length);
  await noteGivenUp(db, endpointId, messageIds.length);
  if (await disableIfDead(db, endpointId)) {
    log.error({ endpoint_id: endpointId }, 'webhook endpoint disabled: it has accepted nothing for days');
  }
}

/** Why it was not accepted; null when it was. */
async function failureOf(sending: () => Promise<number>): Promise<string | null> {
  try {
    const status = await sending();
    return status >= 200 && status < 300 ? null : `HTTP ${status}`;
  } catch (error) {
    const { name, code, message } = error as NodeJS.ErrnoException;
    return message || (code ?? name);
  }
}

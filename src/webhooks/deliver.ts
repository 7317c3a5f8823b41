import { isDatabaseUnavailable, type Database } from '../base/db/database';
import type { EventBody } from '../base/db/outbox';
import type { Log } from '../base/log';
import { stringifyJson } from '../base/exact-json';
import { OutboundProxyError } from '../base/outbound';
import type { SecretBox } from '../base/secret-box';
import {
  endDelivery,
  releaseDelivery,
  rescheduleDelivery,
  type ClaimedDelivery,
} from './deliveries.repository';
import {
  countDiscarded,
  disableIfDead,
  disableIfGone,
  recordFailure,
  recordSuccess,
} from './endpoints.repository';
import { describeEvent } from './event-data';
import type { DeliveryOutcome } from './outcomes.repository';
import { send } from './send';
import { openSecretsOf } from './webhook-secrets';

export const webhookRetries = {
  /**
   * Backoff before each retry, in seconds, plus up to a fifth: nine attempts within 28 to 33 hours. The first retry is soon
   * enough for a receiver that restarts.
   */
  backoffSeconds: [5, 60, 300, 1_800, 7_200, 18_000, 36_000, 36_000],
};

const idsInLog = 100;

export interface DeliveryContext {
  db: Database;
  log: Log;
  /** Decrypts the secrets of named webhooks. */
  secretBox: SecretBox | undefined;
  /** Allows private addresses, and HTTP without TLS, to webhooks of the operator. */
  privateAddresses: boolean;
  /** Allows private addresses to webhooks of partners. */
  partnerPrivateAddresses: boolean;
  /** Absent: direct connections. */
  proxy?: URL;
  signal?: AbortSignal;
  /** Counts outcomes of deliveries, and failed attempts. */
  observe?: (outcome: DeliveryOutcome | 'failed', count: number) => void;
}

/**
 * Makes one attempt to deliver an event. A failed delivery is rescheduled with backoff, and discarded after the last
 * attempt; a test event has one. An endpoint is disabled by a response of 410, or after days without a delivered event.
 * @throws errors of the database; another worker makes the next attempt when the lease has expired
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
  // The workers of the earlier attempts died.
  if (attempts > webhookRetries.backoffSeconds.length + 1)
    return discard(delivery, 'attempt aborted', context);
  let event: EventBody | null;
  try {
    event = await describeEvent(db, delivery);
  } catch (error) {
    if (isDatabaseUnavailable(error)) throw error;
    // Not a failure of the endpoint, whose other events are sent meanwhile.
    log.error({ ...line, err: error }, 'failed to describe the event of a webhook');
    return retryLater(delivery, 'the event could not be described', context);
  }
  if (!event) {
    log.info(line, 'webhook discarded: its order no longer exists');
    observe?.('discarded', 1);
    return endDelivery(db, delivery, { status: 'discarded', lastResult: 'the order no longer exists' });
  }
  const secrets = openSecretsOf(delivery, context.secretBox);
  if (!secrets) {
    log.error(line, 'failed to decrypt the secret of a webhook');
    return retryLater(delivery, 'the secret could not be decrypted', context);
  }
  const body = stringifyJson(event);
  const isNamed = delivery.webhook_name !== null;
  const privateAddresses = isNamed ? context.partnerPrivateAddresses : context.privateAddresses;
  const startedAt = performance.now();
  const options = { privateAddresses, proxy: context.proxy, signal };
  const { isAccepted, failure, result, isServiceFault } = await resultOf(
    () => send(delivery.url, secrets, { id: messageId, body }, options),
    isNamed,
  );
  const ms = Math.round(performance.now() - startedAt);
  if (isAccepted) {
    log.info({ ...line, ms }, 'webhook delivered');
    observe?.('delivered', 1);
    if (delivery.failures_in_a_row > 0) await recordSuccess(db, endpointId);
    return endDelivery(db, delivery, { status: 'delivered', lastResult: result });
  }
  // Shutting down: not a failure of the endpoint.
  if (signal?.aborted) return releaseDelivery(db, delivery);
  log.warn({ ...line, ms, failure }, 'webhook failed');
  observe?.('failed', 1);
  if (isServiceFault) return retryLater(delivery, result, context);
  await recordFailure(db, endpointId, delivery.url, result);
  if (result === 'HTTP 410' && (await disableIfGone(db, endpointId, delivery.url))) {
    log.warn({ endpoint_id: endpointId }, 'webhook endpoint disabled: it responded with 410');
    observe?.('discarded', 1);
    return endDelivery(db, delivery, { status: 'discarded', lastResult: result });
  }
  return retryLater(delivery, result, context);
}

/** Reschedules a failed delivery with backoff, or discards it after the last attempt. */
async function retryLater(
  delivery: ClaimedDelivery,
  lastResult: string,
  context: DeliveryContext,
): Promise<void> {
  const backoff =
    delivery.event_type === 'webhook.ping' ? undefined : webhookRetries.backoffSeconds[delivery.attempts - 1];
  if (backoff === undefined) return discard(delivery, lastResult, context);
  // With jitter, so that concurrent failures are not retried together.
  const seconds = backoff * (1 + Math.random() / 5);
  await rescheduleDelivery(context.db, delivery, { seconds, lastResult });
}

async function discard(
  delivery: ClaimedDelivery,
  lastResult: string,
  context: DeliveryContext,
): Promise<void> {
  await endDelivery(context.db, delivery, { status: 'discarded', lastResult });
  await recordDiscarded(delivery.webhook_endpoint_id, [delivery.message_id], context);
}

/** Logs and counts discarded events, and disables their endpoint if it is dead. */
export async function recordDiscarded(
  endpointId: number,
  messageIds: string[],
  { db, log, observe }: Pick<DeliveryContext, 'db' | 'log' | 'observe'>,
): Promise<void> {
  const line = {
    endpoint_id: endpointId,
    events: messageIds.length,
    webhook_ids: messageIds.slice(0, idsInLog),
  };
  log.error(line, 'webhooks discarded');
  observe?.('discarded', messageIds.length);
  await countDiscarded(db, endpointId, messageIds.length);
  if (await disableIfDead(db, endpointId)) {
    log.error({ endpoint_id: endpointId }, 'webhook endpoint disabled: it has accepted nothing for days');
  }
}

interface AttemptResult {
  isAccepted: boolean;
  /** For the log. */
  failure: string;
  /** What the API shows. */
  result: string;
  /** The outbound proxy cannot be used: not a failure of the endpoint. */
  isServiceFault: boolean;
}

/**
 * Returns whether the event was accepted, and the status or the error as text.
 * @param isNamed - of a partner, who must not learn from errors which addresses and ports respond
 */
async function resultOf(sending: () => Promise<number>, isNamed: boolean): Promise<AttemptResult> {
  try {
    const status = await sending();
    const result = `HTTP ${status}`;
    return { isAccepted: status >= 200 && status < 300, failure: result, result, isServiceFault: false };
  } catch (error) {
    const { name, code, message } = error as NodeJS.ErrnoException;
    const failure = message || (code ?? name);
    const isServiceFault = error instanceof OutboundProxyError && error.refusal === undefined;
    return { isAccepted: false, failure, result: isNamed ? 'no response' : failure, isServiceFault };
  }
}

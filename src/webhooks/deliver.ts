import type { Database } from '../db/database';
import { limits } from '../limits';
import type { Log } from '../log';
import { stringifyJson } from '../shared/exact-json';
import {
  disableEndpoint,
  disableIfDead,
  findEndpointInUse,
  noteDelivery,
  noteFailure,
  noteGivenUp,
} from './endpoints.repository';
import { describeEvent } from './event-data';
import { putOffDueSql, putOffSql, type Delivery } from '../events/outbox';
import { send, type SendOptions } from './send';

/** Of how many events that are given up at once a log line has the ids: the first ones. */
const idsInLog = 100;

/** What deliveries are made with. */
export interface DeliveryContext extends SendOptions {
  db: Database;
  log: Log;
}

/**
 * Sends one event to one endpoint, once. What is not accepted goes back into the queue, for later each time, until it has
 * failed too often or is too old. An endpoint that says 410, or has accepted nothing for days, is disabled; one at which too
 * much has failed in a row is left alone for a while. An event whose order no longer exists is discarded.
 * @throws whatever the database throws, and when the signal is given: the queue then tries again
 */
export async function deliver(delivery: Delivery, context: DeliveryContext): Promise<void> {
  const { db, log, signal } = context;
  const { endpoint_id: endpointId, message_id: messageId, type, failed_attempts: failedAttempts } = delivery;
  const endpoint = await findEndpointInUse(db, endpointId);
  if (!endpoint) return;
  if (endpoint.pause > 0) return sitOut(endpoint.pause, delivery, context);

  const line = { endpoint_id: endpointId, webhook_id: messageId, event: type, attempt: failedAttempts + 1 };
  const event = await describeEvent(db, delivery);
  if (!event) {
    log.info(line, 'webhook discarded: its order no longer exists');
    return;
  }
  const body = stringifyJson(event);
  const startedAt = performance.now();
  const failure = await failureOf(() =>
    send(endpoint.url, endpoint.secret, { id: messageId, body }, context),
  );
  const ms = Math.round(performance.now() - startedAt);
  if (failure === null) {
    log.info({ ...line, ms }, 'webhook delivered');
    if (endpoint.failures_in_a_row > 0) await noteDelivery(db, endpointId);
    return;
  }
  // It is we who have to stop.
  signal?.throwIfAborted();
  log.warn({ ...line, ms, failure }, 'webhook failed');
  await noteFailure(db, endpointId, failure);
  if (failure === 'HTTP 410') {
    log.warn({ endpoint_id: endpointId }, 'webhook endpoint disabled: it says that it is gone');
    await disableEndpoint(db, endpointId, 'it says that it is gone');
    return;
  }
  const seconds = limits.webhookRetrySeconds[failedAttempts];
  if (seconds === undefined) return giveUp(endpointId, [messageId], context);
  await putOff(db, { ...delivery, failed_attempts: failedAttempts + 1 }, seconds);
}

/** Puts off what is due to an endpoint that is paused: this event, and with it others, which need not come here for that. */
async function sitOut(pause: number, delivery: Delivery, context: DeliveryContext): Promise<void> {
  const { db } = context;
  const { endpoint_id: endpointId, message_id: messageId } = delivery;
  // Some time after its end: what has a time of its own comes before, and shows whether the endpoint is back.
  const seconds = pause + limits.webhookPause.pauseSeconds;
  const { rows } = await db.raw<{ rows: [{ given_up: string[] }] }>(putOffDueSql, {
    endpoint_id: endpointId,
    seconds,
    age_milliseconds: limits.webhookAgeMilliseconds,
    most: limits.deliveriesPutOffTogether,
  });
  const isTooOld = Date.now() - Date.parse(delivery.timestamp) > limits.webhookAgeMilliseconds;
  if (!isTooOld) await putOff(db, delivery, seconds);
  await giveUp(endpointId, [...(isTooOld ? [messageId] : []), ...rows[0].given_up], context);
}

/** Notes that events are given up; so is their endpoint, when it has been dead for too long. */
async function giveUp(endpointId: number, messageIds: string[], { db, log }: DeliveryContext): Promise<void> {
  if (messageIds.length === 0) return;
  const line = {
    endpoint_id: endpointId,
    events: messageIds.length,
    webhook_ids: messageIds.slice(0, idsInLog),
  };
  log.error(line, 'webhooks given up');
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

/** Up to a fifth later than asked for: what has failed together does not come again together. */
async function putOff(db: Database, delivery: Delivery, seconds: number): Promise<void> {
  await db.raw(putOffSql, {
    delivery: JSON.stringify(delivery),
    seconds: seconds * (1 + Math.random() / 5),
  });
}

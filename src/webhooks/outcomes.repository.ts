import { changeRows, queryRows, type Database } from '../base/db/database';
import { sql } from '../base/db/sql';
import type { EventType } from '../base/db/outbox';

/** Days for which an ended delivery can be listed and replayed. */
export const webhookOutcomeDays = 7;
const removedPerStatement = 5_000;

export type DeliveryOutcome = 'delivered' | 'discarded';

export interface ListedDelivery {
  message_id: string;
  event_type: EventType;
  happened_at: Date;
  status: DeliveryOutcome | 'pending' | 'in_progress';
  attempts: number;
  /** Of the last attempt: `HTTP 500`, or the error of the network. */
  last_result: string | null;
  next_attempt_at: Date | null;
  finished_at: Date | null;
}

/** Selects the deliveries to replay: the given messages, or the events of a half-open range, except pings. */
export interface ReplaySelection {
  endpointId: number;
  messageIds: string[] | null;
  from: Date | null;
  to: Date | null;
  statuses: DeliveryOutcome[];
}

/**
 * Lists deliveries of an endpoint by the time of the event, newest first.
 * @param page - at most `limit` deliveries after the message `after`
 * @returns undefined when the endpoint has no such message
 */
export async function listDeliveries(
  db: Database,
  endpointId: number,
  { after, limit }: { after?: string; limit: number },
): Promise<ListedDelivery[] | undefined> {
  const position = after === undefined ? null : await findDeliveryPosition(db, endpointId, after);
  if (position === undefined) return undefined;
  return queryRows<ListedDelivery>(
    db,
    sql`select * from (
       select message_id, event_type, happened_at, case when is_being_sent then 'in_progress' else 'pending' end as status,
         attempts, last_result, case when not is_being_sent then next_attempt_at end as next_attempt_at,
         cast(null as timestamptz) as finished_at
       from webhook_deliveries where webhook_endpoint_id = ${endpointId}
       union all
       select message_id, event_type, happened_at, status, attempts, last_result, null, finished_at
       from webhook_outcomes where webhook_endpoint_id = ${endpointId}
     ) as delivery
     where cast(${position} as timestamptz) is null or (happened_at, message_id) < (${position}, ${after ?? null})
     order by happened_at desc, message_id desc
     limit ${limit}`,
  );
}

/** Finds the time of a message's event, as text in full precision; undefined if there is no such message. */
async function findDeliveryPosition(
  db: Database,
  endpointId: number,
  messageId: string,
): Promise<string | undefined> {
  const [row] = await queryRows<{ happened_at: string }>(
    db,
    sql`select cast(happened_at as text) as happened_at from (
       select happened_at from webhook_deliveries where webhook_endpoint_id = ${endpointId} and message_id = ${messageId}
       union all
       select happened_at from webhook_outcomes where webhook_endpoint_id = ${endpointId} and message_id = ${messageId}
     ) as delivery limit 1`,
  );
  return row?.happened_at;
}

/**
 * Makes ended deliveries due again with the same message ids. It moves them to the queue: concurrent and repeated replays
 * deliver a pending event once.
 * @returns their number
 */
export function replayDeliveries(
  db: Database,
  { endpointId, messageIds, from, to, statuses }: ReplaySelection,
): Promise<number> {
  return changeRows(
    db,
    sql`with replayed as (
       delete from webhook_outcomes
       where webhook_endpoint_id = ${endpointId} and status = any (${statuses})
         and case when cast(${messageIds} as text[]) is null then event_type <> 'webhook.ping' else message_id = any (${messageIds}) end
         and (cast(${from} as timestamptz) is null or happened_at >= ${from})
         and (cast(${to} as timestamptz) is null or happened_at < ${to})
       returning *
     )
     insert into webhook_deliveries (webhook_endpoint_id, message_id, event_type, happened_at, content)
     select webhook_endpoint_id, message_id, event_type, happened_at, content from replayed order by happened_at`,
  );
}

/** Enqueues a test event for an endpoint. @returns the id of its message */
export async function insertPing(db: Database, endpointId: number): Promise<string> {
  const [row] = await queryRows<{ message_id: string }>(
    db,
    sql`insert into webhook_deliveries (webhook_endpoint_id, message_id, event_type, happened_at, content)
     values (${endpointId}, 'msg_' || replace(cast(gen_random_uuid() as text), '-', ''), 'webhook.ping', clock_timestamp(), '{}')
     returning message_id`,
  );
  return row!.message_id;
}

/** Finds an ended delivery; null if it is pending, or does not exist. */
export async function findOutcome(
  db: Database,
  endpointId: number,
  messageId: string,
): Promise<{ status: DeliveryOutcome; last_result: string | null } | null> {
  const [row] = await queryRows<{ status: DeliveryOutcome; last_result: string | null }>(
    db,
    sql`select status, last_result from webhook_outcomes
     where webhook_endpoint_id = ${endpointId} and message_id = ${messageId}`,
  );
  return row ?? null;
}

/**
 * Removes some outcomes older than `webhookOutcomeDays`. Skips locked ones. An array is selected once: in a nested loop, `in` would
 * select again for each row, and exceed the limit.
 * @returns whether there may be more
 */
export async function removeOldOutcomes(db: Database): Promise<boolean> {
  const removed = await changeRows(
    db,
    sql`delete from webhook_outcomes
     where webhook_outcome_id = any (array(
       select webhook_outcome_id from webhook_outcomes
       where finished_at < now() - ${webhookOutcomeDays} * interval '1 day' limit ${removedPerStatement} for update skip locked
     ))`,
  );
  return removed === removedPerStatement;
}

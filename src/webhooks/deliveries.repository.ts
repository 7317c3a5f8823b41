import type { Database } from '../db/database';
import type { EventType } from '../events/outbox';
import type { EndpointRow } from './endpoints.repository';
import { webhookPause } from './endpoints.repository';

export const deliveriesPerEndpoint = 3;

/** An event for an endpoint that is paused is given up when it is older: nobody counts how often it was not sent. */
export const webhookAgeMilliseconds = 36 * 3600 * 1000;

/** How long an attempt may take in all: then its worker has died, and another one begins the next attempt. */
const leaseMilliseconds = 60_000;
/** How many deliveries one statement gives up: a paused endpoint can have hundreds of thousands. */
const givenUpPerStatement = 5_000;

/** A delivery as it is claimed, with its endpoint. */
export interface ClaimedDelivery extends Pick<EndpointRow, 'url' | 'secret' | 'failures_in_a_row'> {
  webhook_delivery_id: number;
  webhook_endpoint_id: number;
  message_id: string;
  event_type: EventType;
  happened_at: Date;
  /** What `describeEvent` makes the data of. */
  content: unknown;
  /** Attempts begun, this one included. */
  attempts: number;
}

/**
 * Of each endpoint the deliveries due for the longest, a few at a time on all processes together, and one where too much
 * has failed; the first of each endpoint before the second of any. Two workers at the same moment choose the same rows:
 * the one that comes second sees, once it has the row, that it is not due any more.
 */
const claimSql = `
  with endpoint as materialized (
    select webhook_endpoint_id, url, secret, failures_in_a_row,
      case when failures_in_a_row < :pauseAfterFailures then :perEndpoint else 1 end - (
        select count(*) from webhook_deliveries as sent
        where sent.webhook_endpoint_id = webhook_endpoints.webhook_endpoint_id and is_being_sent and next_attempt_at > now()
      ) as room
    from webhook_endpoints
    where disabled_at is null and (paused_until is null or paused_until <= now())
  ), due as materialized (
    select endpoint.*, webhook_delivery_id
    from endpoint cross join lateral (
      select webhook_delivery_id, next_attempt_at, row_number() over (order by next_attempt_at, webhook_delivery_id) as place
      from webhook_deliveries
      where webhook_deliveries.webhook_endpoint_id = endpoint.webhook_endpoint_id and next_attempt_at <= now()
      order by next_attempt_at, webhook_delivery_id
      limit greatest(room, 0)
    ) as delivery
    order by place, next_attempt_at
    limit :max
  )
  update webhook_deliveries as delivery
  set attempts = attempts + 1, is_being_sent = true,
    next_attempt_at = now() + :leaseMilliseconds * interval '1 millisecond'
  from due
  where delivery.webhook_delivery_id = due.webhook_delivery_id and next_attempt_at <= now()
  returning delivery.webhook_delivery_id, delivery.webhook_endpoint_id, message_id, event_type, happened_at, content, attempts,
    url, secret, failures_in_a_row
`;

/** Claims deliveries that are due, `max` at most, until their lease expires. Safe at once from several processes. */
export async function claimDeliveries(db: Database, max: number): Promise<ClaimedDelivery[]> {
  const { rows } = await db.raw<{ rows: ClaimedDelivery[] }>(claimSql, {
    max,
    perEndpoint: deliveriesPerEndpoint,
    pauseAfterFailures: webhookPause.pauseAfterFailures,
    leaseMilliseconds,
  });
  return rows;
}

/** Whose attempt it is: nothing happens to a delivery that another worker has claimed since. */
type Claim = Pick<ClaimedDelivery, 'webhook_delivery_id' | 'attempts'>;

/** Removes a delivery that was accepted or given up. */
export async function deleteDelivery(db: Database, claim: Claim): Promise<void> {
  await db.raw(
    'delete from webhook_deliveries where webhook_delivery_id = :id and attempts = :attempts',
    bindingsOf(claim),
  );
}

/** Has a delivery that failed sent again after `seconds`. */
export async function rescheduleDelivery(db: Database, claim: Claim, seconds: number): Promise<void> {
  await db.raw(
    `update webhook_deliveries set is_being_sent = false, next_attempt_at = now() + :seconds * interval '1 second'
     where webhook_delivery_id = :id and attempts = :attempts`,
    { ...bindingsOf(claim), seconds },
  );
}

/** Gives back a delivery whose attempt was aborted, as if it had not begun. */
export async function releaseDelivery(db: Database, claim: Claim): Promise<void> {
  await db.raw(
    `update webhook_deliveries set is_being_sent = false, next_attempt_at = now(), attempts = attempts - 1
     where webhook_delivery_id = :id and attempts = :attempts`,
    bindingsOf(claim),
  );
}

const bindingsOf = ({ webhook_delivery_id: id, attempts }: Claim) => ({ id, attempts });

/** Counts the deliveries that were not accepted yet. */
export async function countDeliveries(db: Database): Promise<number> {
  const { rows } = await db.raw<{ rows: [{ count: string }] }>('select count(*) from webhook_deliveries');
  return Number(rows[0].count);
}

/** Drops the deliveries for endpoints that are disabled, or removed. */
export async function dropUnwantedDeliveries(db: Database): Promise<void> {
  await db.raw(
    `delete from webhook_deliveries as delivery
     where not exists (
       select from webhook_endpoints as endpoint
       where endpoint.webhook_endpoint_id = delivery.webhook_endpoint_id and disabled_at is null
     )`,
  );
}

/** Deliveries of one endpoint that were given up together. */
export interface GivenUp {
  webhook_endpoint_id: number;
  message_ids: string[];
}

/** Gives up what is due to paused endpoints and too old. Nobody counts how often it was not sent. */
export async function giveUpOldDeliveries(db: Database): Promise<GivenUp[]> {
  const { rows } = await db.raw<{ rows: GivenUp[] }>(
    `with old as (
       delete from webhook_deliveries
       where webhook_delivery_id in (
         select webhook_delivery_id
         from webhook_endpoints join webhook_deliveries using (webhook_endpoint_id)
         where paused_until > now() and next_attempt_at <= now()
           and happened_at < now() - :ageMilliseconds * interval '1 millisecond'
         limit :max
       ) and next_attempt_at <= now()
       returning webhook_endpoint_id, message_id
     )
     select webhook_endpoint_id, array_agg(message_id) as message_ids from old group by webhook_endpoint_id`,
    { ageMilliseconds: webhookAgeMilliseconds, max: givenUpPerStatement },
  );
  return rows;
}

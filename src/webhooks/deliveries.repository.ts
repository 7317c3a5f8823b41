import { changeRows, queryRows, type Database } from '../base/db/database';
import { raw, sql, type Sql } from '../base/db/sql';
import type { EventType } from '../base/db/outbox';
import { webhookPause, type EndpointRow, type StoredSecrets } from './endpoints.repository';
import type { DeliveryOutcome } from './outcomes.repository';

export const deliveriesPerEndpoint = 3;

/** Age at which a due event of a paused endpoint is discarded: it has no attempts to count. */
export const webhookAgeMilliseconds = 36 * 3600 * 1000;

/** Longer than any attempt: the worker of an expired lease is considered dead, and another one makes the next attempt. */
const leaseMilliseconds = 60_000;
/** Maximum number of deliveries that one statement discards, within a second: an endpoint can have hundreds of thousands. */
export const discardedPerStatement = 5_000;

export interface ClaimedDelivery
  extends Pick<EndpointRow, 'url' | 'webhook_name' | 'failures_in_a_row'>, StoredSecrets {
  webhook_delivery_id: number;
  webhook_endpoint_id: number;
  message_id: string;
  event_type: EventType;
  happened_at: Date;
  /** The input of `describeEvent`. */
  content: unknown;
  /** Attempts begun, including this one. */
  attempts: number;
}

/**
 * Claims due deliveries: at most `deliveriesPerEndpoint` in progress per endpoint in all processes, one while it is failing. First one
 * delivery per endpoint, counting deliveries in progress; among these, the endpoint that was served the longest ago. Slow endpoints
 * have separate slots. Within an endpoint, the longest due comes first, by the index alone: a replay makes many due at once. Two
 * workers can select the same rows: the second one sees, when it has the row lock, that the row is no longer due.
 */
const claimSql = ({ max, slowMax = 0, served = new Map() }: ClaimLimits): Sql => sql`
  with endpoint as materialized (
    select webhook_endpoint_id, url, webhook_name, secret, sealed_secret, previous_sealed_secret, previous_secret_until, failures_in_a_row, in_progress, coalesce(is_slow, false) as is_slow,
      coalesce(served_at, 0) as served_at,
      case when failures_in_a_row < ${webhookPause.pauseAfterFailures} then ${deliveriesPerEndpoint} else 1 end - in_progress as room
    from webhook_endpoints
    left join unnest(cast(${[...served.keys()]} as bigint[]), cast(${[...served.values()]} as boolean[])) with ordinality as known (endpoint_id, is_slow, served_at)
      on endpoint_id = webhook_endpoint_id
    cross join lateral (
      select count(*) as in_progress from webhook_deliveries as sent
      where sent.webhook_endpoint_id = webhook_endpoints.webhook_endpoint_id and is_being_sent and next_attempt_at > now()
    ) as sent
    where disabled_at is null and coalesce(greatest(paused_until, held_until) <= now(), true)
  ), due as materialized (
    select endpoint.*, webhook_delivery_id,
      row_number() over (partition by is_slow order by in_progress + place, served_at, next_attempt_at) as position
    from endpoint cross join lateral (
      select webhook_delivery_id, next_attempt_at, row_number() over (order by next_attempt_at) as place
      from (
        select webhook_delivery_id, next_attempt_at
        from webhook_deliveries
        where webhook_deliveries.webhook_endpoint_id = endpoint.webhook_endpoint_id and next_attempt_at <= now()
        order by next_attempt_at
        limit greatest(room, 0)
      ) as first
    ) as delivery
  )
  update webhook_deliveries as delivery
  set attempts = attempts + 1, is_being_sent = true,
    next_attempt_at = now() + ${leaseMilliseconds} * interval '1 millisecond'
  from due
  where delivery.webhook_delivery_id = due.webhook_delivery_id and next_attempt_at <= now()
    and position <= case when is_slow then cast(${slowMax} as integer) else ${max} end
  returning delivery.webhook_delivery_id, delivery.webhook_endpoint_id, message_id, event_type, happened_at, content, attempts,
    url, webhook_name, secret, sealed_secret, previous_sealed_secret, previous_secret_until, failures_in_a_row`;

export interface ClaimLimits {
  max: number;
  /** Maximum number for slow endpoints; default: none. */
  slowMax?: number;
  /** Recently served endpoints, the longest ago first, and whether each responds slowly. */
  served?: ReadonlyMap<number, boolean>;
}

/** Claims due deliveries until their lease expires. Safe concurrently in several processes. */
export function claimDeliveries(db: Database, limits: ClaimLimits): Promise<ClaimedDelivery[]> {
  return queryRows<ClaimedDelivery>(db, claimSql(limits));
}

/** Identifies an attempt: a worker whose lease has expired changes nothing. */
type Claim = Pick<ClaimedDelivery, 'webhook_delivery_id' | 'attempts'>;

const isClaimed = ({ webhook_delivery_id: id, attempts }: Claim): Sql =>
  sql`webhook_delivery_id = ${id} and attempts = ${attempts}`;

const keptColumns = raw('webhook_endpoint_id, message_id, event_type, happened_at, content, attempts');

/** Moves a claimed delivery to the outcomes. */
export async function endDelivery(
  db: Database,
  claim: Claim,
  { status, lastResult }: { status: DeliveryOutcome; lastResult: string },
): Promise<void> {
  await changeRows(
    db,
    sql`with ended as (
       delete from webhook_deliveries where ${isClaimed(claim)} returning *
     )
     insert into webhook_outcomes (${keptColumns}, status, last_result)
     select ${keptColumns}, ${status}, ${lastResult} from ended`,
  );
}

/** Reschedules a failed delivery, `seconds` from now. */
export async function rescheduleDelivery(
  db: Database,
  claim: Claim,
  { seconds, lastResult }: { seconds: number; lastResult: string },
): Promise<void> {
  await changeRows(
    db,
    sql`update webhook_deliveries
     set is_being_sent = false, next_attempt_at = now() + ${seconds} * interval '1 second', last_result = ${lastResult}
     where ${isClaimed(claim)}`,
  );
}

/** Releases a delivery whose attempt was aborted; the attempt does not count. */
export async function releaseDelivery(db: Database, claim: Claim): Promise<void> {
  await changeRows(
    db,
    sql`update webhook_deliveries set is_being_sent = false, next_attempt_at = now(), attempts = attempts - 1
     where ${isClaimed(claim)}`,
  );
}

/**
 * Counts the deliveries, and measures the wait of the oldest due one; 0 if none waits. The time of an endpoint's pause does not
 * count.
 */
export async function measureDeliveries(db: Database): Promise<{ count: number; oldestSeconds: number }> {
  const [row] = await queryRows<{ count: number; oldestSeconds: number }>(
    db,
    sql`select (select cast(count(*) as double precision) from webhook_deliveries) as count,
       cast(coalesce(max(greatest(extract(epoch from now() - greatest(first_at, paused_until, held_until)), 0)), 0) as double precision)
         as "oldestSeconds"
     from webhook_endpoints cross join lateral (
       select min(next_attempt_at) as first_at from webhook_deliveries
       where webhook_deliveries.webhook_endpoint_id = webhook_endpoints.webhook_endpoint_id
     ) as delivery
     where disabled_at is null and first_at is not null`,
  );
  return row!;
}

/** An endpoint whose deliveries may have to be discarded; `isPaused`: only old ones. */
interface UnwantedDeliveries {
  endpointId: number;
  isPaused: boolean;
}

/** Lists the disabled, removed and paused endpoints with deliveries: reads one entry of the index per endpoint. */
export function listUnwantedDeliveries(db: Database): Promise<UnwantedDeliveries[]> {
  return queryRows<UnwantedDeliveries>(
    db,
    sql`with recursive owner (id) as (
       (select webhook_endpoint_id from webhook_deliveries order by webhook_endpoint_id limit 1)
       union all
       select (
         select webhook_endpoint_id from webhook_deliveries
         where webhook_endpoint_id > owner.id order by webhook_endpoint_id limit 1
       )
       from owner where id is not null
     )
     select id as "endpointId", webhook_endpoint_id is not null and disabled_at is null as "isPaused"
     from owner left join webhook_endpoints on webhook_endpoint_id = id
     where id is not null and (webhook_endpoint_id is null or disabled_at is not null or greatest(paused_until, held_until) > now())`,
  );
}

/**
 * Discards some deliveries of an endpoint if it is disabled, or deletes them if it is removed. Skips locked ones.
 * @returns their number
 */
export async function dropDeliveries(db: Database, endpointId: number): Promise<number> {
  const [row] = await queryRows<{ count: number }>(
    db,
    sql`with endpoint as (
       select disabled_at from webhook_endpoints where webhook_endpoint_id = ${endpointId}
     ), dropped as (
       delete from webhook_deliveries
       where webhook_delivery_id = any (array(
         select webhook_delivery_id from webhook_deliveries
         where webhook_endpoint_id = ${endpointId} and not exists (select from endpoint where disabled_at is null)
         limit ${discardedPerStatement} for update skip locked
       ))
       returning *
     ), ended as (
       insert into webhook_outcomes (${keptColumns}, status, last_result)
       select ${keptColumns}, 'discarded', coalesce(last_result, 'endpoint disabled')
       from dropped where exists (select from endpoint)
     )
     select count(*) from dropped`,
  );
  return row!.count;
}

/**
 * Discards some deliveries of a paused endpoint that have been due for `webhookAgeMilliseconds`, replayed ones since then. Skips locked ones.
 * @returns the ids of their messages
 */
export async function discardOldDeliveries(db: Database, endpointId: number): Promise<string[]> {
  const rows = await queryRows<{ message_id: string }>(
    db,
    sql`with old as (
       delete from webhook_deliveries
       where webhook_delivery_id = any (array(
         select webhook_delivery_id
         from webhook_endpoints join webhook_deliveries using (webhook_endpoint_id)
         where webhook_endpoint_id = ${endpointId} and greatest(paused_until, held_until) > now()
           and next_attempt_at < now() - ${webhookAgeMilliseconds} * interval '1 millisecond'
         limit ${discardedPerStatement} for update of webhook_deliveries skip locked
       ))
       returning *
     ), ended as (
       insert into webhook_outcomes (${keptColumns}, status, last_result)
       select ${keptColumns}, 'discarded', last_result from old
     )
     select message_id from old`,
  );
  return rows.map(({ message_id }) => message_id);
}

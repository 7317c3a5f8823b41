import type { Database } from '../db/database';
import type { EventType } from '../events/outbox';

/**
 * From so many failures in a row on, nothing is sent to an endpoint for so many seconds, twice as long each time: what
 * waits for a dead receiver would take the places of others.
 */
export const webhookPause = { pauseAfterFailures: 3, pauseSeconds: 30, pauseSecondsMax: 600 };

/**
 * An endpoint that has accepted nothing for so long is disabled when another event is given up: a weekend and a holiday
 * are no reason.
 */
export const webhookDeadMilliseconds = 5 * 24 * 3600 * 1000;

/** A row of `webhook_endpoints`. */
export interface EndpointRow {
  webhook_endpoint_id: number;
  url: string;
  /** The partner whose events it gets; null: everybody's. */
  partner_name: string | null;
  /** null: all, those to come too. */
  event_types: EventType[] | null;
  /** `whsec_` and Base64. */
  secret: string;
  created_at: Date;
  disabled_at: Date | null;
  /** Why the service has disabled it; null when somebody has. */
  disabled_reason: string | null;
  /** Since the last delivery that was accepted. */
  failures_in_a_row: number;
  /** The first of them. */
  failing_since: Date | null;
  paused_until: Date | null;
  /** The last failure of all, and its reason. */
  failed_at: Date | null;
  failure_reason: string | null;
  /** Events that were given up. */
  given_up: number;
}

/** Creates an endpoint. @returns its number */
export async function insertEndpoint(
  db: Database,
  endpoint: Pick<EndpointRow, 'url' | 'partner_name' | 'event_types' | 'secret'>,
): Promise<number> {
  const [row] = await db<EndpointRow>('webhook_endpoints').insert(endpoint, 'webhook_endpoint_id');
  return row!.webhook_endpoint_id;
}

/** All endpoints, disabled ones too, the oldest first. */
export async function listEndpoints(db: Database): Promise<EndpointRow[]> {
  return db<EndpointRow>('webhook_endpoints').orderBy('webhook_endpoint_id');
}

/** Removes an endpoint. @returns whether there was one */
export async function deleteEndpoint(db: Database, endpointId: number): Promise<boolean> {
  return (await at(db, endpointId).delete()) > 0;
}

/**
 * Has an endpoint get nothing more; what waits for it is dropped.
 * @param reason - why the service does that by itself; null: somebody wants it
 * @returns whether there is one
 */
export async function disableEndpoint(
  db: Database,
  endpointId: number,
  reason: string | null = null,
): Promise<boolean> {
  const { rowCount } = await db.raw<{ rowCount: number }>(
    `update webhook_endpoints
     set disabled_at = coalesce(disabled_at, now()),
       disabled_reason = case when disabled_at is null then :reason else disabled_reason end
     where webhook_endpoint_id = :endpointId`,
    { endpointId, reason },
  );
  return rowCount > 0;
}

/** Disables an endpoint that has accepted nothing for too long. @returns whether it has disabled it */
export async function disableIfDead(db: Database, endpointId: number): Promise<boolean> {
  const milliseconds = webhookDeadMilliseconds;
  const { rowCount } = await db.raw<{ rowCount: number }>(
    `update webhook_endpoints set disabled_at = now(), disabled_reason = :reason
     where webhook_endpoint_id = :endpointId and disabled_at is null
       and failing_since < now() - :milliseconds * interval '1 millisecond'`,
    { endpointId, milliseconds, reason: `nothing accepted for ${milliseconds / (24 * 3600 * 1000)} days` },
  );
  return rowCount > 0;
}

/** What an endpoint has at which nothing has failed. */
const sound = { failures_in_a_row: 0, failing_since: null, paused_until: null };

/** Has an endpoint get events from now on, whatever it did before. @returns whether there is one */
export async function enableEndpoint(db: Database, endpointId: number): Promise<boolean> {
  return (await at(db, endpointId).update({ ...sound, disabled_at: null, disabled_reason: null })) > 0;
}

/** Notes that an endpoint takes what is sent to it. */
export async function noteDelivery(db: Database, endpointId: number): Promise<void> {
  await at(db, endpointId).update(sound);
}

/** Notes a failure. From some in a row on, nothing is sent for a while, which is longer each time. */
export async function noteFailure(db: Database, endpointId: number, reason: string): Promise<void> {
  const { pauseAfterFailures, pauseSeconds, pauseSecondsMax } = webhookPause;
  await db.raw(
    `update webhook_endpoints
     set failed_at = now(), failure_reason = :reason, failures_in_a_row = failures_in_a_row + 1,
       failing_since = coalesce(failing_since, now()),
       paused_until = case when failures_in_a_row + 1 >= :pauseAfterFailures then
         now() + least(:pauseSecondsMax, :pauseSeconds * power(2, least(failures_in_a_row + 1 - :pauseAfterFailures, 20)))
           * interval '1 second'
       end
     where webhook_endpoint_id = :endpointId`,
    { endpointId, reason, pauseAfterFailures, pauseSeconds, pauseSecondsMax },
  );
}

/** Counts events that were given up. */
export async function noteGivenUp(db: Database, endpointId: number, events: number): Promise<void> {
  await at(db, endpointId).increment('given_up', events);
}

function at(db: Database, endpointId: number) {
  return db<EndpointRow>('webhook_endpoints').where('webhook_endpoint_id', endpointId);
}

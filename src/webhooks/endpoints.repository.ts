import { changeRows, type Database } from '../base/db/database';
import { raw, sql } from '../base/db/sql';
import type { EventType } from '../base/db/outbox';
import type { PartnerScope } from '../base/caller';

/** Pause of a failing endpoint: its attempts would occupy slots of other endpoints. It doubles each time. */
export const webhookPause = { pauseAfterFailures: 3, pauseSeconds: 30, pauseSecondsMax: 600 };

/** Time without a delivered event after which an endpoint is disabled: longer than a weekend with a holiday. */
export const webhookDeadMilliseconds = 5 * 24 * 3600 * 1000;

/** The secrets that sign the messages of an endpoint. */
export interface StoredSecrets {
  /** In plain text; null for a named webhook. */
  secret: string | null;
  /** Of a named webhook, encrypted. */
  sealed_secret: Buffer | null;
  /** The secret before the last rotation, valid until `previous_secret_until`. */
  previous_sealed_secret: Buffer | null;
  previous_secret_until: Date | null;
}

export interface EndpointRow extends StoredSecrets {
  webhook_endpoint_id: number;
  /** The partner manages the webhook by this name; null: the operator does. */
  webhook_name: string | null;
  url: string;
  /** The partner whose events are delivered; null: all. */
  partner_name: string | null;
  /** null: all, future ones included. */
  event_types: EventType[] | null;
  created_at: Date;
  disabled_at: Date | null;
  /** null: the operator disabled it. */
  disabled_reason: string | null;
  /** Consecutive failures since the last delivered event. */
  failures_in_a_row: number;
  /** Time of the first of them. */
  failing_since: Date | null;
  /** End of the pause after failures. */
  paused_until: Date | null;
  /** End of the pause that the partner has requested. */
  held_until: Date | null;
  failed_at: Date | null;
  failure_reason: string | null;
  /** Discarded events; the column has its name from release 1.2.0. */
  given_up: number;
}

/** Creates an endpoint of the operator. @returns its number */
export async function insertEndpoint(
  db: Database,
  endpoint: Pick<EndpointRow, 'url' | 'partner_name' | 'event_types' | 'secret'>,
): Promise<number> {
  const [row] = await db<EndpointRow>('webhook_endpoints').insert(endpoint, 'webhook_endpoint_id');
  return row!.webhook_endpoint_id;
}

/** Endpoints after the number `after`, at most `limit`; by default all. */
interface EndpointPage {
  /** Only endpoints of the partner; null: all. */
  scope?: PartnerScope;
  after?: number;
  limit?: number;
}

/** Lists endpoints, disabled ones too, the oldest first. */
export async function listEndpoints(
  db: Database,
  { scope = null, after = 0, limit }: EndpointPage = {},
): Promise<EndpointRow[]> {
  const query = db<EndpointRow>('webhook_endpoints')
    .where('webhook_endpoint_id', '>', after)
    .orderBy('webhook_endpoint_id');
  if (scope !== null) void query.where('partner_name', scope);
  if (limit !== undefined) void query.limit(limit);
  return query;
}

export async function findEndpoint(db: Database, endpointId: number): Promise<EndpointRow | undefined> {
  return at(db, endpointId).first();
}

/** Replaces an encrypted secret, unless it has changed meanwhile. */
export function replaceSealedSecret(
  db: Database,
  endpointId: number,
  column: 'sealed_secret' | 'previous_sealed_secret',
  old: Buffer,
  sealed: Buffer,
): Promise<number> {
  return changeRows(
    db,
    sql`update webhook_endpoints set ${raw(column)} = ${sealed}
     where webhook_endpoint_id = ${endpointId} and ${raw(column)} = ${old}`,
  );
}

/** Removes an endpoint. @returns whether there was one */
export async function deleteEndpoint(db: Database, endpointId: number): Promise<boolean> {
  return (await at(db, endpointId).delete()) > 0;
}

/** Disables an endpoint for the operator; its pending deliveries are discarded. @returns whether the endpoint exists */
export async function disableEndpoint(db: Database, endpointId: number): Promise<boolean> {
  const disabled = { disabled_at: db.raw('coalesce(disabled_at, now())'), disabled_reason: null };
  return (await at(db, endpointId).update(disabled)) > 0;
}

/** Disables an endpoint whose receiver wants no more events, unless it has another URL by now. @returns whether it did */
export async function disableIfGone(db: Database, endpointId: number, url: string): Promise<boolean> {
  const disabled = await changeRows(
    db,
    sql`update webhook_endpoints set disabled_at = now(), disabled_reason = 'it responded with 410'
     where webhook_endpoint_id = ${endpointId} and disabled_at is null and url = ${url}`,
  );
  return disabled > 0;
}

/** Disables an endpoint that has accepted nothing for `webhookDeadMilliseconds`, unless its partner has paused it. @returns whether it did */
export async function disableIfDead(db: Database, endpointId: number): Promise<boolean> {
  const milliseconds = webhookDeadMilliseconds;
  const reason = `nothing accepted for ${milliseconds / (24 * 3600 * 1000)} days`;
  const disabled = await changeRows(
    db,
    sql`update webhook_endpoints set disabled_at = now(), disabled_reason = ${reason}
     where webhook_endpoint_id = ${endpointId} and disabled_at is null
       and failing_since < now() - ${milliseconds} * interval '1 millisecond' and coalesce(held_until <= now(), true)`,
  );
  return disabled > 0;
}

/** The columns of an endpoint whose last delivery succeeded. */
const healthy = { failures_in_a_row: 0, failing_since: null, paused_until: null };

/** Enables an endpoint, and ends its pauses. @returns whether the endpoint exists */
export async function enableEndpoint(db: Database, endpointId: number): Promise<boolean> {
  const enabled = { ...healthy, held_until: null, disabled_at: null, disabled_reason: null };
  return (await at(db, endpointId).update(enabled)) > 0;
}

/** Records an accepted event, unless another transaction has locked the endpoint. */
export async function recordSuccess(db: Database, endpointId: number): Promise<void> {
  await db<EndpointRow>('webhook_endpoints')
    .whereIn('webhook_endpoint_id', unlocked(db, endpointId))
    .update(healthy);
}

/**
 * Records a failed attempt, and pauses the endpoint after some consecutive ones. Does nothing if another transaction has locked it:
 * the few connections of the queue must not wait.
 * @param url - of the attempt: a failure of another one than the endpoint has by now does not count
 */
export async function recordFailure(
  db: Database,
  endpointId: number,
  url: string,
  reason: string,
): Promise<void> {
  const { pauseAfterFailures, pauseSeconds, pauseSecondsMax } = webhookPause;
  await changeRows(
    db,
    sql`update webhook_endpoints
     set failed_at = now(), failure_reason = ${reason}, failures_in_a_row = failures_in_a_row + 1,
       failing_since = coalesce(failing_since, now()),
       paused_until = case when failures_in_a_row + 1 >= ${pauseAfterFailures} then
         now() + least(${pauseSecondsMax}, ${pauseSeconds} * power(2, least(failures_in_a_row + 1 - ${pauseAfterFailures}, 20)))
           * interval '1 second'
       end
     where webhook_endpoint_id in (
       select webhook_endpoint_id from webhook_endpoints where webhook_endpoint_id = ${endpointId} and url = ${url}
       for update skip locked
     )`,
  );
}

export async function countDiscarded(db: Database, endpointId: number, events: number): Promise<void> {
  await at(db, endpointId).increment('given_up', events);
}

const unlocked = (db: Database, endpointId: number) =>
  at(db, endpointId).select('webhook_endpoint_id').forUpdate().skipLocked();

function at(db: Database, endpointId: number) {
  return db<EndpointRow>('webhook_endpoints').where('webhook_endpoint_id', endpointId);
}

/** Returns the end of the pause of an endpoint, requested or after failures; null: it is not paused. */
export function pauseEndOf({ paused_until, held_until }: EndpointRow): Date | null {
  const end = Math.max(Number(paused_until), Number(held_until));
  return end > Date.now() ? new Date(end) : null;
}

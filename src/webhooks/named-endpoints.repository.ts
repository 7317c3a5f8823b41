import type { Knex } from 'knex';
import { queryRows, type Database } from '../base/db/database';
import { takeLock } from '../base/db/locks';
import { raw, sql } from '../base/db/sql';
import type { EndpointRow } from './endpoints.repository';
import { previousSecretHours } from './webhook-secrets';

/** Maximum number of named webhooks of a partner: each event is sent to each of them. */
export const namedWebhooksMax = 10;

/** What a partner defines, and the secret if there is a new one. */
interface NamedEndpoint extends Pick<EndpointRow, 'url' | 'event_types'> {
  sealedSecret: Buffer | undefined;
}

/** Finds a webhook of a partner by its name. */
export async function findNamedEndpoint(
  db: Database,
  partnerId: number,
  webhookName: string,
): Promise<EndpointRow | undefined> {
  // PostgreSQL has no NUL.
  if (webhookName.includes('\0')) return undefined;
  const [endpoint] = await queryRows<EndpointRow>(
    db,
    sql`select webhook_endpoints.* from webhook_endpoints join partners using (partner_name)
     where partner_id = ${partnerId} and webhook_name = ${webhookName}`,
  );
  return endpoint;
}

/**
 * Serializes concurrent requests for the webhooks of a partner until the transaction ends. The caller has locked the partner against
 * removal.
 */
export async function lockNamedEndpoints(trx: Knex.Transaction, partnerId: number): Promise<void> {
  await takeLock(trx, 'webhooks', partnerId);
}

/** Creates a webhook. @returns undefined if the partner has `namedWebhooksMax` others */
export async function insertNamedEndpoint(
  trx: Knex.Transaction,
  partnerName: string,
  webhookName: string,
  { url, event_types, sealedSecret }: NamedEndpoint & { sealedSecret: Buffer },
): Promise<EndpointRow | undefined> {
  const [endpoint] = await queryRows<EndpointRow>(
    trx,
    sql`insert into webhook_endpoints (partner_name, webhook_name, url, event_types, sealed_secret)
     select ${partnerName}, ${webhookName}, ${url}, cast(${event_types} as text[]), ${sealedSecret}
     where (
       select count(*) from webhook_endpoints where partner_name = ${partnerName} and webhook_name is not null
     ) < ${namedWebhooksMax}
     returning *`,
  );
  return endpoint;
}

/**
 * Replaces the definition of a webhook, counts its failures anew, and enables it unless the operator has disabled it. With a
 * new secret, the one of before stays valid for `previousSecretHours`.
 */
export async function replaceNamedEndpoint(
  trx: Knex.Transaction,
  endpointId: number,
  { url, event_types, sealedSecret }: NamedEndpoint,
): Promise<EndpointRow> {
  const rotated = sql`,
       previous_sealed_secret = sealed_secret, sealed_secret = ${sealedSecret ?? null},
       previous_secret_until = now() + ${previousSecretHours} * interval '1 hour'`;
  const [endpoint] = await queryRows<EndpointRow>(
    trx,
    sql`update webhook_endpoints
     set url = ${url}, event_types = cast(${event_types} as text[]), failures_in_a_row = 0, failing_since = null,
       paused_until = null, disabled_at = case when disabled_reason is null then disabled_at end, disabled_reason = null
       ${sealedSecret ? rotated : raw('')}
     where webhook_endpoint_id = ${endpointId}
     returning *`,
  );
  return endpoint!;
}

/** Pauses a webhook from now on; 0 seconds end its pause, also one after failures. @returns undefined if it was removed */
export async function pauseNamedEndpoint(
  db: Database,
  endpointId: number,
  seconds: number,
): Promise<EndpointRow | undefined> {
  const [endpoint] = await queryRows<EndpointRow>(
    db,
    sql`update webhook_endpoints
     set held_until = case when ${seconds} > 0 then now() + ${seconds} * interval '1 second' end,
       paused_until = case when ${seconds} > 0 then paused_until end
     where webhook_endpoint_id = ${endpointId}
     returning *`,
  );
  return endpoint;
}

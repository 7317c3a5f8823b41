import { randomUUID } from 'node:crypto';
import type { EventBody } from '../base/db/outbox';
import { stringifyJson } from '../base/exact-json';
import { secretsFault } from '../base/secret-box';
import type { DeliveryContext } from './deliver';
import type { EndpointRow } from './endpoints.repository';
import { send, webhookLimits } from './send';
import { openSecretsOf } from './webhook-secrets';

/** Limits of concurrent pings of a process: each is a request that waits for a receiver. */
export const pingLimits = { concurrentPings: 20, concurrentPingsOfPartner: 2 };

/**
 * Sends a test event to an endpoint, once. Records nothing: neither a failure nor a delivery.
 * @returns the status of the response; null without one, for any reason: the caller must not learn which addresses and ports respond
 * @throws validation_error when the secret cannot be decrypted
 */
export async function pingEndpoint(
  endpoint: EndpointRow,
  { log, secretBox, ...route }: Pick<DeliveryContext, 'log' | 'secretBox' | 'privateAddresses' | 'proxy'>,
): Promise<number | null> {
  const secrets = openSecretsOf(endpoint, secretBox);
  if (!secrets)
    throw secretsFault(
      'The stored secret cannot be decrypted with SECRETS_KEY: replace the webhook with rotate_secret=true',
      { loc: ['path', 'webhook_name'], input: endpoint.webhook_name },
    );
  const event: EventBody = { type: 'webhook.ping', timestamp: new Date().toISOString(), data: {} };
  const message = { id: `msg_${randomUUID().replaceAll('-', '')}`, body: stringifyJson(event) };
  const line = { endpoint_id: endpoint.webhook_endpoint_id, webhook_id: message.id, event: 'webhook.ping' };
  try {
    const milliseconds = webhookLimits.pingMilliseconds;
    const status = await send(endpoint.url, secrets, message, { ...route, milliseconds });
    log.info({ ...line, status }, 'webhook pinged');
    return status;
  } catch (error) {
    log.info({ ...line, err: error }, 'webhook pinged without a response');
    return null;
  }
}

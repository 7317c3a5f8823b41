import type { components } from '../../generated/openapi';
import { pauseEndOf, type EndpointRow } from './endpoints.repository';
import type { ListedDelivery } from './outcomes.repository';

export function webhookBody(endpoint: EndpointRow): components['schemas']['Webhook'] {
  return {
    webhook_id: String(endpoint.webhook_endpoint_id),
    webhook_name: endpoint.webhook_name,
    url: endpoint.url,
    partner_name: endpoint.partner_name,
    event_types: endpoint.event_types,
    previous_secret_until: futureOf(endpoint.previous_secret_until),
    created_at: endpoint.created_at.toISOString(),
    failures_in_a_row: endpoint.failures_in_a_row,
    failed_at: endpoint.failed_at?.toISOString() ?? null,
    failure_reason: endpoint.failure_reason,
    paused_until: pauseEndOf(endpoint)?.toISOString() ?? null,
    disabled_at: endpoint.disabled_at?.toISOString() ?? null,
    disabled_reason: endpoint.disabled_reason,
    discarded: endpoint.given_up,
  };
}

export function deliveryBody(delivery: ListedDelivery): components['schemas']['WebhookDelivery'] {
  return {
    ...delivery,
    happened_at: delivery.happened_at.toISOString(),
    next_attempt_at: delivery.next_attempt_at?.toISOString() ?? null,
    finished_at: delivery.finished_at?.toISOString() ?? null,
  };
}

/** Returns a time that is still to come; null for one that has passed. */
const futureOf = (time: Date | null) => (time && time > new Date() ? time.toISOString() : null);

import type { components } from '../../generated/openapi';

/** The body of a message, as the document has it. */
export type EventBody =
  | components['schemas']['FeedUploadedEvent']
  | components['schemas']['JobCompletedEvent']
  | components['schemas']['JobFailedEvent']
  | components['schemas']['OrderCreatedEvent']
  | components['schemas']['WebhookPingEvent'];

/** What is published. */
export type EventType = EventBody['type'];

/**
 * Publishes events within the transaction that they tell of: they are delivered once it is committed, and never otherwise.
 * One statement, or part of one; without an endpoint, as in most installations, the events are not even read.
 * @param events - a query with the columns `event_type`, `partner_name` and `content` (JSON)
 */
export const publishEventsSql = (events: string) => `
  select publish_events(array_agg(event_type), array_agg(partner_name), array_agg(content)) as deliveries
  from (${events}) as event
  where exists (select from webhook_endpoints where disabled_at is null)`;

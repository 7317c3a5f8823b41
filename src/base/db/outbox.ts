import type { components } from '../../../generated/openapi';
import { sql, type Sql } from './sql';

/** The body of a message in the document. */
export type EventBody =
  | components['schemas']['FeedUploadedEvent']
  | components['schemas']['JobCompletedEvent']
  | components['schemas']['JobFailedEvent']
  | components['schemas']['JobRevertedEvent']
  | components['schemas']['SourceFailedEvent']
  | components['schemas']['PartnerStaleEvent']
  | components['schemas']['PartnerAttentionEvent']
  | components['schemas']['OrderCreatedEvent']
  | components['schemas']['WebhookPingEvent'];

export type EventType = EventBody['type'];

/**
 * Returns SQL that publishes events in the transaction of their cause; they are delivered after its commit. Without an endpoint, as
 * in most installations, the events are not even read.
 * @param events - a query with the columns `event_type`, `partner_name` and `content` (JSON)
 */
export const publishEventsSql = (events: Sql): Sql => sql`
  select publish_events(array_agg(event_type), array_agg(partner_name), array_agg(content)) as deliveries
  from (${events}) as event
  where exists (select from webhook_endpoints where disabled_at is null)`;

import type { components } from '../../generated/openapi';
import { limits } from '../limits';

/** The body of a message, as the document has it. */
export type EventBody =
  | components['schemas']['FeedUploadedEvent']
  | components['schemas']['JobCompletedEvent']
  | components['schemas']['JobFailedEvent']
  | components['schemas']['OrderCreatedEvent'];

/** What endpoints are told of. */
export type EventType = EventBody['type'];

/** The task of the queue that sends one event to one endpoint. */
export const deliveryTask = 'send_webhook';

/** What the task is told. */
export interface Delivery {
  endpoint_id: number;
  /** The same whenever and wherever the event is sent. */
  message_id: string;
  type: EventType;
  /** When it happened, ISO 8601. */
  timestamp: string;
  /** What `describeEvent` makes the data of. */
  content: unknown;
  /** How often it was sent, and failed. */
  failed_attempts: number;
}

/**
 * What puts events into the queue, for each endpoint that wants them, within the transaction of what they tell of: they are
 * sent when it is committed, and never otherwise. One statement, or part of one; where no endpoint wants any, it looks into
 * an empty table.
 * @param events - a query with the columns `event_type`, `partner_name` and `content` (JSON)
 */
export const queueEventsSql = (events: string) => `
  select queue_events(
    array_agg(event_type), array_agg(partner_name), array_agg(content), ${limits.deliveriesPerEndpoint}
  ) as queued
  from (${events}) as event`;

/** What puts a delivery back into the queue, in place of the one that is being worked on: `delivery` and `seconds` from now. */
export const putOffSql = `
  select queue_deliveries(array[cast(:delivery as json)], :seconds, ${limits.deliveriesPerEndpoint})`;

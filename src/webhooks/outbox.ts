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

/** A delivery as the queue takes it. Its key has a delivery that is put off replace itself. */
const deliverySql = (payload: string, runAt: string) => `
  cast(row(
    '${deliveryTask}',
    ${payload},
    'webhook ' || (${payload} ->> 'endpoint_id') || ' ' || floor(random() * ${limits.deliveriesPerEndpoint}),
    ${runAt},
    null,
    'webhook ' || (${payload} ->> 'message_id') || ' ' || (${payload} ->> 'endpoint_id'),
    null,
    null
  ) as graphile_worker.job_spec)`;

/**
 * What puts events into the queue, for each endpoint that wants them, within the transaction of what they tell of: they are
 * sent when it is committed, and never otherwise. One statement, or part of one; where no endpoint wants any, it looks into
 * an empty table.
 * @param events - a query with the columns `event_type`, `partner_name` and `content` (JSON)
 */
export const queueEventsSql = (events: string) => `
  select count(*)
  from (
    select array_agg(${deliverySql('delivery', 'null')}) as deliveries
    from (
      select json_build_object(
        'endpoint_id', webhook_endpoint_id, 'message_id', message_id, 'type', event_type, 'timestamp', happened_at,
        'content', content, 'failed_attempts', 0
      ) as delivery
      from (
        select *, 'msg_' || replace(cast(gen_random_uuid() as text), '-', '') as message_id,
          clock_timestamp() as happened_at
        from (${events}) as event
      ) as message
      join webhook_endpoints as endpoint
        on disabled_at is null
        and (endpoint.partner_name is null or endpoint.partner_name = message.partner_name)
        and (event_types is null or event_type = any (event_types))
    ) as wanted
    having count(*) > 0
  ) as wanted, graphile_worker.add_jobs(deliveries)`;

/** What puts a delivery back into the queue, in place of the one that is being worked on: `delivery` and `seconds` from now. */
export const putOffSql = `
  select count(*) from (select cast(:delivery as json) as delivery) as given, graphile_worker.add_jobs(
    array[${deliverySql('delivery', "now() + :seconds * interval '1 second'")}]
  )`;

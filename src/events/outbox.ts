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
 * sent when it is committed, and never otherwise. One statement, or part of one; where there is no endpoint, as in most
 * installations, the events are not even looked for.
 * @param events - a query with the columns `event_type`, `partner_name` and `content` (JSON)
 */
export const queueEventsSql = (events: string) => `
  select queue_events(
    array_agg(event_type), array_agg(partner_name), array_agg(content), ${limits.deliveriesPerEndpoint}
  ) as queued
  from (${events}) as event
  where exists (select from webhook_endpoints where disabled_at is null)`;

/** What puts a delivery back into the queue, in place of the one that is being worked on: `delivery` and `seconds` from now. */
export const putOffSql = `
  select queue_deliveries(array[cast(:delivery as json)], :seconds, ${limits.deliveriesPerEndpoint})`;

/**
 * What puts off what is due to an endpoint, in one statement: `endpoint_id`, `seconds` from now on. What happened more than
 * `age_milliseconds` ago is taken out of the queue for good: `given_up` has the ids of these messages. Of `most` events at a
 * time, those that are due for the longest.
 */
export const putOffDueSql = `
  with due as materialized (
    select job.id, payload ->> 'message_id' as message_id,
      cast(payload ->> 'timestamp' as timestamptz) < now() - :age_milliseconds * interval '1 millisecond' as is_too_old
    from graphile_worker._private_jobs as job
    join graphile_worker._private_job_queues as lane on lane.id = job_queue_id
    where queue_name like 'webhook ' || :endpoint_id || ' %' and job.is_available and run_at <= now()
    order by run_at limit :most
    for update of job skip locked
  )
  select
    array(select message_id from due where is_too_old) as given_up,
    (select count(*) from graphile_worker.complete_jobs(array(select id from due where is_too_old))),
    (select count(*) from graphile_worker.reschedule_jobs(
      array(select id from due where not is_too_old), run_at => now() + :seconds * interval '1 second'
    ))`;

/**
 * What puts deliveries into the queue again that were taken from it more than `milliseconds` ago, and lets the next ones of
 * their lanes begin. They are there under new numbers: should somebody who has taken one live on, what he says of the end
 * of his has no effect on it. Only a lane that was taken so long ago is looked for among the jobs.
 */
export const freeLeftSql = `
  with overdue as materialized (
    select now() - :milliseconds * interval '1 millisecond' as time
  ), lane as (
    update graphile_worker._private_job_queues set locked_at = null, locked_by = null
    from overdue where queue_name like 'webhook %' and locked_at < overdue.time
    returning id
  ), gone as (
    delete from graphile_worker._private_jobs as job
    using lane, overdue where job_queue_id = lane.id and job.locked_at < overdue.time
    returning payload, key
  )
  select queue_deliveries(array_agg(payload), 0, ${limits.deliveriesPerEndpoint})
  from gone
  -- One without a key was put off before it was left: it is there already.
  where key is not null
  having count(*) > 0`;

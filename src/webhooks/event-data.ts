import type { Database } from '../db/database';
import { feedBody } from '../feeds/feeds.body';
import type { FeedRow } from '../feeds/feeds.repository';
import { jobBody } from '../jobs/jobs.body';
import type { ValidationJobRow } from '../jobs/jobs.repository';
import { describeValidationJob } from '../jobs/jobs.service';
import { orderBody } from '../orders/orders.body';
import { findOrder } from '../orders/orders.repository';
import type { EventBody } from '../events/outbox';
import type { ClaimedDelivery } from './deliveries.repository';

/** What is kept of an event: what will not be the same any more when it is sent. */
export interface EventContent {
  'feed.uploaded': InJson<FeedRow>;
  'job.completed': InJson<ValidationJobRow>;
  'job.failed': InJson<ValidationJobRow>;
  'order.created': { order_id: number };
}

/** Times are ISO 8601, bytes are hexadecimal digits. */
type InJson<Row> = {
  [Column in keyof Row]: Row[Column] extends Buffer
    ? string
    : Date extends Row[Column]
      ? OrNull<Row[Column]>
      : Row[Column];
};

type OrNull<Value> = null extends Value ? string | null : string;

/**
 * What a delivery says of its event, as the operations of the document would have said it when it happened.
 * @returns null when its order no longer exists
 */
export async function describeEvent(
  db: Database,
  { event_type: type, happened_at, content }: Pick<ClaimedDelivery, 'event_type' | 'happened_at' | 'content'>,
): Promise<EventBody | null> {
  const happenedAt = happened_at.toISOString();
  switch (type) {
    case 'feed.uploaded': {
      const row = content as EventContent[typeof type];
      const data = feedBody({
        ...row,
        uploaded_at: new Date(row.uploaded_at),
        run_requested_at: timeOf(row.run_requested_at),
        sha256: Buffer.from(row.sha256, 'hex'),
      });
      return { type, timestamp: happenedAt, data };
    }
    case 'job.completed':
    case 'job.failed': {
      const row = content as EventContent[typeof type];
      const job = describeValidationJob({
        ...row,
        created_at: new Date(row.created_at),
        run_requested_at: timeOf(row.run_requested_at),
        started_at: timeOf(row.started_at),
        finished_at: timeOf(row.finished_at),
        version: null,
      });
      return { type, timestamp: happenedAt, data: jobBody(job) };
    }
    case 'order.created': {
      // Orders do not change, and can be large.
      const { order_id: orderId } = content as EventContent[typeof type];
      const order = await findOrder(db, orderId, null);
      return order && { type, timestamp: happenedAt, data: orderBody(order) };
    }
  }
}

/** What the last release has published has no time of the request. */
const timeOf = (text: string | null | undefined) => (text ? new Date(text) : null);

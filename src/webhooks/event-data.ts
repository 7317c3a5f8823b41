import type { Database } from '../base/db/database';
import { feedBody } from '../intake/feeds/feeds.body';
import type { FeedRow } from '../intake/feeds/feeds.repository';
import type { JobRunRow } from '../runs/jobs/job-runs.repository';
import { jobBody, revertBody } from '../runs/jobs/jobs.body';
import type { ValidationJobRow } from '../runs/jobs/jobs.repository';
import { describeValidationJob } from '../runs/jobs/jobs.service';
import { orderBody } from '../sales/orders/orders.body';
import { findOrder } from '../sales/orders/orders.repository';
import type { EventBody } from '../base/db/outbox';
import type { AttentionChange } from '../catalog/partners/attention';
import { partnerBody } from '../catalog/partners/partners.body';
import type { PartnerRow } from '../catalog/partners/partners.repository';
import { sourceBody } from '../intake/sources/sources.body';
import type { SourceRow } from '../intake/sources/sources.repository';
import type { ClaimedDelivery } from './deliveries.repository';

/** The data of an event that can change before it is delivered. */
interface EventContent {
  'feed.uploaded': InJson<FeedRow>;
  'job.completed': InJson<ValidationJobRow>;
  'job.failed': InJson<ValidationJobRow>;
  'job.reverted': InJson<JobRunRow>;
  'source.failed': InJson<SourceRow>;
  'partner.stale': InJson<Omit<PartnerRow, 'attention'>> & Partial<Pick<PartnerRow, 'attention'>>;
  'partner.attention': AttentionChange;
  'order.created': { order_id: number };
  'webhook.ping': Record<string, never>;
}

/** A row as JSON: times in ISO 8601, bytes in hexadecimal. */
type InJson<Row> = {
  [Column in keyof Row]: Row[Column] extends Buffer
    ? string
    : Date extends Row[Column]
      ? OrNull<Row[Column]>
      : Row[Column];
};

type OrNull<Value> = null extends Value ? string | null : string;

/**
 * Makes the body of an event, with the resource as the API returned it at that time.
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
        // Absent in an event of release 1.2.0.
        ...{ mode: 'upsert', collection: 'main', is_collection_named: false },
        ...{ format_name: null, max_skipped_percent: null, max_price_jump_percent: null },
        ...row,
        uploaded_at: new Date(row.uploaded_at),
        run_requested_at: timeOf(row.run_requested_at),
        raw_file_removed_at: timeOf(row.raw_file_removed_at),
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
        issues_removed_at: timeOf(row.issues_removed_at),
        version: null,
      });
      return { type, timestamp: happenedAt, data: jobBody(job) };
    }
    case 'job.reverted': {
      const row = content as EventContent[typeof type];
      const revert = revertBody({
        ...row,
        requested_at: timeOf(row.requested_at),
        started_at: timeOf(row.started_at),
        finished_at: timeOf(row.finished_at),
      });
      return { type, timestamp: happenedAt, data: revert };
    }
    case 'source.failed': {
      const row = content as EventContent[typeof type];
      const source = sourceBody({
        ...row,
        next_slot_at: timeOf(row.next_slot_at),
        created_at: new Date(row.created_at),
        updated_at: new Date(row.updated_at),
      });
      return { type, timestamp: happenedAt, data: source };
    }
    case 'partner.stale': {
      const row = content as EventContent[typeof type];
      // Absent in an event of release 1.2.0.
      const attention = row.attention ?? [];
      const partner = partnerBody({ ...row, attention, last_completed_at: timeOf(row.last_completed_at) });
      return { type, timestamp: happenedAt, data: partner };
    }
    case 'partner.attention': {
      const row = content as EventContent[typeof type];
      return { type, timestamp: happenedAt, data: { ...row, since: new Date(row.since).toISOString() } };
    }
    case 'order.created': {
      // Read at delivery: orders can be large, and they never change except for an erased reference.
      const { order_id: orderId } = content as EventContent[typeof type];
      const order = await findOrder(db, orderId, null);
      return order ? { type, timestamp: happenedAt, data: orderBody(order) } : null;
    }
    case 'webhook.ping':
      return { type, timestamp: happenedAt, data: {} };
  }
}

/** Events that an earlier release published do not have all times. */
const timeOf = (text: string | null | undefined) => (text ? new Date(text) : null);

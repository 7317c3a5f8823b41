import type { components } from '../../../generated/openapi';
import { formatId } from '../../base/ids';
import { lastRunSummary, validationMessage } from '../../runs/jobs/jobs.service';
import type { FeedRow } from './feeds.repository';

export function feedBody(feed: FeedRow): components['schemas']['Feed'] {
  return {
    feed_id: formatId('FD', feed.feed_id),
    partner_name: feed.partner_name,
    file_name: feed.filename,
    content_type: feed.content_type,
    status: feed.feed_status,
    uploaded_at: feed.uploaded_at.toISOString(),
    validation_job_id: formatId('JV', feed.job_id),
    validation_status: feed.status,
    validation_message: validationMessage(feed),
    raw_file_object_key: feed.raw_file_object_key,
    raw_file_bucket: feed.raw_file_bucket,
    sha256: feed.sha256.toString('hex'),
    size_bytes: feed.size_bytes,
    mode: feed.mode,
    collection: feed.is_collection_named ? feed.collection : null,
    format_name: feed.format_name,
    max_skipped_percent: feed.max_skipped_percent,
    max_price_jump_percent: feed.max_price_jump_percent,
    duplicate_of: formatFeedId(feed.duplicate_of),
    raw_file_removed_at: feed.raw_file_removed_at?.toISOString() ?? null,
    reverted_by: feed.reverted_by ?? undefined,
  };
}

/** A feed in a list: with the counters of its last run. */
export function listedFeedBody(feed: FeedRow): components['schemas']['ListedFeed'] {
  return { ...feedBody(feed), summary: lastRunSummary(feed) };
}

/** The numbers of a received feed and its jobs. */
export interface FeedReceipt {
  feedId: number;
  submissionJobId: number;
  validationJobId: number;
  sha256: Buffer;
  sizeBytes: number;
  /** The first equal feed of the partner, if it has a smaller number. */
  duplicateOf: number | null;
}

export function receiptBody(receipt: FeedReceipt): components['schemas']['FeedReceipt'] {
  return {
    feed_id: formatId('FD', receipt.feedId),
    status: 'processing',
    job_id: formatId('JS', receipt.submissionJobId),
    validation_job_id: formatId('JV', receipt.validationJobId),
    validation_status: 'queued',
    sha256: receipt.sha256.toString('hex'),
    size_bytes: receipt.sizeBytes,
    duplicate_of: formatFeedId(receipt.duplicateOf),
  };
}

const formatFeedId = (feedId: number | null) => (feedId === null ? null : formatId('FD', feedId));

import type { Handlers } from '../http/contract';
import { formatId } from '../ids';
import { validationMessage } from '../jobs/jobs.service';
import { getFeed, receiveFeed, type ReceiveContext } from './feeds.service';

export function feedHandlers(context: Omit<ReceiveContext, 'log'>): Pick<Handlers, 'uploadFeed' | 'getFeed'> {
  return {
    async uploadFeed({ form, log, reply }) {
      const receipt = await receiveFeed(form, { ...context, log });
      const feedId = formatId('FD', receipt.feedId);
      return reply(
        201,
        {
          feed_id: feedId,
          status: 'processing',
          job_id: formatId('JS', receipt.submissionJobId),
          validation_job_id: formatId('JV', receipt.validationJobId),
          validation_status: 'queued',
          sha256: receipt.sha256.toString('hex'),
          size_bytes: receipt.sizeBytes,
          duplicate_of: formatFeedId(receipt.duplicateOf),
        },
        { Location: `/feeds/${feedId}` },
      );
    },

    async getFeed({ path, reply }) {
      const feed = await getFeed(context.db, path.feed_id);
      return reply(200, {
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
        duplicate_of: formatFeedId(feed.duplicate_of),
      });
    },
  };
}

const formatFeedId = (feedId: number | null) => (feedId === null ? null : formatId('FD', feedId));

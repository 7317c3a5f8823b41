import { Readable } from 'node:stream';
import type { components } from '../../generated/openapi';
import type { Handlers } from '../http/contract';
import { formatId } from '../ids';
import { validationMessage } from '../jobs/jobs.service';
import { issueBody } from '../jobs/jobs.handlers';
import { feedProfile, feedTemplate } from './profile';
import { inspectFeed, type FeedInspection } from './inspection.service';
import { getFeed, receiveFeed, type ReceiveContext } from './feeds.service';

export function feedHandlers(
  context: Omit<ReceiveContext, 'log'>,
): Pick<Handlers, 'uploadFeed' | 'getFeed' | 'getFeedProfile' | 'downloadFeedTemplate' | 'inspectFeed'> {
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
      });
    },

    async getFeedProfile({ reply }) {
      return Promise.resolve(reply(200, feedProfile(context.uploadBytesMax)));
    },

    async downloadFeedTemplate({ reply }) {
      const file = Readable.from([feedTemplate()], { objectMode: false });
      return Promise.resolve(
        reply(200, file, { 'Content-Disposition': 'attachment; filename="feed-template.csv"' }),
      );
    },

    async inspectFeed({ form, reply }) {
      return reply(200, inspectionBody(await inspectFeed(form, context.uploadBytesMax)));
    },
  };
}

function inspectionBody(inspection: FeedInspection): components['schemas']['FeedInspection'] {
  return {
    accepted: inspection.refusal === null,
    refusal: inspection.refusal,
    run_failure: inspection.runFailure,
    inspected_bytes: inspection.inspectedBytes,
    complete: inspection.complete,
    encoding: inspection.encoding,
    byte_order_mark: inspection.byteOrderMark,
    delimiter: inspection.delimiter,
    line_ends: inspection.lineEnds,
    headers: inspection.headers.map(({ columnNumber, ...same }) => ({
      column_number: columnNumber,
      ...same,
    })),
    row_count: inspection.rowCount,
    rows: inspection.rows,
    issues: inspection.issues.map(issueBody),
    issue_counts: inspection.issueCounts,
  };
}

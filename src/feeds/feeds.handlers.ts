import { Readable } from 'node:stream';
import { create as contentDisposition } from 'content-disposition';
import type { components } from '../../generated/openapi';
import type { Handlers } from '../http/contract';
import { idempotencyKeyOf, replayedHeader } from '../idempotency/idempotency.service';
import { selectBytes } from '../http/range-request';
import { formatId } from '../shared/ids';
import { issueBody } from '../jobs/jobs.handlers';
import { holderOf } from '../shared/caller';
import type { TransferLimit } from '../shared/transfer-limit';
import { feedProfile, feedTemplate } from './profile';
import { inspectFeed, type FeedInspection } from './inspection.service';
import { feedBody, formatFeedId } from './feeds.body';
import {
  getFeed,
  openFeedFile,
  receiveFeedIdempotently,
  type FeedReceipt,
  type IdempotentReceiveContext,
} from './feeds.service';

/** Handles uploads, inspections and downloads of feeds. `downloads` limits raw files. */
export function feedHandlers(
  context: Omit<IdempotentReceiveContext, 'caller' | 'log'>,
  downloads: TransferLimit,
): Pick<
  Handlers,
  'uploadFeed' | 'getFeed' | 'downloadFeedFile' | 'getFeedProfile' | 'downloadFeedTemplate' | 'inspectFeed'
> {
  return {
    async uploadFeed({ form, headers, caller, log, reply }) {
      const key = idempotencyKeyOf({ caller, headers });
      const outcome = await receiveFeedIdempotently(form, key, { ...context, caller, log }, receiptBody);
      const { responseBody } = outcome;
      return reply(201, responseBody, {
        Location: `/feeds/${responseBody.feed_id}`,
        ...replayedHeader(outcome),
      });
    },

    async getFeed({ path, caller, reply }) {
      const feed = await getFeed(context.db, path.feed_id, caller.partnerName);
      return reply(200, feedBody(feed));
    },

    async downloadFeedFile({ path, headers, caller, bytesTaken, reply }) {
      const feed = await getFeed(context.db, path.feed_id, caller.partnerName);
      const sizeBytes = feed.size_bytes;
      const entityTag = `"${feed.sha256.toString('hex')}"`;
      const selected = selectBytes(headers, { entityTag, sizeBytes });
      const copyHeaders = { ETag: entityTag, 'Cache-Control': 'private, no-cache' as const };
      if (selected === 'not_modified') return reply(304, undefined, copyHeaders);
      if (selected === 'unsatisfiable') {
        const detail = `The requested range is not within the ${sizeBytes} bytes of the file.`;
        return reply(416, { detail }, { 'Content-Range': `bytes */${sizeBytes}` });
      }
      const fileHeaders = {
        ...copyHeaders,
        'Repr-Digest': `sha-256=:${feed.sha256.toString('base64')}:`,
        'Accept-Ranges': 'bytes' as const,
        'Content-Disposition': contentDisposition(feed.filename),
      };
      const range = selected === 'all' ? undefined : selected;
      const content = await downloads.open(
        { ...holderOf(caller, feed.partner_name), bytes: bytesTaken },
        () => openFeedFile(context.objectStore, feed, range),
      );
      if (!range) return reply(200, content, { ...fileHeaders, 'Content-Length': sizeBytes });
      const { start, end } = range;
      return reply(206, content, {
        ...fileHeaders,
        'Content-Length': end - start + 1,
        'Content-Range': `bytes ${start}-${end}/${sizeBytes}`,
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

    async inspectFeed({ form, caller, reply }) {
      const { db, uploadBytesMax, uploadLimits } = context;
      const inspection = await inspectFeed(form, uploadBytesMax, { db, caller, uploadLimits });
      return reply(200, inspectionBody(inspection));
    },
  };
}

function receiptBody(receipt: FeedReceipt): components['schemas']['FeedReceipt'] {
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

function inspectionBody(inspection: FeedInspection): components['schemas']['FeedInspection'] {
  return {
    accepted: inspection.refusal === null,
    refusal: inspection.refusal,
    hint: inspection.hint,
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

import { Readable } from 'node:stream';
import { create as contentDisposition } from 'content-disposition';
import type { components } from '../../../generated/openapi';
import type { Database } from '../../base/db/database';
import type { Reads } from '../../base/db/reads';
import { defaulted, type OperationsOf } from '../../http/contract/contract';
import {
  idempotencyKeyOf,
  replayedHeader,
  requireUnclaimed,
} from '../../http/idempotency/idempotency.service';
import { EncodedFile } from '../../http/contract/encoded-file';
import { selectBytes } from '../../http/reply/range-request';
import { invalidCursor, rangeNotSatisfiable } from '../../base/errors';
import { parseId } from '../../base/ids';
import { getFormatOfQuery } from '../../catalog/formats/find-format';
import { issueBody } from '../../feed-format/rows/issue-body';
import { storedPartnerName } from '../../catalog/partners/stored-partner-name';
import { holderOf, type PartnerScope } from '../../base/caller';
import type { TransferLimit } from '../../base/concurrency/transfer-limit';
import { toListBody } from '../../base/pagination';
import { feedProfile, feedTemplate } from './profile';
import type { FeedInspection } from './inspection';
import { inspectFeed } from './inspection.service';
import { feedBody, listedFeedBody } from './feeds.body';
import { charsetOf } from '../../feed-format/read/file-charset';
import { isGzipName } from '../../feed-format/read/unpack';
import type { ByteRange } from '../../base/storage/object-store';
import { findFeedPosition, listFeeds, type FeedPosition, type FeedRow } from './feeds.repository';
import { getFeed, openFeedFile, requireRawFile } from './feeds.service';
import { receiveUpload, type UploadContext } from './receive-feed';
import { admitUpload, type UploadAdmission } from './upload-form';

declare module '../../http/contract/contract' {
  interface CheckResults {
    listFeeds: FeedPosition | undefined;
  }
}

/** The operations on feeds. `downloads` limits raw files. */
export function feedOperations(
  context: Omit<UploadContext, 'caller' | 'log'> &
    Pick<UploadAdmission, 'uploadLimits'> & { reads: Reads; defaultCurrency: string },
  downloads: TransferLimit,
): OperationsOf<
  | 'uploadFeed'
  | 'listFeeds'
  | 'getFeed'
  | 'downloadFeedFile'
  | 'getFeedProfile'
  | 'downloadFeedTemplate'
  | 'inspectFeed'
> {
  return {
    uploadFeed: {
      async handle({ form, headers, caller, refusal, log, reply, readAsPut }) {
        const key = idempotencyKeyOf({ caller, headers });
        await requireUnclaimed(context.db, key);
        const admission = { ...context, caller, refusal, readAsPut, hasDefaultFormat: true };
        const outcome = await admitUpload(form, admission, (feed) =>
          receiveUpload(feed, key, { ...context, caller, log }),
        );
        const { responseBody } = outcome;
        return reply(201, responseBody, {
          Location: `/feeds/${responseBody.feed_id}`,
          ...replayedHeader(outcome),
        });
      },
    },

    listFeeds: {
      check: ({ query, caller }) => resolveFeedCursor(context.db, query.cursor, caller.partnerName),
      async handle({ query, checked, caller, reply }) {
        const timeOf = (text?: string) => (text === undefined ? undefined : new Date(text));
        const page = await listFeeds(context.db, {
          scope: caller.partnerName,
          partnerName: query.partner_name && (await storedPartnerName(context.db, query.partner_name)),
          status: query.status,
          uploadedFrom: timeOf(query.uploaded_from),
          uploadedTo: timeOf(query.uploaded_to),
          after: checked,
          limit: defaulted(query.limit),
        });
        return reply(200, toListBody(page, listedFeedBody));
      },
    },

    getFeed: {
      async handle({ path, caller, reply }) {
        const feed = await getFeed(context.db, path.feed_id, caller.partnerName);
        return reply(200, feedBody(feed));
      },
    },

    downloadFeedFile: {
      async handle({ path, headers, caller, client, refusal, reply }) {
        const feed = await getFeed(context.db, path.feed_id, caller.partnerName);
        requireRawFile(feed);
        const sizeBytes = feed.size_bytes;
        const entityTag = `"${feed.sha256.toString('hex')}"`;
        const selected = selectBytes(headers, { entityTag, sizeBytes });
        const copyHeaders = { ETag: entityTag, 'Cache-Control': 'private, no-cache' as const };
        if (selected === 'not_modified') return reply(304, undefined, copyHeaders);
        if (selected === 'unsatisfiable') throw rangeNotSatisfiable(sizeBytes);
        const fileHeaders = {
          ...copyHeaders,
          'Repr-Digest': `sha-256=:${feed.sha256.toString('base64')}:`,
          'Accept-Ranges': 'bytes' as const,
          'Content-Disposition': contentDisposition(feed.filename),
        };
        const range = selected === 'all' ? undefined : selected;
        const content = await downloads.open(
          { ...holderOf(caller, feed.partner_name), client, refusal },
          () => openFeedFile(context.objectStore, feed, range),
        );
        const file = new EncodedFile(content, await rawCharset(feed, content, range));
        if (!range) return reply(200, file, { ...fileHeaders, 'Content-Length': sizeBytes });
        const { start, end } = range;
        return reply(206, file, {
          ...fileHeaders,
          'Content-Length': end - start + 1,
          'Content-Range': `bytes ${start}-${end}/${sizeBytes}`,
        });
      },
    },

    getFeedProfile: {
      async handle({ reply }) {
        return Promise.resolve(reply(200, feedProfile(context.uploadBytesMax)));
      },
    },

    downloadFeedTemplate: {
      async handle({ query, caller, reply }) {
        const partnerName = query.partner_name && (await storedPartnerName(context.db, query.partner_name));
        const isForeign = partnerName && caller.partnerName !== null && caller.partnerName !== partnerName;
        const owner = isForeign ? undefined : (partnerName ?? caller.partnerName ?? undefined);
        const format = query.format ? await getFormatOfQuery(context.db, query.format, owner) : undefined;
        const file = Readable.from([feedTemplate(format?.definition)], { objectMode: false });
        return reply(200, new EncodedFile(file, format?.definition.encoding ?? 'utf-8'), {
          'Content-Disposition': 'attachment; filename="feed-template.csv"',
        });
      },
    },

    inspectFeed: {
      async handle({ form, caller, refusal, reply, readAsPut }) {
        const { db, uploadBytesMax, uploadLimits } = context;
        const admission = { db, caller, uploadLimits, refusal, readAsPut };
        const inspection = await inspectFeed(form, uploadBytesMax, admission, context);
        return reply(200, inspectionBody(inspection));
      },
    },
  };
}

/** @returns the charset of a raw file, or of a part of it; null if it is packed */
async function rawCharset(
  { format_encoding: encoding, filename }: FeedRow,
  content: Readable,
  range: ByteRange | undefined,
): Promise<string | null> {
  if (encoding === null) return 'utf-8';
  if (isGzipName(filename)) return null;
  return range ? encoding : charsetOf(content, encoding);
}

/** @throws invalid_cursor if the cursor is not the id of a feed */
async function resolveFeedCursor(
  db: Database,
  cursor: unknown,
  scope: PartnerScope,
): Promise<FeedPosition | undefined> {
  if (cursor === undefined) return undefined;
  const feedId = typeof cursor === 'string' ? parseId('FD', cursor) : undefined;
  const position = feedId === undefined ? null : await findFeedPosition(db, feedId, scope);
  if (!position) throw invalidCursor();
  return position;
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
    detected_encoding: inspection.detectedEncoding,
    byte_order_mark: inspection.byteOrderMark,
    delimiter: inspection.delimiter,
    decimal_separator: inspection.decimalSeparator,
    skip_lines: inspection.skipLines,
    line_ends: inspection.lineEnds,
    headers: inspection.headers.map(({ columnNumber, ...same }) => ({
      column_number: columnNumber,
      ...same,
    })),
    row_count: inspection.rowCount,
    rows: inspection.rows,
    issues: inspection.issues.map(issueBody),
    issue_counts: inspection.issueCounts,
    suggested_format: inspection.suggestedFormat,
    draft_format: inspection.draftFormat,
    doubts: inspection.doubts.map(({ choices, ...doubt }) => ({
      ...doubt,
      choices: choices.map(({ valuePointer, ...choice }) => ({ ...choice, value_pointer: valuePointer })),
    })),
    sample: inspection.sample,
    known_skus: inspection.knownSkus,
  };
}

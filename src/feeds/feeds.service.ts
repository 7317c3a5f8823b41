import type { Readable } from 'node:stream';
import type { Knex } from 'knex';
import type { Database } from '../db/database';
import { inTransaction } from '../db/transaction';
import type { MultipartBody } from '../http/multipart';
import {
  findAnswered,
  isUnclaimed,
  keepAnswer,
  type AnsweredRequest,
  type IdempotencyKey,
} from '../idempotency/idempotency.repository';
import { digestRequest, replay, withIdempotencyLock, type Outcome } from '../idempotency/idempotency.service';
import { defaultLoadOptions, loadFieldNames, type LoadOptions } from '../feed-format/load-options';
import type { FeedFormat } from '../feed-format/format-definition';
import { formatsMax, upsertFormat } from '../formats/formats.repository';
import { findPartnerId, getOrInsertPartner, lockAgainstRemoval } from '../partners/partners.repository';
import { insertJobs } from '../jobs/jobs.repository';
import { requireKeyInUse } from '../keys/keys.repository';
import type { PartnerScope } from '../shared/caller';
import {
  feedNotFound,
  idempotentRequestInProgress,
  partnerNotFound,
  rawFileMissing,
  rawFileRemoved,
  ServiceError,
  tooManyFormats,
} from '../shared/errors';
import { formatId, parseId } from '../shared/ids';
import type { Log } from '../shared/log';
import { rawFileKey, stagingKey } from '../storage/object-key';
import { cleanUpMilliseconds, StorageError, type ByteRange, type ObjectStore } from '../storage/object-store';
import {
  receiveFile,
  receiveUncheckedFile,
  type ReceivedFile,
  type TakeFile,
  type UncheckedFile,
} from './feed-file';
import {
  drawFeedId,
  findDuplicate,
  findFeed,
  findFeedPosition,
  insertFeed,
  publishFeedEvent,
  type FeedRow,
} from './feeds.repository';
import { admitUpload, type IncomingUpload, type UploadAdmission } from './incoming-upload';
import { discardContent } from './upload-form';

/** @throws feed_not_found */
export async function getFeed(db: Database, id: string, scope: PartnerScope): Promise<FeedRow> {
  const feedId = parseId('FD', id);
  const feed = feedId === undefined ? null : await findFeed(db, feedId, scope);
  if (!feed) throw feedNotFound(id);
  return feed;
}

/** @throws raw_file_removed */
export function requireRawFile({ feed_id, raw_file_removed_at }: FeedRow): void {
  if (raw_file_removed_at) throw rawFileRemoved(formatId('FD', feed_id), raw_file_removed_at);
}

/**
 * Opens a raw file, or a range of it. The caller must read or destroy the stream.
 * @throws raw_file_missing, StorageError
 */
export async function openFeedFile(
  objectStore: ObjectStore,
  feed: Pick<FeedRow, 'feed_id' | 'raw_file_object_key'>,
  range?: ByteRange,
): Promise<Readable> {
  try {
    return await objectStore.get(feed.raw_file_object_key, range);
  } catch (error) {
    if (error instanceof StorageError && error.missing) {
      throw rawFileMissing(formatId('FD', feed.feed_id), error);
    }
    throw error;
  }
}

export interface ReceiveContext {
  db: Database;
  objectStore: ObjectStore;
  uploadBytesMax: number;
  log: Log;
}

export interface FeedReceipt {
  feedId: number;
  submissionJobId: number;
  validationJobId: number;
  sha256: Buffer;
  sizeBytes: number;
  /** The first equal feed of the partner, if it has a smaller number. */
  duplicateOf: number | null;
}

interface ReceivedUpload extends ReceivedFile {
  partnerName: string;
  /** Absent: the partner did not exist, or was not named, when the file began. */
  partnerId?: number;
  loadOptions: LoadOptions;
  format: FeedFormat | null;
  /** Whether the format is stored with the feed. */
  isFormatNew: boolean;
  /** Checks the stored file, if it was stored unchecked. */
  check?: UncheckedFile['check'];
}

interface StoredObject {
  feedId: number;
  key: string;
}

/** What is written with a feed before its transaction commits. */
interface FeedWrite {
  /** Absent: a new transaction. */
  trx?: Knex.Transaction;
  /** Refuses what was begun by a key that has gone since; the partner is locked. */
  requireKey?: (trx: Knex.Transaction) => Promise<void>;
  beforeCommit?: (trx: Knex.Transaction, upload: ReceivedUpload, receipt: FeedReceipt) => Promise<void>;
}

export interface IdempotentReceiveContext extends ReceiveContext, UploadAdmission {
  /** A pool of its own: an upload holds a connection for its whole duration. */
  claims: Database;
}

/**
 * Receives an upload once per idempotency key. If the key is in use, it fails before reading the body.
 *
 * The transaction locks the key when the file begins, and is idle until feed and response are written. If its connection
 * is lost, nothing is committed. A repeated upload is read to compare its digest, and not stored.
 * @param describe - makes the response body
 * @throws idempotent_request_in_progress, idempotency_key_used; errors of `admitUpload` and `receiveFeed`
 */
export async function receiveFeedIdempotently<T extends object>(
  body: MultipartBody,
  key: IdempotencyKey | undefined,
  context: IdempotentReceiveContext,
  describe: (receipt: FeedReceipt) => T,
): Promise<Outcome<T>> {
  if (key && !(await isUnclaimed(context.db, key))) throw idempotentRequestInProgress();
  return admitUpload(body, context, {
    options: { loadFields: loadFieldNames, hasDefaultFormat: true },
    refuse: async (upload) => {
      await readUpload(upload, context, discardContent);
      throw upload.form.refusal()!;
    },
    receive: async (upload) =>
      key
        ? receiveWithKey(upload, key, context, describe)
        : {
            responseBody: describe(await receiveFeed(upload, context, { requireKey: keyCheckOf(context) })),
            replayed: false,
          },
  });
}

function receiveWithKey<T extends object>(
  upload: IncomingUpload,
  key: IdempotencyKey,
  context: IdempotentReceiveContext,
  describe: (receipt: FeedReceipt) => T,
): Promise<Outcome<T>> {
  return withIdempotencyLock(context.claims, 'upload', key, async (trx) => {
    const answered = await findAnswered(context.db, key);
    if (answered && (await isStillTrue(answered, context))) {
      const received = await readUpload(upload, context, discardContent);
      return replay<T>(answered, digestUpload(received));
    }
    const receipt = await receiveFeed(upload, context, {
      trx,
      requireKey: keyCheckOf(context),
      beforeCommit: (_trx, received, receipt) =>
        keepAnswer(trx, { key, requestDigest: digestUpload(received) }, describe(receipt)),
    });
    return { responseBody: describe(receipt), replayed: false };
  });
}

const keyCheckOf =
  ({ caller }: IdempotentReceiveContext) =>
  (trx: Knex.Transaction) =>
    requireKeyInUse(trx, caller);

/** Returns whether a stored response shows no feed that was removed with its partner, or that the key must not see. */
async function isStillTrue(
  { responseBody }: AnsweredRequest,
  { db, caller }: IdempotentReceiveContext,
): Promise<boolean> {
  const { feed_id: id } = responseBody as { feed_id?: string };
  if (id === undefined) return true;
  return (await findFeedPosition(db, parseId('FD', id)!, caller.partnerName)) !== null;
}

function digestUpload(upload: ReceivedUpload): Buffer {
  const { partnerName, fileName, contentType, sha256, loadOptions, format, isFormatNew } = upload;
  const { mode, collection, isCollectionNamed } = loadOptions;
  const isDefault = mode === defaultLoadOptions.mode && !isCollectionNamed;
  // Without these, as before: stored digests stay valid.
  const target = isDefault && !format ? [] : [mode, isCollectionNamed ? collection : null];
  const reading = format ? [format.definition, ...(isFormatNew ? [format.name] : [])] : [];
  return digestRequest('uploadFeed', [
    partnerName,
    fileName,
    contentType,
    sha256.toString('hex'),
    ...target,
    ...reading,
  ]);
}

/**
 * Streams the file through the checks into the object store, then inserts feed and jobs. A rejected or interrupted upload
 * leaves nothing; a crash leaves at most an object without a row.
 * @throws invalid_feed_file, too_large, invalid_shape, partner_not_allowed; partner_not_found when the partner was removed
 *   meanwhile; errors of the body and of `also`
 */
export async function receiveFeed(
  upload: IncomingUpload,
  context: ReceiveContext,
  also?: FeedWrite,
): Promise<FeedReceipt> {
  const stored: { object?: StoredObject } = {};
  const store: TakeFile = async (chunks, { fileName, contentType }, partnerName) => {
    const feedId = await drawFeedId(context.db);
    const key = partnerName ? rawFileKey(partnerName, formatId('FD', feedId), fileName) : stagingKey();
    await context.objectStore.put(key, chunks, contentType);
    stored.object = { feedId, key };
  };
  try {
    const received = await readUpload(upload, context, store);
    await checkStored(received, stored.object!, context);
    await moveToFinalKey(received, stored.object!, context);
    const write = async (trx: Knex.Transaction) => {
      const receipt = await writeFeed(trx, received, stored.object!, context, also?.requireKey);
      await also?.beforeCommit?.(trx, received, receipt);
      // If the commit fails, its outcome is unknown: the feed may exist and needs its object.
      stored.object = undefined;
      return receipt;
    };
    return await (also?.trx ? write(also.trx) : inTransaction(context.db, 'request', write));
  } catch (error) {
    if (stored.object) await discard(stored.object.key, context);
    throw error;
  }
}

/**
 * Reads the rest of an upload and checks its form.
 * @param takeFile - called only if the header is valid
 * @throws invalid_feed_file, too_large, invalid_shape, partner_not_allowed; errors of the body and of `takeFile`
 */
async function readUpload(
  { form, file, format, readRest }: IncomingUpload,
  { db, uploadBytesMax }: ReceiveContext,
  takeFile: TakeFile,
): Promise<ReceivedUpload> {
  const partnerId = form.partnerName === undefined ? undefined : await findPartnerId(db, form.partnerName);
  const take = form.isUnreadable ? discardContent : takeFile;
  const received =
    format === 'undecided'
      ? await receiveUncheckedFile(file, form, uploadBytesMax, take)
      : await receiveFile(file, form, format, uploadBytesMax, take);
  await readRest();
  const decided = format === 'undecided' ? await form.findFormat() : format;
  form.requireReadable();
  if (received instanceof ServiceError) throw received;
  const partnerName = form.finish();
  // The partner is known now.
  return {
    partnerName,
    partnerId,
    loadOptions: form.loadOptions,
    format: decided as FeedFormat | null,
    isFormatNew: form.hasDefinition,
    ...received,
  };
}

/** Checks a file whose format was not known when it was stored. @throws invalid_feed_file, invalid_shape */
async function checkStored(
  { check, format }: ReceivedUpload,
  { key }: StoredObject,
  { objectStore }: ReceiveContext,
): Promise<void> {
  const problem = await check?.(format, () => objectStore.get(key));
  if (problem) throw problem;
}

/** Moves an object that was stored before `partner_name` was known. */
async function moveToFinalKey(
  { partnerName, fileName }: ReceivedUpload,
  object: StoredObject,
  { objectStore }: ReceiveContext,
): Promise<void> {
  const key = rawFileKey(partnerName, formatId('FD', object.feedId), fileName);
  if (object.key === key) return;
  await objectStore.move(object.key, key);
  object.key = key;
}

async function writeFeed(
  trx: Knex.Transaction,
  upload: ReceivedUpload,
  { feedId, key }: StoredObject,
  { objectStore }: ReceiveContext,
  requireKey: FeedWrite['requireKey'],
): Promise<FeedReceipt> {
  const { partnerName, fileName, contentType, sha256, sizeBytes, loadOptions, format, isFormatNew } = upload;
  const partnerId = upload.partnerId ?? (await getOrInsertPartner(trx, partnerName));
  const isThere = await lockAgainstRemoval(trx, partnerId);
  await requireKey?.(trx);
  if (!isThere) throw partnerNotFound();
  if (isFormatNew && !(await upsertFormat(trx, partnerId, format!)))
    throw tooManyFormats(partnerName, formatsMax);
  await insertFeed(trx, {
    feed_id: feedId,
    partner_id: partnerId,
    filename: fileName,
    content_type: contentType,
    raw_file_bucket: objectStore.bucket,
    raw_file_object_key: key,
    sha256,
    size_bytes: sizeBytes,
    mode: loadOptions.mode,
    collection: loadOptions.collection,
    is_collection_named: loadOptions.isCollectionNamed,
    max_skipped_percent: loadOptions.maxSkippedPercent,
    max_price_jump_percent: loadOptions.maxPriceJumpPercent,
    format,
  });
  const duplicateOf = await findDuplicate(trx, feedId);
  const jobs = await insertJobs(trx, feedId);
  await publishFeedEvent(trx, feedId);
  return { feedId, ...jobs, sha256, sizeBytes, duplicateOf };
}

async function discard(key: string, { objectStore, log }: ReceiveContext): Promise<void> {
  try {
    await objectStore.delete(key, AbortSignal.timeout(cleanUpMilliseconds));
  } catch (error) {
    log.warn({ err: error, key }, 'failed to delete object of rejected upload');
  }
}

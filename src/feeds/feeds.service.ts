import type { Readable } from 'node:stream';
import type { Knex } from 'knex';
import type { Database } from '../db/database';
import { inTransaction } from '../db/transaction';
import type { MultipartBody } from '../http/multipart';
import {
  findAnswered,
  isUnclaimed,
  keepAnswer,
  type IdempotencyKey,
} from '../idempotency/idempotency.repository';
import { digestRequest, replay, whileClaimed, type Outcome } from '../idempotency/idempotency.service';
import { insertJobs } from '../jobs/jobs.repository';
import type { PartnerScope } from '../shared/caller';
import { feedNotFound, idempotentRequestInProgress, rawFileMissing, ServiceError } from '../shared/errors';
import { formatId, parseId } from '../shared/ids';
import type { Log } from '../shared/log';
import { rawFileKey, stagingKey } from '../storage/object-key';
import { cleanUpMilliseconds, StorageError, type ByteRange, type ObjectStore } from '../storage/object-store';
import { receiveFile, type ReceivedFile, type TakeFile } from './feed-file';
import {
  drawFeedId,
  findDuplicate,
  findFeed,
  getOrInsertPartner,
  insertFeed,
  tellOfFeed,
  type FeedRow,
} from './feeds.repository';
import { admitUpload, requireRoom, type IncomingUpload, type UploadAdmission } from './incoming-upload';
import { drain } from './upload-form';

/** @throws feed_not_found */
export async function getFeed(db: Database, id: string, scope: PartnerScope): Promise<FeedRow> {
  const feedId = parseId('FD', id);
  const feed = feedId === undefined ? null : await findFeed(db, feedId, scope);
  if (!feed) throw feedNotFound(id);
  return feed;
}

/**
 * Opens a feed's raw file, or a range of it. The caller reads the stream to its end or destroys it.
 * @throws raw_file_missing; StorageError when the store fails
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

/** What receiving a feed needs. Sizes are in bytes. */
interface ReceiveContext {
  db: Database;
  objectStore: ObjectStore;
  uploadBytesMax: number;
  log: Log;
}

/** The identifiers that an accepted upload created, and what is known of its file. */
export interface FeedReceipt {
  feedId: number;
  submissionJobId: number;
  validationJobId: number;
  /** 32 bytes. */
  sha256: Buffer;
  sizeBytes: number;
  /** The first feed of the partner with the same bytes, if it has a smaller number. */
  duplicateOf: number | null;
}

/** An acceptable upload. */
interface ReceivedUpload extends ReceivedFile {
  partnerName: string;
}

/** Where the file of an upload is. */
interface StoredObject {
  feedId: number;
  key: string;
}

/** The transaction to write a feed in, and what is written there besides. */
interface Claim {
  trx: Knex.Transaction;
  keep: (upload: ReceivedUpload, receipt: FeedReceipt) => Promise<void>;
}

/** What receiving a feed at most once needs. */
export interface ReceiveOnceContext extends ReceiveContext, UploadAdmission {
  /** A pool of its own for keys: an upload holds a connection for as long as it takes. */
  claims: Database;
}

/**
 * Receives an upload, unless the same one was received before with this key. An upload without a chance of a permit, or
 * with a key that is claimed, is refused before anything of it is read; the key is claimed when its file begins.
 *
 * The transaction that claims it has no statement in progress meanwhile and holds no other lock; at the end the feed and
 * the response are written in it: a claim that was lost on the way, with its connection, commits nothing. Whether an
 * upload is the one that was received before shows at its end; nothing of it is stored then.
 * @param describe - gives the body of the response
 * @throws idempotent_request_in_progress, idempotency_key_used; whatever `admitUpload` and `receiveFeed` throw
 */
export async function receiveFeedOnce<T extends object>(
  body: MultipartBody,
  key: IdempotencyKey | undefined,
  context: ReceiveOnceContext,
  describe: (receipt: FeedReceipt) => T,
): Promise<Outcome<T>> {
  requireRoom(context);
  if (key && !(await isUnclaimed(context.db, key))) throw idempotentRequestInProgress();
  return admitUpload(body, context, async (upload) =>
    key
      ? receiveWithKey(upload, key, context, describe)
      : { responseBody: describe(await receiveFeed(upload, context)), replayed: false },
  );
}

function receiveWithKey<T extends object>(
  upload: IncomingUpload,
  key: IdempotencyKey,
  context: ReceiveOnceContext,
  describe: (receipt: FeedReceipt) => T,
): Promise<Outcome<T>> {
  return whileClaimed(context.claims, 'upload', key, async (trx) => {
    const answered = await findAnswered(context.db, key);
    if (answered) {
      const received = await readUpload(upload, context.uploadBytesMax, drain);
      return replay<T>(answered, digestUpload(received));
    }
    const receipt = await receiveFeed(upload, context, {
      trx,
      keep: (received, receipt) =>
        keepAnswer(trx, key, { requestDigest: digestUpload(received), responseBody: describe(receipt) }),
    });
    return { responseBody: describe(receipt), replayed: false };
  });
}

function digestUpload({ partnerName, fileName, contentType, sha256 }: ReceivedUpload): Buffer {
  return digestRequest('uploadFeed', [partnerName, fileName, contentType, sha256.toString('hex')]);
}

/**
 * Receives an upload: streams the file through the checks into the object store, then writes the feed and both its jobs
 * in one transaction. Nothing remains of an upload that is refused or cut off; a crash leaves at most an object that no
 * row names.
 * @param claim - absent: the transaction is one of its own
 * @throws invalid_feed_file, too_large, invalid_shape, partner_not_allowed; whatever the upload throws
 */
async function receiveFeed(
  upload: IncomingUpload,
  context: ReceiveContext,
  claim?: Claim,
): Promise<FeedReceipt> {
  const kept: { object?: StoredObject } = {};
  const store: TakeFile = async (chunks, { fileName, contentType }, partnerName) => {
    const feedId = await drawFeedId(context.db);
    const key = partnerName ? rawFileKey(partnerName, formatId('FD', feedId), fileName) : stagingKey();
    await context.objectStore.put(key, chunks, contentType);
    kept.object = { feedId, key };
  };
  try {
    const received = await readUpload(upload, context.uploadBytesMax, store);
    await moveToFinalKey(received, kept.object!, context);
    const write = async (trx: Knex.Transaction) => {
      const receipt = await writeFeed(trx, received, kept.object!, context);
      await claim?.keep(received, receipt);
      // From here on only the commit is left. If that fails, the feed may exist all the same, and needs its object.
      kept.object = undefined;
      return receipt;
    };
    return await (claim ? write(claim.trx) : inTransaction(context.db, 'request', write));
  } catch (error) {
    if (kept.object) await discard(kept.object.key, context);
    throw error;
  }
}

/**
 * Reads the rest of an upload, and checks it and its file.
 * @param takeFile - not called for a file that is refused before its first bytes are known to be right
 * @throws invalid_feed_file, too_large, invalid_shape, partner_not_allowed; whatever the upload and `takeFile` throw
 */
async function readUpload(
  { form, file, readRest }: IncomingUpload,
  uploadBytesMax: number,
  takeFile: TakeFile,
): Promise<ReceivedUpload> {
  const received = await receiveFile(file, form.partnerName, uploadBytesMax, takeFile);
  await readRest();
  if (received instanceof ServiceError) throw received;
  return { partnerName: form.finish(), ...received };
}

/** Gives an object that was stored before the partner's name had come its final key. */
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
  { partnerName, fileName, contentType, sha256, sizeBytes }: ReceivedUpload,
  { feedId, key }: StoredObject,
  { objectStore }: ReceiveContext,
): Promise<FeedReceipt> {
  await insertFeed(trx, {
    feed_id: feedId,
    partner_id: await getOrInsertPartner(trx, partnerName),
    filename: fileName,
    content_type: contentType,
    raw_file_bucket: objectStore.bucket,
    raw_file_object_key: key,
    sha256,
    size_bytes: sizeBytes,
  });
  const duplicateOf = await findDuplicate(trx, feedId);
  const jobs = await insertJobs(trx, feedId);
  await tellOfFeed(trx, feedId);
  return { feedId, ...jobs, sha256, sizeBytes, duplicateOf };
}

async function discard(key: string, { objectStore, log }: ReceiveContext): Promise<void> {
  try {
    await objectStore.delete(key, AbortSignal.timeout(cleanUpMilliseconds));
  } catch (error) {
    log.warn({ err: error, key }, 'the object of a refused upload is left behind');
  }
}

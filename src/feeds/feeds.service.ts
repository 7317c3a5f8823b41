import type { Readable } from 'node:stream';
import type { Knex } from 'knex';
import type { Database } from '../db/database';
import { inTransaction } from '../db/transaction';
import { feedNotFound, fileTooLarge, notCsv, rawFileMissing, ServiceError } from '../shared/errors';
import { formatId, parseId } from '../shared/ids';
import { insertJobs } from '../jobs/jobs.repository';
import type { PartnerScope } from '../shared/caller';
import type { Log } from '../shared/log';
import { rawFileKey, stagingKey } from '../storage/object-key';
import { cleanUpMilliseconds, StorageError, type ByteRange, type ObjectStore } from '../storage/object-store';
import { isCsvFile } from '../feed-format/csv-file-type';
import { FeedFile } from './feed-file';
import {
  drawFeedId,
  findDuplicate,
  findFeed,
  getOrInsertPartner,
  insertFeed,
  tellOfFeed,
  type FeedRow,
} from './feeds.repository';
import type { IncomingUpload } from './incoming-upload';
import { drain, type FilePart } from './upload-form';

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
export interface ReceiveContext {
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

/** A file that an upload brought. */
interface ReceivedFile {
  fileName: string;
  contentType: string;
  /** 32 bytes. */
  sha256: Buffer;
  sizeBytes: number;
}

/** An acceptable upload. */
export interface ReceivedUpload extends ReceivedFile {
  partnerName: string;
}

/** Where the file of an upload is. */
interface StoredObject {
  feedId: number;
  key: string;
}

/** Takes the bytes of an acceptable file, all of them. `partnerName` is undefined while its part has not come. */
type TakeFile = (
  chunks: AsyncIterable<Buffer>,
  file: Pick<ReceivedFile, 'fileName' | 'contentType'>,
  partnerName: string | undefined,
) => Promise<void>;

/** The transaction to write a feed in, and what is written there besides. */
export interface Claim {
  trx: Knex.Transaction;
  keep: (upload: ReceivedUpload, receipt: FeedReceipt) => Promise<void>;
}

/**
 * Receives an upload: streams the file through the checks into the object store, then writes the feed and both its jobs
 * in one transaction. Nothing remains of an upload that is refused or cut off; a crash leaves at most an object that no
 * row names.
 * @param claim - absent: the transaction is one of its own
 * @throws invalid_feed_file, too_large, invalid_shape, partner_not_allowed; whatever the upload throws
 */
export async function receiveFeed(
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
export async function readUpload(
  { form, file, readRest }: IncomingUpload,
  uploadBytesMax: number,
  takeFile: TakeFile,
): Promise<ReceivedUpload> {
  const received = await receiveFile(file, form.partnerName, uploadBytesMax, takeFile);
  await readRest();
  if (received instanceof ServiceError) throw received;
  return { partnerName: form.finish(), ...received };
}

/**
 * Takes the file while it is being checked. A file that is refused is read to its end all the same: the size limit
 * outranks everything, and the checks have their order.
 * @param partnerName - undefined while its part has not come
 * @returns the file, or why it is refused
 * @throws too_large; whatever `takeFile` throws
 */
async function receiveFile(
  part: FilePart,
  partnerName: string | undefined,
  uploadBytesMax: number,
  takeFile: TakeFile,
): Promise<ReceivedFile | ServiceError> {
  const file = { fileName: part.fileName, contentType: part.mediaType ?? 'text/csv' };
  const content = new FeedFile();
  const accepted = acceptedBytes(part.content, content, uploadBytesMax);
  const isCsv = isCsvFile(part.fileName, part.mediaType);
  try {
    // Nothing comes before the header is known to be right; most refused files are never begun to be stored.
    const first = isCsv ? await accepted.next() : await drain(accepted);
    if (first && !first.done) await takeFile(startingWith(first.value, accepted), file, partnerName);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'invalid_feed_file') throw error;
    return isCsv ? error : notCsv();
  }
  return isCsv ? { ...file, sha256: content.sha256(), sizeBytes: content.bytes } : notCsv();
}

/**
 * The bytes of an acceptable file, which `file` sees on the way. Of one that turns out not to be, no more bytes come, and
 * the end is an error: whoever stores them then removes what is there.
 * @throws invalid_feed_file at the end, too_large at once
 */
async function* acceptedBytes(
  content: AsyncIterable<Buffer>,
  file: FeedFile,
  bytesMax: number,
): AsyncGenerator<Buffer> {
  for await (const chunk of content) {
    const bytes = file.take(chunk);
    if (file.bytes > bytesMax) throw fileTooLarge(bytesMax);
    if (bytes) yield bytes;
  }
  const rest = file.end();
  if (rest) yield rest;
  if (file.problem) throw file.problem;
}

async function* startingWith(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
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

import type { Readable } from 'node:stream';
import type { Database } from '../db/database';
import { feedNotFound, fileTooLarge, notCsv, rawFileMissing, ServiceError } from '../errors';
import { formatId, parseId } from '../ids';
import { insertJobs } from '../jobs/jobs.repository';
import type { Log } from '../log';
import { rawFileKey, stagingKey } from '../storage/object-key';
import { StorageError, type ByteRange, type ObjectStore } from '../storage/object-store';
import { isCsvFile } from './csv-file-type';
import { FeedFile } from './feed-file';
import {
  drawFeedId,
  findDuplicate,
  findFeed,
  getOrInsertPartner,
  insertFeed,
  type FeedRow,
} from './feeds.repository';
import { drain, UploadForm, type FilePart, type FormPart } from './upload-form';

/** @throws feed_not_found */
export async function getFeed(db: Database, id: string): Promise<FeedRow> {
  const feedId = parseId('FD', id);
  const feed = feedId === undefined ? null : await findFeed(db, feedId);
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

/** The file of an upload: in the object store, or refused. */
interface ReceivedFile {
  fileName: string;
  contentType: string;
  problem?: ServiceError;
  stored?: { feedId: number; key: string; sha256: Buffer; sizeBytes: number };
}

/**
 * Receives an upload: streams the file through the checks into the object store, then writes the feed and both its jobs
 * in one transaction. Nothing remains of an upload that is refused or cut off; a crash leaves at most an object that no
 * row names.
 * @throws invalid_feed_file, too_large, invalid_shape; whatever `parts` throws
 */
export async function receiveFeed(
  parts: AsyncIterable<FormPart>,
  context: ReceiveContext,
): Promise<FeedReceipt> {
  const form = new UploadForm();
  let file: ReceivedFile | undefined;
  try {
    for await (const part of parts) {
      const filePart = form.take(part);
      if (filePart) file = await receiveFile(filePart, form.partnerName, context);
      else if (part.kind === 'file') await drain(part.content);
    }
    if (file?.problem) throw file.problem;
    const partnerName = form.finish();
    return await saveFeed(partnerName, file!, context);
  } catch (error) {
    if (file?.stored) await discard(file.stored.key, context);
    throw error;
  }
}

/**
 * Stores the file while it is being checked. A file that is refused is read to its end all the same: the size limit
 * outranks everything, and the checks have their order.
 * @param partnerName - undefined while its part has not come; then the object waits under a staging key
 * @throws too_large
 */
async function receiveFile(
  part: FilePart,
  partnerName: string | undefined,
  context: ReceiveContext,
): Promise<ReceivedFile> {
  const { fileName } = part;
  const file: ReceivedFile = { fileName, contentType: part.mediaType ?? 'text/csv' };
  const content = new FeedFile();
  const accepted = acceptedBytes(part.content, content, context.uploadBytesMax);
  const isCsv = isCsvFile(fileName, part.mediaType);
  try {
    // Nothing comes before the header is known to be right; most refused files are never begun to be stored.
    const first = isCsv ? await accepted.next() : await drain(accepted);
    if (first && !first.done) {
      const feedId = await drawFeedId(context.db);
      const key = partnerName ? rawFileKey(partnerName, formatId('FD', feedId), fileName) : stagingKey();
      await context.objectStore.put(key, startingWith(first.value, accepted), file.contentType);
      file.stored = { feedId, key, sha256: content.sha256(), sizeBytes: content.bytes };
    }
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'invalid_feed_file') throw error;
    file.problem = error;
  }
  if (!isCsv) file.problem = notCsv();
  return file;
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

/** Gives a staged object its final key, and writes the feed and its jobs. */
async function saveFeed(
  partnerName: string,
  file: ReceivedFile,
  { db, objectStore }: ReceiveContext,
): Promise<FeedReceipt> {
  const stored = file.stored!;
  const key = rawFileKey(partnerName, formatId('FD', stored.feedId), file.fileName);
  if (stored.key !== key) {
    await objectStore.move(stored.key, key);
    stored.key = key;
  }
  return db.transaction(async (trx) => {
    const partnerId = await getOrInsertPartner(trx, partnerName);
    await insertFeed(trx, {
      feed_id: stored.feedId,
      partner_id: partnerId,
      filename: file.fileName,
      content_type: file.contentType,
      raw_file_bucket: objectStore.bucket,
      raw_file_object_key: key,
      sha256: stored.sha256,
      size_bytes: stored.sizeBytes,
    });
    const duplicateOf = await findDuplicate(trx, stored.feedId);
    const jobs = await insertJobs(trx, stored.feedId);
    // From here on only the commit is left. If that fails, the feed may exist all the same, and needs its object.
    file.stored = undefined;
    const { feedId, sha256, sizeBytes } = stored;
    return { feedId, ...jobs, sha256, sizeBytes, duplicateOf };
  });
}

async function discard(key: string, { objectStore, log }: ReceiveContext): Promise<void> {
  try {
    await objectStore.delete(key);
  } catch (error) {
    log.warn({ err: error, key }, 'the object of a refused upload is left behind');
  }
}

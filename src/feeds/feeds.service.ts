import type { Database } from '../db/database';
import { feedNotFound, fileTooLarge, notCsv, ServiceError } from '../errors';
import { formatId, parseId } from '../ids';
import { insertJobs } from '../jobs/jobs.repository';
import type { Log } from '../log';
import { rawFileKey, stagingKey } from '../storage/object-key';
import type { ObjectStore } from '../storage/object-store';
import { isCsvFile } from './csv-file-type';
import { FeedFile } from './feed-file';
import { drawFeedId, findFeed, getOrInsertPartner, insertFeed, type FeedRow } from './feeds.repository';
import { drain, UploadForm, type FilePart, type FormPart } from './upload-form';

/** @throws feed_not_found */
export async function getFeed(db: Database, id: string): Promise<FeedRow> {
  const feedId = parseId('FD', id);
  const feed = feedId === undefined ? null : await findFeed(db, feedId);
  if (!feed) throw feedNotFound(id);
  return feed;
}

/** What receiving a feed needs. Sizes are in bytes. */
export interface ReceiveContext {
  db: Database;
  objectStore: ObjectStore;
  uploadBytesMax: number;
  log: Log;
}

/** The identifiers that an accepted upload created. */
export interface FeedReceipt {
  feedId: number;
  submissionJobId: number;
  validationJobId: number;
}

/** The file of an upload: in the object store, or refused. */
interface ReceivedFile {
  fileName: string;
  contentType: string;
  problem?: ServiceError;
  stored?: { feedId: number; key: string };
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
  const accepted = acceptedBytes(part.content, context.uploadBytesMax);
  const isCsv = isCsvFile(fileName, part.mediaType);
  try {
    // Nothing comes before the header is known to be right; most refused files are never begun to be stored.
    const first = isCsv ? await accepted.next() : await drain(accepted);
    if (first && !first.done) {
      const feedId = await drawFeedId(context.db);
      const key = partnerName ? rawFileKey(partnerName, formatId('FD', feedId), fileName) : stagingKey();
      await context.objectStore.put(key, startingWith(first.value, accepted), file.contentType);
      file.stored = { feedId, key };
    }
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'invalid_feed_file') throw error;
    file.problem = error;
  }
  if (!isCsv) file.problem = notCsv();
  return file;
}

/**
 * The bytes of an acceptable file. Of one that turns out not to be, no more bytes come, and the end is an error: whoever
 * stores them then removes what is there.
 * @throws invalid_feed_file at the end, too_large at once
 */
async function* acceptedBytes(content: AsyncIterable<Buffer>, bytesMax: number): AsyncGenerator<Buffer> {
  const file = new FeedFile();
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
    });
    const jobs = await insertJobs(trx, stored.feedId);
    // From here on only the commit is left. If that fails, the feed may exist all the same, and needs its object.
    file.stored = undefined;
    return { feedId: stored.feedId, ...jobs };
  });
}

async function discard(key: string, { objectStore, log }: ReceiveContext): Promise<void> {
  try {
    await objectStore.delete(key);
  } catch (error) {
    log.warn({ err: error, key }, 'the object of a refused upload is left behind');
  }
}

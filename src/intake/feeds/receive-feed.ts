import type { Knex } from 'knex';
import type { Database } from '../../base/db/database';
import { inTransaction } from '../../base/db/transaction';
import { strictFormat } from '../../feed-format/built-in-formats';
import { isCsvFile } from '../../feed-format/csv-file-type';
import type { FeedFormat } from '../../feed-format/format-definition';
import { defaultLoadOptions, type LoadOptions } from '../../feed-format/load-options';
import { formatsMax, upsertFormat } from '../../catalog/formats/formats.repository';
import {
  findAnswered,
  keepAnswer,
  type AnsweredRequest,
  type IdempotencyKey,
} from '../../http/idempotency/idempotency.repository';
import {
  digestRequest,
  replay,
  withIdempotencyLock,
  type Outcome,
} from '../../http/idempotency/idempotency.service';
import { insertJobs } from '../../runs/jobs/jobs.repository';
import { requireKeyInUse } from '../../http/keys/keys.repository';
import {
  findPartnerId,
  getOrInsertPartner,
  lockAgainstRemoval,
} from '../../catalog/partners/partners.repository';
import type { Caller } from '../../base/caller';
import { notCsv, partnerNotFound, ServiceError, tooManyFormats } from '../../base/errors';
import { formatId, parseId } from '../../base/ids';
import type { Log } from '../../base/log';
import { startingWith } from '../../base/starting-with';
import { rawFileKey, stagingKey } from '../../base/storage/object-key';
import { cleanUpMilliseconds, type ObjectStore } from '../../base/storage/object-store';
import { CheckedFile } from '../../feed-format/check/checked-file';
import { receiptBody, type FeedReceipt } from './feeds.body';
import {
  drawFeedId,
  findDuplicate,
  findFeedPosition,
  insertFeed,
  publishFeedEvent,
} from './feeds.repository';

/** A file that is not read yet. */
export interface IncomingFile {
  fileName: string;
  /** Without parameters; undefined if it is not stated. */
  mediaType: string | undefined;
  content: AsyncIterable<Buffer>;
}

/** A feed that is completely known before its file is read. */
export interface KnownFeed {
  /** As stored. */
  partnerName: string;
  options: LoadOptions;
  format: FeedFormat | null;
  file: IncomingFile;
  form?: undefined;
}

/** A feed in a form that is read up to its file. */
export interface FormFeed {
  /** Undefined: the form may name it after the file. */
  partnerName: string | undefined;
  options: LoadOptions;
  /** `undecided` until the partner is named. */
  format: FeedFormat | null | 'undecided';
  file: IncomingFile;
  form: UnfinishedForm;
}

/** A form that is read up to its file. */
export interface UnfinishedForm {
  /** Whether it is refused already: nothing is stored. */
  readonly isRefused: boolean;
  /** Whether it defines the format, which is stored with the feed. */
  readonly hasDefinition: boolean;
  /**
   * Reads the parts after the file.
   * @param fileProblem - thrown unless the form leaves open how to read the file; precedes the other errors of the form
   * @throws validation_error, partner_not_allowed; `fileProblem`; errors of the body
   */
  finish(fileProblem?: ServiceError): Promise<Pick<KnownFeed, 'partnerName' | 'format'>>;
}

export interface ReceiveContext {
  db: Database;
  objectStore: ObjectStore;
  uploadBytesMax: number;
  log: Log;
  /** The caller, whose key must still be valid when the feed is written; absent for a source. */
  caller?: Caller;
}

export interface UploadContext extends ReceiveContext {
  caller: Caller;
  /** A separate pool: an upload occupies a connection for its whole duration. */
  claims: Database;
}

interface ReceivedFeed extends KnownFeed {
  /** Absent: the partner did not exist, or was not named, when the file began. */
  partnerId: number | undefined;
  /** Whether the format is stored with the feed. */
  isFormatNew: boolean;
  contentType: string;
  sha256: Buffer;
  sizeBytes: number;
  /** The file, if it was stored before its format was known: it was checked without one. */
  unchecked: CheckedFile | undefined;
}

interface StoredObject {
  feedId: number;
  key: string;
}

/** Further writes in the transaction of a feed. */
interface FeedWrite {
  /** Absent: a new transaction. */
  trx?: Knex.Transaction;
  beforeCommit: (trx: Knex.Transaction, receipt: FeedReceipt, received: ReceivedFeed) => Promise<void>;
}

type ReceiptBody = ReturnType<typeof receiptBody>;

/**
 * Receives an upload once per idempotency key. A refused form claims none.
 * The transaction locks the key when the file begins, and is idle until feed and response are written. If its connection
 * is lost, nothing is committed. A repeated upload is read to compare its digest, and not stored.
 * @throws idempotent_request_in_progress, idempotency_key_used; errors of `receiveFeed`
 */
export async function receiveUpload(
  feed: FormFeed,
  key: IdempotencyKey | undefined,
  context: UploadContext,
): Promise<Outcome<ReceiptBody>> {
  if (!key || feed.form.isRefused)
    return { responseBody: receiptBody(await receiveFeed(feed, context)), replayed: false };
  return withIdempotencyLock(context.claims, 'upload', key, async (trx) => {
    const answered = await findAnswered(context.db, key);
    if (answered && (await isStillTrue(answered, context)))
      return replay<ReceiptBody>(answered, digestUpload(await readFeed(feed, context)));
    const receipt = await receiveFeed(feed, context, {
      trx,
      beforeCommit: (_trx, receipt, received) =>
        keepAnswer(trx, { key, requestDigest: digestUpload(received) }, receiptBody(receipt)),
    });
    return { responseBody: receiptBody(receipt), replayed: false };
  });
}

/** Returns whether a stored response is still valid: its feed exists, and the key may see it. */
async function isStillTrue(
  { responseBody }: AnsweredRequest,
  { db, caller }: UploadContext,
): Promise<boolean> {
  const { feed_id: id } = responseBody as { feed_id?: string };
  if (id === undefined) return true;
  return (await findFeedPosition(db, parseId('FD', id)!, caller.partnerName)) !== null;
}

function digestUpload(received: ReceivedFeed): Buffer {
  const { partnerName, file, contentType, sha256, options, format, isFormatNew } = received;
  const { mode, collection, isCollectionNamed } = options;
  const isDefault = mode === defaultLoadOptions.mode && !isCollectionNamed;
  // Omitted for default options without a format: stored digests stay valid.
  const target = isDefault && !format ? [] : [mode, isCollectionNamed ? collection : null];
  const reading = format ? [format.definition, ...(isFormatNew ? [format.name] : [])] : [];
  return digestRequest('uploadFeed', [
    partnerName,
    file.fileName,
    contentType,
    sha256.toString('hex'),
    ...target,
    ...reading,
  ]);
}

/**
 * Streams the file through the checks into the object store, then inserts feed and jobs. A rejected or interrupted upload
 * leaves nothing; a crash leaves at most an object without a row.
 * @throws refusals of the file, file_too_large, validation_error, partner_not_allowed; partner_not_found or unauthorized if the partner or the
 * key was removed meanwhile; errors of the content, of the form and of `beforeCommit`
 */
export async function receiveFeed(
  feed: KnownFeed | FormFeed,
  context: ReceiveContext,
  also?: FeedWrite,
): Promise<FeedReceipt> {
  const stored: { object?: StoredObject } = {};
  try {
    const received = await readFeed(feed, context, feed.form?.isRefused ? undefined : stored);
    await checkByFormat(received, stored.object, context);
    const object = stored.object!;
    await moveToFinalKey(received, object, context);
    const write = async (trx: Knex.Transaction) => {
      const receipt = await writeFeed(trx, received, object, context);
      await also?.beforeCommit(trx, receipt, received);
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
 * Reads the file through its checks, and the parts after it. Reads a rejected file to its end: 413 precedes every other error, and the
 * checks have an order.
 * @param stored - gets the object of an acceptable file; absent: nothing is stored
 * @throws refusals of the file, file_too_large, validation_error, partner_not_allowed; errors of the content and of the form; StorageError
 */
async function readFeed(
  feed: KnownFeed | FormFeed,
  { db, objectStore, uploadBytesMax: bytesMax }: ReceiveContext,
  stored?: { object?: StoredObject },
): Promise<ReceivedFeed> {
  const { file, format, options } = feed;
  const { fileName, mediaType } = file;
  const { mode } = options;
  const partnerId = feed.partnerName === undefined ? undefined : await findPartnerId(db, feed.partnerName);
  const isDecided = format !== 'undecided';
  const definition = isDecided ? (format?.definition ?? strictFormat) : format;
  const checked = new CheckedFile({ definition, mode, fileName, bytesMax });
  const isCsv = !isDecided || isCsvFile(fileName, mediaType, format !== null);
  const contentType = mediaType ?? 'text/csv';
  const accepted = checked.accepted(file.content);
  try {
    // Most rejected files fail here, before anything is stored.
    const first = await accepted.next();
    if (stored && isCsv && !first.done) {
      const feedId = await drawFeedId(db);
      const key = feed.partnerName
        ? rawFileKey(feed.partnerName, formatId('FD', feedId), fileName)
        : stagingKey();
      await objectStore.put(key, startingWith(first.value, accepted), contentType);
      stored.object = { feedId, key };
    } else for await (const _ of accepted);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== checked.problem?.code) throw error;
  }
  const problem = isCsv ? checked.problem : notCsv();
  // With an undecided format, the file is checked once the form is read.
  const fileProblem = isDecided ? problem : undefined;
  const { partnerName, format: decided } = feed.form ? await feed.form.finish(fileProblem) : feed;
  if (fileProblem) throw fileProblem;
  return {
    partnerName,
    partnerId,
    options,
    format: decided,
    isFormatNew: feed.form?.hasDefinition ?? false,
    file,
    contentType,
    sha256: checked.sha256(),
    sizeBytes: checked.sizeBytes,
    unchecked: isDecided ? undefined : checked,
  };
}

/** Checks a file whose format was not known when it was stored. @throws refusals of the file, validation_error, file_too_large */
async function checkByFormat(
  { unchecked, file: { fileName, mediaType }, format, options: { mode } }: ReceivedFeed,
  object: StoredObject | undefined,
  { objectStore, uploadBytesMax: bytesMax }: ReceiveContext,
): Promise<void> {
  if (!unchecked) return;
  if (!isCsvFile(fileName, mediaType, format !== null)) throw notCsv();
  // An empty file has no object.
  if (!format || !object) {
    if (unchecked.problem) throw unchecked.problem;
    return;
  }
  const file = new CheckedFile({ definition: format.definition, mode, fileName, bytesMax });
  const content = (await objectStore.get(object.key)) as AsyncIterable<Buffer>;
  for await (const _ of file.accepted(content));
}

/** Moves an object that was stored before `partner_name` was known. */
async function moveToFinalKey(
  { partnerName, file }: ReceivedFeed,
  object: StoredObject,
  { objectStore }: ReceiveContext,
): Promise<void> {
  const key = rawFileKey(partnerName, formatId('FD', object.feedId), file.fileName);
  if (object.key === key) return;
  await objectStore.move(object.key, key);
  object.key = key;
}

async function writeFeed(
  trx: Knex.Transaction,
  received: ReceivedFeed,
  { feedId, key }: StoredObject,
  { objectStore, caller }: ReceiveContext,
): Promise<FeedReceipt> {
  const { partnerName, file, contentType, sha256, sizeBytes, options, format, isFormatNew } = received;
  const partnerId = received.partnerId ?? (await getOrInsertPartner(trx, partnerName));
  const isThere = await lockAgainstRemoval(trx, partnerId);
  // The key may have become invalid during the upload. The partner is locked.
  if (caller) await requireKeyInUse(trx, caller);
  if (!isThere) throw partnerNotFound();
  if (isFormatNew && !(await upsertFormat(trx, partnerId, format!)))
    throw tooManyFormats(partnerName, formatsMax);
  await insertFeed(trx, {
    feed_id: feedId,
    partner_id: partnerId,
    filename: file.fileName,
    content_type: contentType,
    raw_file_bucket: objectStore.bucket,
    raw_file_object_key: key,
    sha256,
    size_bytes: sizeBytes,
    mode: options.mode,
    collection: options.collection,
    is_collection_named: options.isCollectionNamed,
    max_skipped_percent: options.maxSkippedPercent,
    max_price_jump_percent: options.maxPriceJumpPercent,
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

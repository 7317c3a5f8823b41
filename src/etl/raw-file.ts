import { createHash } from 'node:crypto';
import { addAbortSignal } from 'node:stream';
import { StorageError, type ObjectStore } from '../storage/object-store';
import { FeedFailure } from './run-result';
import { readHeader, type FeedHeader, headerRowBytes } from '../feed-format/header';

/** What a run needs to know of its feed. */
export interface FeedToRun {
  jobId: number;
  feedId: number;
  partnerId: number;
  objectKey: string;
  /** Of the raw file, as it was uploaded. */
  sizeBytes: number;
  sha256: Buffer;
}

/** A feed whose header is read: the header, and the bytes of the whole file, the header included. */
export interface OpenFeed {
  header: FeedHeader;
  chunks: AsyncIterable<Buffer>;
  /** Gives the file up, however much of it was read. To be called in any case. */
  close: () => Promise<unknown>;
}

/** What is known of a raw file since its upload. */
export type UploadedFile = Pick<FeedToRun, 'objectKey' | 'sizeBytes' | 'sha256'>;

/**
 * Opens the raw file of a feed. Its bytes end with a FeedFailure when they are not the uploaded ones.
 * @param signal - when it is aborted, reading fails
 * @throws FeedFailure when it is missing, cannot be read, or has no acceptable header
 */
export async function openRawFile(
  objectStore: ObjectStore,
  file: UploadedFile,
  signal?: AbortSignal,
): Promise<OpenFeed> {
  return readHeaderOf(verified(readRawFile(objectStore, file.objectKey, signal), file));
}

/** Passes the bytes on, and compares their size and digest with those of the upload. @throws FeedFailure at their end */
async function* verified(
  chunks: AsyncGenerator<Buffer, undefined>,
  { sizeBytes, sha256 }: UploadedFile,
): AsyncGenerator<Buffer, undefined> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    hash.update(chunk);
    yield chunk;
  }
  if (bytes !== sizeBytes) {
    throw new FeedFailure(
      `The raw file in object storage has ${bytes} bytes instead of the ${sizeBytes} that were uploaded; upload the feed again.`,
    );
  }
  if (!hash.digest().equals(sha256)) {
    throw new FeedFailure(
      'The raw file in object storage is not the uploaded one: its SHA-256 is another; upload the feed again.',
    );
  }
}

/** The bytes of the raw file; whatever fails here is the object store's fault. */
async function* readRawFile(
  objectStore: ObjectStore,
  key: string,
  signal?: AbortSignal,
): AsyncGenerator<Buffer, undefined> {
  try {
    const content = await objectStore.get(key);
    if (signal) addAbortSignal(signal, content);
    yield* content as AsyncIterable<Buffer>;
  } catch (error) {
    const missing = error instanceof StorageError && error.missing;
    throw new FeedFailure(
      missing
        ? 'The raw file is missing from object storage.'
        : 'The raw file could not be read from object storage.',
      !missing,
      error,
    );
  }
}

/** Reads as much as the header needs. */
async function readHeaderOf(source: AsyncGenerator<Buffer, undefined>): Promise<OpenFeed> {
  let prefix: Buffer = Buffer.alloc(0);
  while (prefix.length <= headerRowBytes) {
    const next = await source.next();
    if (next.done) break;
    prefix = Buffer.concat([prefix, next.value]);
  }
  const found = readHeader(prefix);
  if ('problem' in found) {
    await source.return(undefined);
    throw new FeedFailure(found.problem);
  }
  const { names: _, ...header } = found;
  async function* chunks(): AsyncGenerator<Buffer> {
    yield prefix;
    prefix = Buffer.alloc(0);
    yield* source;
  }
  return { header, chunks: chunks(), close: () => source.return(undefined) };
}

import { createHash } from 'node:crypto';
import { addAbortSignal } from 'node:stream';
import { StorageError, type ObjectStore } from '../storage/object-store';
import { FeedFailure } from './run-result';
import { readHeader, type FeedHeader, headerRowBytes } from '../feed-format/header';

/** Feed of a run. */
export interface FeedToRun {
  jobId: number;
  feedId: number;
  partnerId: number;
  objectKey: string;
  /** Size of the uploaded file. */
  sizeBytes: number;
  sha256: Buffer;
}

/** An open raw file. */
export interface OpenFeed {
  header: FeedHeader;
  /** The whole file, header included. */
  chunks: AsyncIterable<Buffer>;
  /** Closes the file. Call it in any case. */
  close: () => Promise<unknown>;
}

/** Raw file as recorded at its upload. */
type UploadedFile = Pick<FeedToRun, 'objectKey' | 'sizeBytes' | 'sha256'>;

/**
 * Opens the raw file of a feed. Reading it throws FeedFailure if the content is not the uploaded one.
 * @param signal - aborts reading
 * @throws FeedFailure when it is missing, cannot be read, or has no acceptable header
 */
export async function openRawFile(
  objectStore: ObjectStore,
  file: UploadedFile,
  signal?: AbortSignal,
): Promise<OpenFeed> {
  return readHeaderOf(verified(readRawFile(objectStore, file.objectKey, signal), file));
}

/** Compares size and digest with those of the upload. @throws FeedFailure at the end of the file */
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

/** Reads the raw file; every error is reported as a failure of the object store. */
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

/** Reads the header, and puts its bytes back. */
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

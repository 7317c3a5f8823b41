import { addAbortSignal } from 'node:stream';
import { limits } from '../limits';
import { StorageError, type ObjectStore } from '../storage/object-store';
import { FeedFailure } from './feed-failure';
import { readHeader, type FeedHeader } from './header';

/** A feed whose header is read: the header, and the bytes of the whole file, the header included. */
export interface OpenFeed {
  header: FeedHeader;
  chunks: AsyncIterable<Buffer>;
  /** Gives the file up, however much of it was read. To be called in any case. */
  close: () => Promise<unknown>;
}

/**
 * Opens the raw file of a feed.
 * @param signal - when it is aborted, reading fails
 * @throws FeedFailure when it is missing, cannot be read, or has no acceptable header
 */
export async function openRawFile(
  objectStore: ObjectStore,
  objectKey: string,
  signal?: AbortSignal,
): Promise<OpenFeed> {
  return readHeaderOf(readRawFile(objectStore, objectKey, signal));
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
  while (prefix.length <= limits.headerRowBytes) {
    const next = await source.next();
    if (next.done) break;
    prefix = Buffer.concat([prefix, next.value]);
  }
  const header = readHeader(prefix);
  if ('problem' in header) {
    await source.return(undefined);
    throw new FeedFailure(header.problem);
  }
  async function* chunks(): AsyncGenerator<Buffer> {
    yield prefix;
    yield* source;
  }
  return { header, chunks: chunks(), close: () => source.return(undefined) };
}

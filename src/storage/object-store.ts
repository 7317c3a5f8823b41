import type { Readable } from 'node:stream';
import type { Config } from '../config';

/** Bytes of an object, from `start` to `end`, both included; the first one is 0. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * Where raw files are kept. An object is complete or absent, never half: `put` and `move` make it visible at the end or
 * not at all. Every method throws `StorageError` when the store fails.
 */
export interface ObjectStore {
  /** The bucket that holds the objects, as the feed's `raw_file_bucket` shows it. */
  readonly bucket: string;
  /** Prepares the store for use. Throws `ConfigError` when its settings are certainly wrong. */
  prepare(): Promise<void>;
  /** Streams `body` into the object. When `body` throws, nothing remains and the same error is thrown. */
  put(key: string, body: AsyncIterable<Buffer>, contentType: string): Promise<void>;
  /** Gives the object another key; replaces what is there. */
  move(fromKey: string, toKey: string): Promise<void>;
  /**
   * Opens the object for reading. An error of the stream itself is the store's, as it came.
   * @param range - must lie within the object; absent: all of it
   */
  get(key: string, range?: ByteRange): Promise<Readable>;
  /** Removes the object; nothing happens when it is not there. */
  delete(key: string): Promise<void>;
  /** Gives up the connections that the store holds open. */
  close(): void;
}

/** The store failed. `missing` tells an object that is not there from a store that cannot be reached or refuses. */
export class StorageError extends Error {
  constructor(
    message: string,
    readonly missing: boolean,
    cause: unknown,
  ) {
    super(message, { cause });
  }
}

/** The store that the configuration names. Only that one's code is loaded: the SDK is large. */
export async function openObjectStore(config: Pick<Config, 's3' | 'dataDir'>): Promise<ObjectStore> {
  if (config.s3) {
    const { S3Store } = await import('./s3-store.js');
    return new S3Store(config.s3);
  }
  const { FileStore } = await import('./file-store.js');
  return new FileStore(config.dataDir);
}

/** The same chunks; `onError` learns of an error of the body, so that it can be told from one of the store. */
export async function* watchErrors(
  body: AsyncIterable<Buffer>,
  onError: (error: unknown) => void,
): AsyncGenerator<Buffer> {
  try {
    yield* body;
  } catch (error) {
    onError(error);
    throw error;
  }
}

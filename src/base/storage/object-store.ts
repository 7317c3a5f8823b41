import type { Readable } from 'node:stream';

/** Range of bytes, from 0, `end` included. */
export interface ByteRange {
  start: number;
  end: number;
}

export interface ListedObject {
  key: string;
  bytes: number;
  modifiedAt: Date;
}

/** A `put` that is neither complete nor aborted. */
export interface UnfinishedPut {
  /** Shown to operators. */
  name: string;
  /** Last write, or else the start. */
  modifiedAt: Date;
  /** Aborts it, and removes its bytes; does nothing when it has ended. */
  remove: () => Promise<void>;
}

/**
 * Store of the raw files.
 *
 * `put` and `move` are atomic: an object is complete or absent. Every method throws `StorageError` when the store fails.
 */
export interface ObjectStore {
  /** Name of the bucket, as in a feed's `raw_file_bucket`. */
  readonly bucket: string;
  /** Prepares the store for use. Throws `ConfigError` when its settings are certainly wrong. */
  prepare(): Promise<void>;
  /** Checks with one small request whether the store is available. `signal` aborts it. */
  check(signal: AbortSignal): Promise<void>;
  /** Streams `body` into the object. If `body` throws, nothing is stored and the same error is thrown. */
  put(key: string, body: AsyncIterable<Buffer>, contentType: string): Promise<void>;
  /** Renames the object, replacing `toKey`. If the store fails, a copy may remain under `fromKey`. */
  move(fromKey: string, toKey: string): Promise<void>;
  /**
   * Opens the object for reading. Errors of the stream are not wrapped in `StorageError`.
   * @param range - must be within the object; absent: the whole object
   */
  get(key: string, range?: ByteRange): Promise<Readable>;
  /** Deletes the object, if it exists. `signal` aborts it. */
  delete(key: string, signal?: AbortSignal): Promise<void>;
  /** Lists the objects with this prefix, unordered. */
  list(prefix: string): AsyncIterable<ListedObject>;
  /** Lists puts in progress in any process, and unfinished ones of killed processes. */
  listUnfinished(): AsyncIterable<UnfinishedPut>;
  /** Closes idle connections. */
  close(): void;
}

/** Timeout for the removal of objects after a failure; `admin objects clean` removes the rest. */
export const cleanUpMilliseconds = 3_000;

/** Failure of the store. `missing`: the object does not exist; otherwise the store is unavailable or refuses. */
export class StorageError extends Error {
  constructor(
    message: string,
    readonly missing: boolean,
    cause: unknown,
  ) {
    super(message, { cause });
  }
}

/**
 * Creates the errors of a store.
 * @param isMissing - tells whether an object does not exist
 * @param detailOf - what operators need to know of an error beyond its message, or nothing
 */
export function storeErrors(
  store: string,
  isMissing: (error: unknown) => boolean,
  detailOf: (error: unknown) => string | undefined = () => undefined,
) {
  const failed = (action: string, error: unknown) => {
    const detail = detailOf(error);
    const message = `The ${store} object store could not ${action}${detail ? ` (${detail})` : ''}.`;
    return new StorageError(message, isMissing(error), error);
  };
  return {
    failed,
    /** Wraps errors of `work` in `StorageError`. */
    guard: async <T>(action: string, work: () => Promise<T>): Promise<T> => {
      try {
        return await work();
      } catch (error) {
        throw failed(action, error);
      }
    },
  };
}

/** Passes chunks through; `onError` gets errors of the body, to distinguish them from errors of the store. */
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

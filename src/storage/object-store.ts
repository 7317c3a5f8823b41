import type { Readable } from 'node:stream';

/** Bytes of an object, from `start` to `end`, both included; the first one is 0. */
export interface ByteRange {
  start: number;
  end: number;
}

/** An object as a listing shows it. */
export interface ListedObject {
  key: string;
  bytes: number;
  modifiedAt: Date;
}

/** An object that was begun to be put, and is neither complete nor given up. */
export interface UnfinishedPut {
  /** For people. */
  name: string;
  /** When it was begun, or written to last. */
  modifiedAt: Date;
  /** Gives it up, and removes what is there of it; nothing happens when it is over. */
  remove: () => Promise<void>;
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
  /** Asks whether the store can be used now: one small question, given up with `signal`. */
  check(signal: AbortSignal): Promise<void>;
  /** Streams `body` into the object. When `body` throws, nothing remains and the same error is thrown. */
  put(key: string, body: AsyncIterable<Buffer>, contentType: string): Promise<void>;
  /** Gives the object another key; replaces what is there. A copy may stay under the old key if the store fails then. */
  move(fromKey: string, toKey: string): Promise<void>;
  /**
   * Opens the object for reading. An error of the stream itself is the store's, as it came.
   * @param range - must lie within the object; absent: all of it
   */
  get(key: string, range?: ByteRange): Promise<Readable>;
  /** Removes the object; nothing happens when it is not there. `signal` aborts it. */
  delete(key: string, signal?: AbortSignal): Promise<void>;
  /** The objects whose key begins with `prefix`, in no particular order. */
  list(prefix: string): AsyncIterable<ListedObject>;
  /** What is being put now, here or elsewhere, and what killed processes have left. */
  listUnfinished(): AsyncIterable<UnfinishedPut>;
  /** Gives up the connections that the store holds open. */
  close(): void;
}

/** How long a caller that has failed waits for the removal of what it has stored; `clean-objects` removes the rest. */
export const cleanUpMilliseconds = 3_000;

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

/** How a store names itself in its errors, and knows that an object is not there. */
export function storeErrors(store: string, isMissing: (error: unknown) => boolean) {
  const failed = (action: string, error: unknown) =>
    new StorageError(`The ${store} object store could not ${action}.`, isMissing(error), error);
  return {
    failed,
    /** Does `work`; whatever it throws is the store's failure. */
    guard: async <T>(action: string, work: () => Promise<T>): Promise<T> => {
      try {
        return await work();
      } catch (error) {
        throw failed(action, error);
      }
    },
  };
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

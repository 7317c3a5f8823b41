import { createHash } from 'node:crypto';
import { addAbortSignal } from 'node:stream';
import { strictFormat } from '../../feed-format/built-in-formats';
import type { FormatDefinition } from '../../feed-format/format-definition';
import type { LoadOptions } from '../../feed-format/load-options';
import { BrokenFile, openFile, type OpenFile } from '../../feed-format/read/open-file';
import { StorageError, type ObjectStore } from '../../base/storage/object-store';
import { FeedFailure } from './run-result';

export interface FeedToRun extends LoadOptions {
  jobId: number;
  feedId: number;
  partnerId: number;
  objectKey: string;
  /** Size of the uploaded file. */
  sizeBytes: number;
  sha256: Buffer;
  /** Maximum number of products that the run may withdraw, from its request; null: the usual limit. */
  maxWithdrawn: number | null;
  /** Maximum percentage of the collection's active products that the run may withdraw; null: the usual limit. */
  maxWithdrawnPercent: number | null;
  /** Whether the run may load a `replace` feed although a newer one has been loaded. */
  allowOlder: boolean;
  /** How to read the file; null: without a format. */
  format: FormatDefinition | null;
}

/** Raw file as recorded at its upload. */
export type RawFile = Pick<FeedToRun, 'objectKey' | 'sizeBytes' | 'sha256' | 'mode' | 'format'>;

interface OpenOptions {
  /** Aborts reading. */
  signal?: AbortSignal;
  /** Counts the bytes that are read. */
  progress?: { bytesRead: number };
  /** Whether `sourceBytes` of a record is needed where the file is not UTF-8. */
  keepsBytes?: boolean;
}

/**
 * Opens the raw file of a feed. Its records throw FeedFailure too: the file is broken, cannot be read, or is not the uploaded one.
 * @throws FeedFailure when it is missing, cannot be read, or has no acceptable header
 */
export async function openRawFile(
  objectStore: ObjectStore,
  file: RawFile,
  { signal, progress = { bytesRead: 0 }, keepsBytes = false }: OpenOptions = {},
): Promise<OpenFile> {
  const definition = file.format ?? strictFormat;
  const bytes = new VerifiedBytes(readRawFile(objectStore, file.objectKey, signal), file, progress);
  try {
    const opened = await openFile(bytes.content, { definition, mode: file.mode, keepsBytes });
    return {
      ...opened,
      async *records(onHeader, onRecord) {
        try {
          yield* opened.records(onHeader, onRecord);
        } catch (error) {
          throw await failureOf(error, bytes);
        }
      },
      async close() {
        await opened.close();
        await bytes.content.return(undefined);
      },
    };
  } catch (error) {
    const failure = await failureOf(error, bytes);
    await bytes.content.return(undefined);
    throw failure;
  }
}

/** Returns the failure of a broken file. One that is no text is most likely another file: it is read to its end to tell. */
async function failureOf(error: unknown, bytes: VerifiedBytes): Promise<unknown> {
  if (!(error instanceof BrokenFile)) return error;
  if (!error.isNoText) return new FeedFailure(error.message, false, error.cause);
  try {
    for await (const _ of bytes.content);
    return bytes.failure ?? new FeedFailure(error.message, false, error.cause);
  } catch (failure) {
    return failure;
  }
}

/** A stored file that is compared with its upload while it is read. */
class VerifiedBytes {
  /** The bytes. @throws FeedFailure at the end if size or digest differ from the uploaded file */
  readonly content: AsyncGenerator<Buffer, undefined>;
  /** The failure at the end, kept here as the unpacker may swallow it. */
  failure: FeedFailure | undefined;

  constructor(
    private readonly source: AsyncGenerator<Buffer, undefined>,
    private readonly upload: RawFile,
    private readonly progress: { bytesRead: number },
  ) {
    this.content = this.read();
  }

  private async *read(): AsyncGenerator<Buffer, undefined> {
    const { sizeBytes, sha256 } = this.upload;
    const hash = createHash('sha256');
    let bytes = 0;
    for await (const chunk of this.source) {
      bytes += chunk.length;
      this.progress.bytesRead = bytes;
      hash.update(chunk);
      yield chunk;
    }
    if (bytes !== sizeBytes)
      this.failure = new FeedFailure(
        `The raw file in object storage has ${bytes} bytes instead of the ${sizeBytes} that were uploaded. Upload the feed again.`,
      );
    else if (!hash.digest().equals(sha256))
      this.failure = new FeedFailure(
        'The raw file in object storage is not the uploaded file: its SHA-256 differs. Upload the feed again.',
      );
    if (this.failure) throw this.failure;
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

import { createHash } from 'node:crypto';
import { addAbortSignal } from 'node:stream';
import { StorageError, type ObjectStore } from '../storage/object-store';
import { FeedFailure } from './run-result';
import type { LoadOptions } from '../feed-format/load-options';
import { ByteWindow } from '../feed-format/read/byte-window';
import { FileDecoder, type Encoding, UndecodableText } from '../feed-format/read/decode-text';
import type { FormatDefinition } from '../feed-format/format-definition';
import { readHeader, type FeedHeader, headerRowBytes, type NamedHeader } from '../feed-format/read/header';
import { MalformedGzip, unpack } from '../feed-format/read/unpack';
import { readFormatHeader } from '../feed-format/read/format-header';

/** Feed of a run. */
export interface FeedToRun extends LoadOptions {
  jobId: number;
  feedId: number;
  partnerId: number;
  objectKey: string;
  /** Size of the uploaded file. */
  sizeBytes: number;
  sha256: Buffer;
  /** Maximum number of products that the run may withdraw, as its request says; null: the usual limit. */
  maxWithdrawn: number | null;
  /** Maximum percentage of the collection's active products that the run may withdraw; null: the usual limit. */
  maxWithdrawnPercent: number | null;
  /** Whether the run may load a `replace` feed although a newer one has been loaded. */
  allowOlder: boolean;
  /** How to read the file; null: as the specification says. */
  format: FormatDefinition | null;
}

/** An open raw file. */
export interface OpenFeed {
  header: FeedHeader;
  /** The whole file, header included; with a format, its text as UTF-8. */
  chunks: AsyncIterable<Buffer>;
  /** Encoding of a file with a format. */
  encoding?: { name: Encoding; hasMark: boolean };
  /** Returns the bytes of the file that were read so far. */
  bytesRead: () => number;
  /** Closes the file. Call it in any case. */
  close: () => Promise<unknown>;
}

/** Raw file as recorded at its upload. */
export type RawFile = Pick<FeedToRun, 'objectKey' | 'sizeBytes' | 'sha256' | 'mode' | 'format'>;

/**
 * Opens the raw file of a feed. Reading it throws FeedFailure if the content is not the uploaded one.
 * @param signal - aborts reading
 * @param keepsBytes - whether `sourceBytes` of a record is needed where the file is not UTF-8
 * @throws FeedFailure when it is missing, cannot be read, or has no acceptable header
 */
export async function openRawFile(
  objectStore: ObjectStore,
  file: RawFile,
  signal?: AbortSignal,
  keepsBytes = false,
): Promise<OpenFeed> {
  const progress = { bytes: 0 };
  const bytes = verified(readRawFile(objectStore, file.objectKey, signal), file, progress);
  const { format, mode } = file;
  const decoder = format && new FileDecoder(format.encoding);
  const window = decoder && keepsBytes ? new ByteWindow() : undefined;
  const text = decoder ? decoded(bytes, decoder, window) : bytes;
  const { header, chunks } = await readHeaderOf(text, (prefix) => {
    const found = format ? readFormatHeader(prefix, format, mode) : readHeader(prefix, mode);
    if ('reading' in found) Object.assign(found.reading!, { offsets: decoder!.offsets, window });
    return found;
  }).catch(async (error: unknown) => {
    await bytes.return(undefined);
    throw error;
  });
  return {
    header,
    chunks,
    encoding: decoder ? { name: decoder.encoding, hasMark: decoder.hasMark } : undefined,
    bytesRead: () => progress.bytes,
    async close() {
      await text.return(undefined);
      await bytes.return(undefined);
    },
  };
}

/** Unpacks and decodes a file, which its upload has checked. @throws FeedFailure */
async function* decoded(
  source: AsyncGenerator<Buffer, undefined>,
  decoder: FileDecoder,
  window: ByteWindow | undefined,
): AsyncGenerator<Buffer, undefined> {
  try {
    for await (const bytes of unpack(source)) {
      window?.append(bytes);
      const text = decoder.write(bytes);
      if (text.length > 0) yield text;
    }
    const rest = decoder.end();
    if (rest.length > 0) yield rest;
  } catch (error) {
    if (!(error instanceof UndecodableText || error instanceof MalformedGzip)) throw error;
    throw new FeedFailure(error.message, false, error);
  }
}

/** Compares size and digest with those of the upload. @throws FeedFailure at the end of the file */
async function* verified(
  chunks: AsyncGenerator<Buffer, undefined>,
  { sizeBytes, sha256 }: RawFile,
  progress: { bytes: number },
): AsyncGenerator<Buffer, undefined> {
  const hash = createHash('sha256');
  for await (const chunk of chunks) {
    progress.bytes += chunk.length;
    hash.update(chunk);
    yield chunk;
  }
  if (progress.bytes !== sizeBytes) {
    throw new FeedFailure(
      `The raw file in object storage has ${progress.bytes} bytes instead of the ${sizeBytes} that were uploaded; upload the feed again.`,
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
async function readHeaderOf(
  source: AsyncGenerator<Buffer, undefined>,
  read: (prefix: Buffer) => NamedHeader | { problem: string },
): Promise<Pick<OpenFeed, 'header' | 'chunks'>> {
  let prefix: Buffer = Buffer.alloc(0);
  while (prefix.length <= headerRowBytes) {
    const next = await source.next();
    if (next.done) break;
    prefix = Buffer.concat([prefix, next.value]);
  }
  const found = read(prefix);
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
  return { header, chunks: chunks() };
}

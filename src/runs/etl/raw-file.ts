import { createHash } from 'node:crypto';
import { addAbortSignal } from 'node:stream';
import { strictFormat } from '../../feed-format/built-in-formats';
import type { Encoding, FormatDefinition, ReadDefinition } from '../../feed-format/format-definition';
import type { LoadOptions } from '../../feed-format/load-options';
import { ByteWindow } from '../../feed-format/read/byte-window';
import { FileDecoder, UndecodableText } from '../../feed-format/read/decode-text';
import { RecordExtractor, type ExtractedRecord, type RecordPlace } from '../../feed-format/read/extract';
import { readHeader, type FeedHeader } from '../../feed-format/read/header';
import { headerRowBytes } from '../../feed-format/read/header-names';
import { UnclosedQuote } from '../../feed-format/read/scan-record';
import { MalformedGzip, unpack } from '../../feed-format/read/unpack';
import { startingWith } from '../../base/starting-with';
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

/** An open raw file. */
export interface OpenFeed {
  header: FeedHeader;
  /** Encoding of the file, and whether a rejects file in it begins with a byte order mark. */
  encoding: { name: Encoding; hasMark: boolean };
  /**
   * Reads the file once, and yields the non-null results of the callbacks.
   * @param onHeader - called before the first record, with the place and the raw text of the header; never without a header row
   * @throws FeedFailure where the file is structurally broken, cannot be read, or is not the uploaded one
   */
  records: <T>(
    onHeader: (place: RecordPlace, text: string) => T | null,
    onRecord: (record: ExtractedRecord) => T | null,
  ) => AsyncGenerator<T>;
  /** Closes the file. Call it in any case. */
  close: () => Promise<unknown>;
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
 * Opens the raw file of a feed.
 * @throws FeedFailure when it is missing, cannot be read, or has no acceptable header
 */
export async function openRawFile(
  objectStore: ObjectStore,
  file: RawFile,
  { signal, progress = { bytesRead: 0 }, keepsBytes = false }: OpenOptions = {},
): Promise<OpenFeed> {
  const definition: ReadDefinition = file.format ?? strictFormat;
  const bytes = new VerifiedBytes(readRawFile(objectStore, file.objectKey, signal), file, progress);
  const decoder = new FileDecoder(definition);
  const window = keepsBytes ? new ByteWindow() : undefined;
  const unpacked = definition.strict ? bytes.content : unpack(bytes.content);
  const text = decoded(bytes, unpacked, decoder, window);
  const close = async () => {
    for (const stage of [text, unpacked, bytes.content]) await stage.return(undefined);
  };
  try {
    const prefix = await readPrefix(text);
    const found = readHeader(prefix, definition, file.mode);
    if ('problem' in found) throw new FeedFailure(found.problem);
    const { names: _, ...header } = found;
    return {
      header,
      encoding: { name: decoder.encoding, hasMark: decoder.hasMark && !definition.strict },
      async *records(onHeader, onRecord) {
        const extractor = new RecordExtractor(header, onHeader, onRecord, {
          offsets: decoder.offsets,
          window,
        });
        try {
          yield* extractor.read(startingWith(prefix, text));
        } catch (error) {
          if (!(error instanceof UnclosedQuote)) throw error;
          throw new FeedFailure(error.message, false, error);
        }
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Decodes a file that its upload has checked. A file that is no text is most likely another one: it is read to its end to tell.
 * @param bytes - the file as it is stored
 * @param unpacked - the same, unpacked
 * @throws FeedFailure
 */
async function* decoded(
  bytes: VerifiedBytes,
  unpacked: AsyncGenerator<Buffer, undefined>,
  decoder: FileDecoder,
  window: ByteWindow | undefined,
): AsyncGenerator<Buffer, undefined> {
  try {
    // No `for await`: it would close the file on an error.
    for (let next = await unpacked.next(); !next.done; next = await unpacked.next()) {
      window?.append(next.value);
      const text = decoder.write(next.value);
      if (text.length > 0) yield text;
    }
    const rest = decoder.end();
    if (rest.length > 0) yield rest;
  } catch (error) {
    if (!(error instanceof UndecodableText || error instanceof MalformedGzip)) throw error;
    for await (const _ of bytes.content);
    throw bytes.failure ?? new FeedFailure(error.message, false, error);
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

/** Reads the beginning of a text, which contains the header row if that is not too long. */
async function readPrefix(text: AsyncGenerator<Buffer, undefined>): Promise<Buffer> {
  let prefix: Buffer = Buffer.alloc(0);
  while (prefix.length <= headerRowBytes) {
    const next = await text.next();
    if (next.done) break;
    prefix = Buffer.concat([prefix, next.value]);
  }
  return prefix;
}

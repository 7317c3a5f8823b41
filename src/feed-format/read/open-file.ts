import { startingWith } from '../../base/starting-with';
import type { Encoding, ReadDefinition } from '../format-definition';
import type { LoadMode } from '../load-options';
import { ByteWindow } from './byte-window';
import { FileDecoder, UndecodableText } from './decode-text';
import { RecordExtractor, type ExtractedRecord, type RecordPlace } from './extract';
import { readHeader } from './header';
import type { FeedHeader } from './header-columns';
import { headerRowBytes } from './header-names';
import { UnclosedQuote } from './scan-record';
import { MalformedGzip, unpack } from './unpack';

/** A file that is structurally broken; the message is public. */
export class BrokenFile extends Error {
  /** Whether the bytes are no text, or cannot be unpacked. */
  get isNoText(): boolean {
    return this.cause instanceof UndecodableText || this.cause instanceof MalformedGzip;
  }
}

/** A file whose header is read. */
export interface OpenFile {
  header: FeedHeader;
  /** Encoding of the file, and whether a rejects file in it begins with a byte order mark. */
  encoding: { name: Encoding; hasMark: boolean };
  /**
   * Reads the file once, and yields the non-null results of the callbacks.
   * @param onHeader - called before the first record, with the place and the raw text of the header; never without a header row
   * @throws BrokenFile; errors of the content
   */
  records: <T>(
    onHeader: (place: RecordPlace, text: string) => T | null,
    onRecord: (record: ExtractedRecord) => T | null,
  ) => AsyncGenerator<T>;
  /** Stops reading; the content stays open. Call it in any case. */
  close: () => Promise<unknown>;
}

interface FileReading {
  definition: ReadDefinition;
  mode: LoadMode;
  /** Whether `sourceBytes` of a record is needed where the file is not UTF-8. */
  keepsBytes?: boolean;
}

/**
 * Opens a file to read its records, and reads its header.
 * @param content - the file as sent; left open after an error, so that the caller can read the rest
 * @throws BrokenFile without an acceptable header; errors of the content
 */
export async function openFile(
  content: AsyncGenerator<Buffer, undefined>,
  { definition, mode, keepsBytes = false }: FileReading,
): Promise<OpenFile> {
  const decoder = new FileDecoder(definition);
  const window = keepsBytes ? new ByteWindow() : undefined;
  const unpacked = definition.strict ? content : unpack(content);
  const text = decoded(unpacked, decoder, window);
  const close = async () => {
    await text.return(undefined);
    if (unpacked !== content) await unpacked.return(undefined);
  };
  try {
    const prefix = await readPrefix(text);
    const found = readHeader(prefix, definition, mode);
    if ('problem' in found) throw new BrokenFile(found.problem);
    const { names: _, ...header } = found;
    return {
      header,
      encoding: { name: decoder.encoding, hasMark: decoder.hasMark && !definition.strict },
      async *records(onHeader, onRecord) {
        const from = { offsets: decoder.offsets, window };
        const extractor = new RecordExtractor(header, onHeader, onRecord, from);
        try {
          yield* extractor.read(startingWith(prefix, text));
        } catch (error) {
          if (!(error instanceof UnclosedQuote)) throw error;
          throw new BrokenFile(error.message, { cause: error });
        }
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Decodes a file. @throws BrokenFile */
async function* decoded(
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
    throw new BrokenFile(error.message, { cause: error });
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

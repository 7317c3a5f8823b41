import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { fileTooLarge, invalidFeedFile, notCsv, ServiceError, type ErrorCode } from '../shared/errors';
import { strictFormat } from '../feed-format/built-in-formats';
import { detectMark } from '../feed-format/read/decode-text';
import { readHeader } from '../feed-format/read/header';
import { headerRowBytes } from '../feed-format/read/header-names';
import { isCsvFile } from '../feed-format/csv-file-type';
import type { FeedFormat } from '../feed-format/format-definition';
import type { LoadMode } from '../feed-format/load-options';
import { trimText } from '../feed-format/text';
import { rejectsToReplace, type CheckedFile } from './checked-file';
import { FormattedFeedFile } from './formatted-feed-file';
import { discardContent, type FilePart, type UploadForm } from './upload-form';

/**
 * Checks an uploaded file while it streams through: not empty, UTF-8, required headers (specification, section 4, `POST
 * /feeds/upload`, steps 2 to 4). Measures size and digest.
 */
export class FeedFile implements CheckedFile {
  bytes = 0;
  private readonly hash = createHash('sha256');
  private readonly utf8 = new TextDecoder('utf-8', { fatal: true });
  private isUtf8 = true;
  private isBlank: boolean;
  /** The beginning of the file, until the header can be read. */
  private prefix: Buffer | undefined = Buffer.allocUnsafe(headerRowBytes);
  private prefixBytes = 0;
  private headerProblem: ServiceError | undefined;
  private readonly mode: LoadMode;

  /**
   * @param textFollows - whether the file is known to contain more than white space
   * @param mode - how the feed is to be loaded
   */
  constructor({ textFollows = false, mode = 'upsert' }: { textFollows?: boolean; mode?: LoadMode } = {}) {
    this.isBlank = !textFollows;
    this.mode = mode;
  }

  /** @returns bytes to store; undefined until the header is valid, and after a rejection */
  take(chunk: Buffer): Buffer | undefined {
    this.bytes += chunk.length;
    this.hash.update(chunk);
    this.decode(chunk);
    if (!this.prefix) return this.problem ? undefined : chunk;
    if (this.prefixBytes + chunk.length > this.prefix.length) return this.decideHeader(chunk);
    this.prefixBytes += chunk.copy(this.prefix, this.prefixBytes);
    return undefined;
  }

  /** Ends the file. @returns the remaining bytes to store */
  end(): Buffer | undefined {
    this.decode(undefined);
    return this.decideHeader();
  }

  /** SHA-256 of the file, 32 bytes. Call once, after `end`. */
  sha256(): Buffer {
    return this.hash.digest();
  }

  /** The first failing check. It can change until the end of the file. */
  get problem(): ServiceError | undefined {
    if (this.isBlank) return invalidFeedFile('Uploaded file is empty.');
    if (!this.isUtf8) return invalidFeedFile('CSV file must be UTF-8 encoded.');
    return this.headerProblem;
  }

  /**
   * Yields the bytes of a file. Throws at the end if a check fails, so that the store discards the object.
   * @throws invalid_feed_file at the end, too_large at once
   */
  async *accepted(content: AsyncIterable<Buffer>, bytesMax: number): AsyncGenerator<Buffer> {
    for await (const chunk of content) {
      const bytes = this.take(chunk);
      if (this.bytes > bytesMax) throw fileTooLarge(bytesMax);
      if (bytes) yield bytes;
    }
    const rest = this.end();
    if (rest) yield rest;
    if (this.problem) throw this.problem;
  }

  private decode(chunk: Buffer | undefined): void {
    if (!this.isUtf8) return;
    try {
      const text = this.utf8.decode(chunk, { stream: chunk !== undefined });
      if (this.isBlank) this.isBlank = trimText(text) === '';
    } catch {
      this.isUtf8 = false;
      this.isBlank = false;
    }
  }

  private decideHeader(chunk: Buffer = Buffer.alloc(0)): Buffer | undefined {
    if (!this.prefix) return undefined;
    const prefix = Buffer.concat([this.prefix.subarray(0, this.prefixBytes), chunk]);
    this.prefix = undefined;
    const header = readHeader(prefix.subarray(detectMark(prefix).markBytes), strictFormat, this.mode);
    if ('problem' in header) this.headerProblem = invalidFeedFile(header.problem);
    else if (this.mode === 'replace' && header.codes !== undefined) this.headerProblem = rejectsToReplace();
    return this.problem ? undefined : prefix;
  }
}

export interface ReceivedFile {
  fileName: string;
  contentType: string;
  sha256: Buffer;
  sizeBytes: number;
}

/** A file that was stored before its format was known. */
export interface UncheckedFile extends ReceivedFile {
  /** Returns the reason for its rejection. @param read - reads the stored file */
  check: (format: FeedFormat | null, read: () => Promise<Readable>) => Promise<ServiceError | undefined>;
}

/** Stores all bytes of an acceptable file. `partnerName` is undefined if its part comes after the file. */
export type TakeFile = (
  chunks: AsyncIterable<Buffer>,
  file: Pick<ReceivedFile, 'fileName' | 'contentType'>,
  partnerName: string | undefined,
) => Promise<void>;

const fileProblems: ErrorCode[] = ['invalid_feed_file', 'invalid_shape'];

type FormSoFar = Pick<UploadForm, 'partnerName' | 'loadOptions'>;

const describeFile = ({ fileName, mediaType }: FilePart) => ({
  fileName,
  contentType: mediaType ?? 'text/csv',
});

/**
 * Checks a file and passes its bytes to `takeFile`. Reads a rejected file to its end: 413 precedes every other error, and
 * the checks have an order.
 * @returns the file, or the reason for its rejection
 * @throws too_large; errors of `takeFile`
 */
export async function receiveFile(
  part: FilePart,
  { partnerName, loadOptions: { mode } }: FormSoFar,
  format: FeedFormat | null,
  uploadBytesMax: number,
  takeFile: TakeFile,
): Promise<ReceivedFile | ServiceError> {
  const file = describeFile(part);
  const content = format
    ? new FormattedFeedFile(format.definition, mode, part.fileName)
    : new FeedFile({ mode });
  const accepted = content.accepted(part.content, uploadBytesMax);
  const isCsv = isCsvFile(part.fileName, part.mediaType, format !== null);
  try {
    // Most rejected files fail here, before anything is stored.
    const first = isCsv ? await accepted.next() : await discardContent(accepted);
    if (first && !first.done) await takeFile(startingWith(first.value, accepted), file, partnerName);
  } catch (error) {
    if (!isFileProblem(error)) throw error;
    return isCsv ? error : notCsv();
  }
  return isCsv ? { ...file, sha256: content.sha256(), sizeBytes: content.bytes } : notCsv();
}

/**
 * Passes a file to `takeFile` whose format depends on what follows it. It is checked meanwhile as without a format, and by
 * `check` again if it has one.
 * @throws too_large; errors of `takeFile`
 */
export async function receiveUncheckedFile(
  part: FilePart,
  { loadOptions: { mode } }: FormSoFar,
  uploadBytesMax: number,
  takeFile: TakeFile,
): Promise<UncheckedFile> {
  const file = describeFile(part);
  const content = new FeedFile({ mode });
  await takeFile(allBytes(part.content, content, uploadBytesMax), file, undefined);
  return {
    ...file,
    sha256: content.sha256(),
    sizeBytes: content.bytes,
    async check(format, read) {
      if (!isCsvFile(part.fileName, part.mediaType, format !== null)) return notCsv();
      if (!format) return content.problem;
      const stored = new FormattedFeedFile(format.definition, mode, part.fileName);
      // The bytes that it accepts are stored already.
      await discardContent(stored.accepted((await read()) as AsyncIterable<Buffer>, uploadBytesMax)).catch(
        onlyProblem,
      );
      return stored.problem;
    },
  };
}

/** Ignores the error of a failed check. */
function onlyProblem(error: unknown): void {
  if (!isFileProblem(error)) throw error;
}

const isFileProblem = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && fileProblems.includes(error.code);

/** Yields the bytes of a file, whatever its checks find. @throws too_large at once */
async function* allBytes(
  content: AsyncIterable<Buffer>,
  file: FeedFile,
  bytesMax: number,
): AsyncGenerator<Buffer> {
  for await (const chunk of content) {
    file.take(chunk);
    if (file.bytes > bytesMax) throw fileTooLarge(bytesMax);
    yield chunk;
  }
  file.end();
}

async function* startingWith(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

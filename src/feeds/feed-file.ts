import { createHash } from 'node:crypto';
import { fileTooLarge, invalidFeedFile, notCsv, ServiceError } from '../shared/errors';
import { readHeader, headerRowBytes } from '../feed-format/header';
import { isCsvFile } from '../feed-format/csv-file-type';
import { trimText } from '../feed-format/text';
import { drain, type FilePart } from './upload-form';

/**
 * Checks an uploaded file while it streams through: not empty, UTF-8, required headers (specification, section 4, `POST
 * /feeds/upload`, steps 2 to 4). Measures size and digest.
 */
export class FeedFile {
  bytes = 0;
  private readonly hash = createHash('sha256');
  private readonly utf8 = new TextDecoder('utf-8', { fatal: true });
  private isUtf8 = true;
  private isBlank: boolean;
  /** The beginning of the file, until the header can be read. */
  private prefix: Buffer | undefined = Buffer.allocUnsafe(headerRowBytes);
  private prefixBytes = 0;
  private headerProblem: string | undefined;

  /** @param textFollows - whether the file is known to contain more than white space */
  constructor(textFollows = false) {
    this.isBlank = !textFollows;
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
    if (this.headerProblem) return invalidFeedFile(this.headerProblem);
    return undefined;
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
    const header = readHeader(prefix);
    if ('problem' in header) this.headerProblem = header.problem;
    return this.problem ? undefined : prefix;
  }
}

export interface ReceivedFile {
  fileName: string;
  contentType: string;
  sha256: Buffer;
  sizeBytes: number;
}

/** Stores all bytes of an acceptable file. `partnerName` is undefined if its part comes after the file. */
export type TakeFile = (
  chunks: AsyncIterable<Buffer>,
  file: Pick<ReceivedFile, 'fileName' | 'contentType'>,
  partnerName: string | undefined,
) => Promise<void>;

/**
 * Checks a file and passes its bytes to `takeFile`. Reads a rejected file to its end: 413 precedes every other error, and
 * the checks have an order.
 * @returns the file, or the reason for its rejection
 * @throws too_large; errors of `takeFile`
 */
export async function receiveFile(
  part: FilePart,
  partnerName: string | undefined,
  uploadBytesMax: number,
  takeFile: TakeFile,
): Promise<ReceivedFile | ServiceError> {
  const file = { fileName: part.fileName, contentType: part.mediaType ?? 'text/csv' };
  const content = new FeedFile();
  const accepted = acceptedBytes(part.content, content, uploadBytesMax);
  const isCsv = isCsvFile(part.fileName, part.mediaType);
  try {
    // Most rejected files fail here, before anything is stored.
    const first = isCsv ? await accepted.next() : await drain(accepted);
    if (first && !first.done) await takeFile(startingWith(first.value, accepted), file, partnerName);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'invalid_feed_file') throw error;
    return isCsv ? error : notCsv();
  }
  return isCsv ? { ...file, sha256: content.sha256(), sizeBytes: content.bytes } : notCsv();
}

/**
 * Yields the bytes of a file. Throws at the end if a check fails, so that the store discards the object.
 * @throws invalid_feed_file at the end, too_large at once
 */
async function* acceptedBytes(
  content: AsyncIterable<Buffer>,
  file: FeedFile,
  bytesMax: number,
): AsyncGenerator<Buffer> {
  for await (const chunk of content) {
    const bytes = file.take(chunk);
    if (file.bytes > bytesMax) throw fileTooLarge(bytesMax);
    if (bytes) yield bytes;
  }
  const rest = file.end();
  if (rest) yield rest;
  if (file.problem) throw file.problem;
}

async function* startingWith(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

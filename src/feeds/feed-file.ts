import { createHash } from 'node:crypto';
import { fileTooLarge, invalidFeedFile, notCsv, ServiceError } from '../shared/errors';
import { readHeader, headerRowBytes } from '../feed-format/header';
import { isCsvFile } from '../feed-format/csv-file-type';
import { trimText } from '../feed-format/text';
import { drain, type FilePart } from './upload-form';

/**
 * Checks the content of an uploaded file while it streams through (specification, section 4, `POST /feeds/upload`,
 * steps 2 to 4): not empty, UTF-8 all of it, a header row with the required columns. Measures it on the way.
 */
export class FeedFile {
  /** The size of the file so far. */
  bytes = 0;
  private readonly hash = createHash('sha256');
  private readonly utf8 = new TextDecoder('utf-8', { fatal: true });
  private isUtf8 = true;
  private isBlank: boolean;
  /** The beginning of the file until it is long enough to read the header from. */
  private prefix: Buffer | undefined = Buffer.allocUnsafe(headerRowBytes);
  private prefixBytes = 0;
  private headerProblem: string | undefined;

  /** @param textFollows - whether text is known to follow all that it will be given */
  constructor(textFollows = false) {
    this.isBlank = !textFollows;
  }

  /**
   * Takes the next chunk.
   * @returns the bytes that can be stored by now; undefined while the header is not known, and once the file is refused
   */
  take(chunk: Buffer): Buffer | undefined {
    this.bytes += chunk.length;
    this.hash.update(chunk);
    this.decode(chunk);
    if (!this.prefix) return this.problem ? undefined : chunk;
    if (this.prefixBytes + chunk.length > this.prefix.length) return this.decideHeader(chunk);
    this.prefixBytes += chunk.copy(this.prefix, this.prefixBytes);
    return undefined;
  }

  /** Takes the end of the file. @returns the bytes that are left to store, if any */
  end(): Buffer | undefined {
    this.decode(undefined);
    return this.decideHeader();
  }

  /** The SHA-256 of the whole file, 32 bytes. To be called once, after its end. */
  sha256(): Buffer {
    return this.hash.digest();
  }

  /** Why the file is refused, by the first check that fails. It may still change until the end of the file. */
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

/** A file that an upload brought. */
export interface ReceivedFile {
  fileName: string;
  contentType: string;
  /** 32 bytes. */
  sha256: Buffer;
  sizeBytes: number;
}

/** Takes the bytes of an acceptable file, all of them. `partnerName` is undefined while its part has not come. */
export type TakeFile = (
  chunks: AsyncIterable<Buffer>,
  file: Pick<ReceivedFile, 'fileName' | 'contentType'>,
  partnerName: string | undefined,
) => Promise<void>;

/**
 * Takes the file while it is being checked. A file that is refused is read to its end all the same: the size limit
 * outranks everything, and the checks have their order.
 * @param partnerName - undefined while its part has not come
 * @returns the file, or why it is refused
 * @throws too_large; whatever `takeFile` throws
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
    // Nothing comes before the header is known to be right; most refused files are never begun to be stored.
    const first = isCsv ? await accepted.next() : await drain(accepted);
    if (first && !first.done) await takeFile(startingWith(first.value, accepted), file, partnerName);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'invalid_feed_file') throw error;
    return isCsv ? error : notCsv();
  }
  return isCsv ? { ...file, sha256: content.sha256(), sizeBytes: content.bytes } : notCsv();
}

/**
 * The bytes of an acceptable file, which `file` sees on the way. Of one that turns out not to be, no more bytes come, and
 * the end is an error: whoever stores them then removes what is there.
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

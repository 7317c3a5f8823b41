import { createHash } from 'node:crypto';
import { invalidFeedFile, type ServiceError } from '../shared/errors';
import { readHeader, headerRowBytes } from '../feed-format/header';
import { trimText } from '../feed-format/text';

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

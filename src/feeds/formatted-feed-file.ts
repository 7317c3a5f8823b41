import { createHash } from 'node:crypto';
import { encodingName, FileDecoder, UndecodableText } from '../feed-format/read/decode-text';
import type { FormatDefinition } from '../feed-format/format-definition';
import { readHeader } from '../feed-format/read/header';
import { headerRowBytes } from '../feed-format/read/header-names';
import type { LoadMode } from '../feed-format/load-options';
import { trimText } from '../feed-format/text';
import { isGzipName, MalformedGzip, unpack } from '../feed-format/read/unpack';
import { fileTooLarge, invalidFeedFile, type ServiceError } from '../shared/errors';
import { rejectsToReplace, type CheckedFile } from './checked-file';

/**
 * Checks an uploaded file by its format while it streams through: gzip, not empty, its encoding, required headers. Measures
 * size and digest of the file as sent.
 */
export class FormattedFeedFile implements CheckedFile {
  bytes = 0;
  private readonly hash = createHash('sha256');
  private readonly decoder: FileDecoder;
  private unpackedBytes = 0;
  private isBlank = true;
  /** The beginning of the text, until the header can be read. */
  private prefix: Buffer[] | undefined = [];
  private prefixBytes = 0;
  private gzipProblem: ServiceError | undefined;
  private encodingProblem: ServiceError | undefined;
  private headerProblem: ServiceError | undefined;

  constructor(
    private readonly definition: FormatDefinition,
    private readonly mode: LoadMode,
    private readonly fileName: string,
  ) {
    this.decoder = new FileDecoder(definition);
  }

  /** The first failing check. It can change until the end of the file. */
  get problem(): ServiceError | undefined {
    if (this.gzipProblem) return this.gzipProblem;
    if (this.isBlank) return invalidFeedFile('Uploaded file is empty.');
    return this.encodingProblem ?? this.headerProblem;
  }

  /** SHA-256 of the file, 32 bytes. Call once, after its end. */
  sha256(): Buffer {
    return this.hash.digest();
  }

  /**
   * Yields the bytes of a file as they are sent, from where its header is valid.
   * @throws invalid_feed_file at the end, too_large at once
   */
  async *accepted(content: AsyncIterable<Buffer>, bytesMax: number): AsyncGenerator<Buffer> {
    /** Bytes that the checks have read, and the store has not. */
    let pending: Buffer[] = [];
    const source = this.measured(content, bytesMax, (chunk) => pending.push(chunk));
    try {
      try {
        for await (const bytes of unpack(source, isGzipName(this.fileName))) {
          this.take(bytes, bytesMax);
          if (this.prefix) continue;
          const checked = pending;
          pending = [];
          if (!this.problem) yield* checked;
        }
        this.end();
      } catch (error) {
        if (!(error instanceof MalformedGzip)) throw error;
        this.gzipProblem = invalidFeedFile(error.message);
      }
      if (this.problem) {
        for await (const _ of source) pending = [];
        throw this.problem;
      }
      yield* pending;
    } finally {
      // Not awaited: the unpacker may have asked for a chunk that the client has not sent.
      source.return(undefined).catch(() => undefined);
    }
  }

  private async *measured(
    content: AsyncIterable<Buffer>,
    bytesMax: number,
    keep: (chunk: Buffer) => void,
  ): AsyncGenerator<Buffer, undefined> {
    for await (const chunk of content) {
      this.bytes += chunk.length;
      if (this.bytes > bytesMax) throw fileTooLarge(bytesMax);
      this.hash.update(chunk);
      keep(chunk);
      yield chunk;
    }
  }

  private take(bytes: Buffer, bytesMax: number): void {
    this.unpackedBytes += bytes.length;
    if (this.unpackedBytes > bytesMax) throw fileTooLarge(bytesMax);
    this.decode(() => this.decoder.write(bytes));
  }

  private end(): void {
    this.decode(() => this.decoder.end());
    this.decideHeader();
  }

  private decode(next: () => Buffer): void {
    if (this.encodingProblem) return;
    try {
      const text = next();
      this.isBlank &&= trimText(text.toString()) === '';
      if (!this.prefix) return;
      // A copy: the chunk is small, its memory may be large.
      this.prefix.push(Buffer.from(text));
      this.prefixBytes += text.length;
      if (this.prefixBytes > headerRowBytes) this.decideHeader();
    } catch (error) {
      if (!(error instanceof UndecodableText)) throw error;
      this.encodingProblem = invalidFeedFile(`CSV file must be ${encodingName(error.encoding)} encoded.`);
      this.isBlank = false;
      this.prefix = undefined;
    }
  }

  private decideHeader(): void {
    if (!this.prefix) return;
    const header = readHeader(Buffer.concat(this.prefix), this.definition, this.mode);
    this.prefix = undefined;
    if ('problem' in header) this.headerProblem = invalidFeedFile(header.problem);
    else if (this.mode === 'replace' && header.codes !== undefined) this.headerProblem = rejectsToReplace();
  }
}

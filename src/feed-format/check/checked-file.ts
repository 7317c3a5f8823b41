import { createHash } from 'node:crypto';
import type { ReadDefinition } from '../format-definition';
import { encodingName, FileDecoder, UndecodableText } from '../read/decode-text';
import { strictFormat } from '../built-in-formats';
import { readHeader } from '../read/header';
import type { NamedHeader } from '../read/header-columns';
import { headerRowBytes } from '../read/header-names';
import type { LoadMode } from '../load-options';
import { trimText } from '../text';
import { isGzipName, MalformedGzip, unpack } from '../read/unpack';
import {
  emptyFile,
  fileTooLarge,
  invalidGzip,
  invalidHeader,
  invalidShape,
  ServiceError,
  wrongEncoding,
} from '../../base/errors';

interface FileChecks {
  /** `undecided`: all bytes are accepted, and `problem` is the problem of a file without a format. */
  definition: ReadDefinition | 'undecided';
  mode: LoadMode;
  fileName: string;
  /** Maximum size, as sent and unpacked. */
  bytesMax: number;
}

/**
 * Checks an uploaded file while it streams through: gzip, not empty, its encoding, required headers (specification, section 4,
 * `POST /feeds/upload`, steps 2 to 4). Measures size and digest of the file as sent.
 */
export class CheckedFile {
  /** Size as sent, so far. */
  sizeBytes = 0;
  private readonly hash = createHash('sha256');
  private readonly definition: ReadDefinition;
  private readonly decoder: FileDecoder;
  private unpackedBytes = 0;
  private isBlank = true;
  /** The beginning of the text, until the header can be read. */
  private beginning: KeptBytes | undefined = new KeptBytes();
  private gzipProblem: ServiceError | undefined;
  private encodingProblem: ServiceError | undefined;
  private headerProblem: ServiceError | undefined;

  constructor(private readonly checks: FileChecks) {
    this.definition = checks.definition === 'undecided' ? strictFormat : checks.definition;
    this.decoder = new FileDecoder(this.definition);
  }

  /** The first failing check. It can change until the end of the file. */
  get problem(): ServiceError | undefined {
    if (this.gzipProblem) return this.gzipProblem;
    if (this.isBlank) return emptyFile();
    return this.encodingProblem ?? this.headerProblem;
  }

  /** SHA-256 of the file as sent, 32 bytes. Call once, after its end. */
  sha256(): Buffer {
    return this.hash.digest();
  }

  /**
   * Yields the bytes of the file as sent, once its header is valid. Reads a file with a problem to its end, and then throws the
   * problem, so that the store discards the object; never while the format is undecided.
   * @throws the error of an upload at the end, file_too_large at once; errors of `content`
   */
  async *accepted(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer, undefined> {
    const acceptsAll = this.checks.definition === 'undecided';
    const isNamedGzip = isGzipName(this.checks.fileName);
    /** Bytes that the checks have read, but the store has not. */
    const pending = new KeptBytes();
    const source = this.measured(content, pending);
    try {
      try {
        for await (const bytes of this.definition.strict ? source : unpack(source, isNamedGzip)) {
          this.take(bytes);
          if (this.beginning && !acceptsAll) continue;
          const checked = pending.take();
          if (checked.length > 0 && (acceptsAll || !this.problem)) yield checked;
        }
        this.end();
      } catch (error) {
        if (!(error instanceof MalformedGzip)) throw error;
        this.gzipProblem = invalidGzip(error.message);
      }
      if (this.problem && !acceptsAll) {
        for await (const _ of source) pending.take();
        throw this.problem;
      }
      const rest = pending.take();
      if (rest.length > 0) yield rest;
    } finally {
      // Not awaited: the unpacker may be waiting for a chunk that the client has not sent.
      source.return(undefined).catch(() => undefined);
    }
  }

  private async *measured(
    content: AsyncIterable<Buffer>,
    pending: KeptBytes,
  ): AsyncGenerator<Buffer, undefined> {
    const { bytesMax } = this.checks;
    for await (const chunk of content) {
      this.sizeBytes += chunk.length;
      if (this.sizeBytes > bytesMax) throw fileTooLarge(bytesMax);
      this.hash.update(chunk);
      pending.add(chunk);
      yield chunk;
    }
  }

  private take(bytes: Buffer): void {
    const { bytesMax } = this.checks;
    this.unpackedBytes += bytes.length;
    if (this.unpackedBytes > bytesMax) throw fileTooLarge(bytesMax);
    this.decode(() => this.decoder.write(bytes));
    if (this.beginning && this.beginning.length > headerRowBytes) this.decideHeader();
  }

  private end(): void {
    this.decode(() => this.decoder.end());
    this.decideHeader();
  }

  private decode(next: () => Buffer): void {
    if (this.encodingProblem) return;
    try {
      const text = next();
      // No place in the file is needed: the lines of a large file would take more memory than its check.
      if (text.length > 0) this.decoder.offsets.discard(Infinity);
      this.isBlank &&= trimText(text.toString()) === '';
      this.beginning?.add(text);
    } catch (error) {
      if (!(error instanceof UndecodableText)) throw error;
      this.encodingProblem = wrongEncoding(encodingName(error.encoding));
      this.isBlank = false;
      this.beginning = undefined;
    }
  }

  private decideHeader(): void {
    if (!this.beginning) return;
    const header = checkHeader(this.beginning.take(), this.definition, this.checks.mode);
    this.beginning = undefined;
    if (header instanceof ServiceError) this.headerProblem = header;
  }
}

/** Reads the header as `readHeader`. @returns the error of an upload if its header is invalid */
export function checkHeader(
  text: Buffer,
  definition: ReadDefinition,
  mode: LoadMode,
): NamedHeader | ServiceError {
  const header = readHeader(text, definition, mode);
  if ('problem' in header) return invalidHeader(header.code, header.problem);
  return mode === 'replace' && header.codes !== undefined ? rejectsToReplace() : header;
}

/** Returns the problem of a file of rejects with mode `replace`: a few corrected rows must not withdraw all other products. */
const rejectsToReplace = () =>
  invalidShape([
    {
      type: 'rejects_file',
      loc: ['body', 'mode'],
      msg: "Input should be 'upsert' for a file of skipped rows (_line, _codes)",
      input: 'replace',
    },
  ]);

/** Collects bytes. Many small chunks become one buffer: each alone would retain its receive buffer. */
class KeptBytes {
  length = 0;
  private buffer: Buffer = Buffer.alloc(0);

  /** Keeps a single chunk without a copy. */
  add(chunk: Buffer): void {
    const length = this.length + chunk.length;
    if (this.length === 0) this.buffer = chunk;
    else {
      if (length > this.buffer.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.buffer.length));
        this.buffer.copy(larger, 0, 0, this.length);
        this.buffer = larger;
      }
      chunk.copy(this.buffer, this.length);
    }
    this.length = length;
  }

  /** Returns the bytes, and clears them. */
  take(): Buffer {
    const bytes = this.buffer.subarray(0, this.length);
    this.buffer = Buffer.alloc(0);
    this.length = 0;
    return bytes;
  }
}

import { trimText } from '../../feed-format/text';
import { isGzip, isGzipName, MalformedGzip, unpack } from '../../feed-format/read/unpack';
import { fileTooLarge } from '../../base/errors';
import type { IncomingFile } from './receive-feed';

/**
 * The longest header row, the byte after it (which shows that it ends), and up to three bytes of an incomplete character.
 */
const inspectBytes = 256 * 1024 + 4;

/** The beginning of a file to inspect, unpacked if name and magic say gzip. */
export interface FileBeginning {
  bytes: Buffer;
  /** Whether `bytes` is the whole file. */
  complete: boolean;
  /** Whether the whole file is white space. */
  isBlank: boolean;
  /** `packed`: `bytes` was unpacked; `broken`: it was unpacked up to the fault. `misnamed`: name and magic disagree. */
  gzip: 'none' | 'packed' | 'broken' | 'misnamed';
}

/**
 * Reads a file to its end, and keeps its beginning.
 * @throws file_too_large, also for the unpacked bytes
 */
export async function readBeginning(
  { content, fileName }: Pick<IncomingFile, 'content' | 'fileName'>,
  fileBytesMax: number,
): Promise<FileBeginning> {
  const kept = new Beginning(fileBytesMax);
  let magic: Buffer = Buffer.alloc(0);
  let packedBytes = 0;
  async function* measured(): AsyncGenerator<Buffer, undefined> {
    for await (const chunk of content) {
      packedBytes += chunk.length;
      if (packedBytes > fileBytesMax) throw fileTooLarge(fileBytesMax);
      if (magic.length < 2) magic = Buffer.concat([magic, chunk.subarray(0, 2)]);
      yield chunk;
    }
  }
  const source = measured();
  const isNamed = isGzipName(fileName);
  let isBroken = false;
  try {
    for await (const chunk of isNamed ? unpack(source) : source) kept.take(chunk);
  } catch (error) {
    if (!(error instanceof MalformedGzip)) throw error;
    isBroken = true;
    for await (const _ of source);
  } finally {
    // Not awaited: the unpacker may be waiting for a chunk that the client has not sent.
    source.return(undefined).catch(() => undefined);
  }
  const isPacked = isGzip(magic);
  const gzip = isNamed !== isPacked ? 'misnamed' : isBroken ? 'broken' : isPacked ? 'packed' : 'none';
  return { ...kept.end(), complete: kept.isComplete && !isBroken, gzip };
}

/** Keeps the first `inspectBytes` bytes. */
class Beginning {
  private readonly text = new TextDecoder();
  private readonly chunks: Buffer[] = [];
  private isBlank = true;
  private kept = 0;
  private taken = 0;

  constructor(private readonly bytesMax: number) {}

  get isComplete(): boolean {
    return this.taken === this.kept;
  }

  /** @throws file_too_large */
  take(chunk: Buffer): void {
    this.taken += chunk.length;
    if (this.taken > this.bytesMax) throw fileTooLarge(this.bytesMax);
    if (this.kept < inspectBytes) this.chunks.push(chunk.subarray(0, inspectBytes - this.kept));
    this.kept = Math.min(this.taken, inspectBytes);
    this.isBlank &&= trimText(this.text.decode(chunk, { stream: true })) === '';
  }

  end(): Pick<FileBeginning, 'bytes' | 'isBlank'> {
    return { bytes: Buffer.concat(this.chunks), isBlank: this.isBlank };
  }
}

import { open, type FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { UsageFailure } from './failures';
import { printable } from './printable';

export interface FeedFile {
  name: string;
  /** In bytes; undefined for standard input. */
  size: number | undefined;
  /** Reads it from its start; undefined if it cannot be read again. The iterator reuses its buffer, and throws UsageFailure. */
  read(): AsyncIterable<Buffer> | undefined;
  /** Its first bytes, `beginningBytes` at most; for standard input, the bytes read so far. */
  beginning(): Promise<Buffer>;
  close(): Promise<void>;
}

/** Size of the inspected beginning of a refused file. */
const beginningBytes = 256 * 1024;

const pieceBytes = 256 * 1024;

/** Opens a regular file, or standard input for `-`. @throws UsageFailure */
export async function openInputFile(path: string): Promise<FeedFile> {
  if (path === '-') return standardInput(process.stdin);
  const handle = await open(path).catch((error: unknown) => {
    throw cannotRead(path, error);
  });
  const stat = await handle.stat();
  if (!stat.isFile()) {
    await handle.close();
    throw new UsageFailure(`${printable(path)} is not a regular file. Use - to read from standard input.`);
  }
  return {
    name: basename(path),
    size: stat.size,
    read: () => readWhole(handle, path, stat.size),
    async beginning() {
      const length = Math.min(beginningBytes, stat.size);
      const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(length), position: 0 });
      return buffer.subarray(0, bytesRead);
    },
    close: () => handle.close(),
  };
}

/** Reads exactly `size` bytes into one reused buffer: garbage collection is late on a busy machine. */
async function* readWhole(handle: FileHandle, path: string, size: number): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(Math.min(pieceBytes, size));
  let at = 0;
  try {
    while (at < size) {
      const length = Math.min(buffer.length, size - at);
      const { bytesRead } = await handle.read({ buffer, length, position: at });
      if (bytesRead === 0) throw new Error('it was truncated meanwhile');
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } catch (error) {
    throw cannotRead(path, error);
  }
}

/** The failure to read a file. */
export const cannotRead = (path: string, error: unknown) =>
  new UsageFailure(`${printable(path)} cannot be read: ${printable((error as Error).message)}.`);

export const memoryFile = (name: string, bytes: Buffer): FeedFile => ({
  name,
  size: bytes.length,
  read: () => Readable.from([bytes]),
  beginning: () => Promise.resolve(bytes.subarray(0, beginningBytes)),
  close: () => Promise.resolve(),
});

function standardInput(input: Readable): FeedFile {
  let isUsed = false;
  let beginning = Buffer.alloc(0);
  return {
    name: 'stdin.csv',
    size: undefined,
    read() {
      if (isUsed) return undefined;
      return (async function* () {
        isUsed = true;
        for await (const piece of input as AsyncIterable<Buffer>) {
          const rest = piece.subarray(0, beginningBytes - beginning.length);
          if (rest.length > 0) beginning = Buffer.concat([beginning, rest]);
          yield piece;
        }
      })();
    },
    beginning: () => Promise.resolve(beginning),
    close: () => Promise.resolve(void input.destroy()),
  };
}

import { open, unlink, type FileHandle } from 'node:fs/promises';
import { UsageFailure } from './failures';
import { printable } from './printable';

/** Size of a write: rows are small. */
const blockBytes = 64 * 1024;

/** Writes a new file, and removes it on failure. @throws UsageFailure if it exists or cannot be written */
export async function writeNew(path: string, pieces: AsyncIterable<Buffer>): Promise<void> {
  const file = await open(path, 'wx').catch((error: unknown) => {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST';
    const reason = isThere ? 'it exists already' : printable((error as Error).message);
    throw new UsageFailure(`${printable(path)} cannot be written: ${reason}.`);
  });
  try {
    await writeAll(file, pieces);
    await file.close();
  } catch (error) {
    await file.close();
    await unlink(path);
    throw error;
  }
}

async function writeAll(file: FileHandle, pieces: AsyncIterable<Buffer>): Promise<void> {
  let block: Buffer[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    block.push(piece);
    bytes += piece.length;
    if (bytes < blockBytes) continue;
    await file.writeFile(Buffer.concat(block));
    block = [];
    bytes = 0;
  }
  await file.writeFile(Buffer.concat(block));
}

import { createHash, randomBytes } from 'node:crypto';

export const mebibyte = 1024 * 1024;

/** SHA-256 of a stream's bytes, or of a buffer's. */
export async function sha256(bytes: AsyncIterable<Buffer> | Buffer): Promise<string> {
  const hash = createHash('sha256');
  if (Buffer.isBuffer(bytes)) hash.update(bytes);
  else for await (const chunk of bytes) hash.update(chunk);
  return hash.digest('hex');
}

/** The bytes in chunks such as a socket would deliver; then, if there is one, the error. */
export async function* inChunks(bytes: Buffer, error?: Error): AsyncGenerator<Buffer> {
  const size = 64 * 1024;
  for (let at = 0; at < bytes.length; at += size) {
    // As a socket does: each chunk in a turn of its own.
    await new Promise((resolve) => setImmediate(resolve));
    yield bytes.subarray(at, at + size);
  }
  if (error) throw error;
}

/** Bytes that no other call makes. */
export function randomContent(bytes: number): Buffer {
  return randomBytes(bytes);
}

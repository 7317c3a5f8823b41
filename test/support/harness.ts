import { resolve, join } from 'node:path';
import { accessSync, chmodSync, constants, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { createHash, randomBytes } from 'node:crypto';

export const project = resolve(__dirname, '../..');
type Closer = () => Promise<void> | void;
const closers: Closer[] = [];

/** Registers clean-up of opened resources: after the file's last test, last opened first. */
export function afterFile(close: Closer): void {
  closers.push(close);
}

/** Closes everything, even after failures; fails then. */
export async function closeAll(): Promise<void> {
  const failures: unknown[] = [];
  for (let close = closers.pop(); close; close = closers.pop()) {
    try {
      await close();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

const memory = '/dev/shm';
const roomNeeded = 8 * 1024 ** 3;

/** Folder of test files: in memory if there is room, because a database for each file means many small files. */
const temporaryRoot = hasRoom(memory) ? memory : tmpdir();

function hasRoom(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    const { bavail, bsize } = statfsSync(folder);
    return Math.min(bavail * bsize, freemem()) > roomNeeded;
  } catch {
    return false;
  }
}

/** Creates a folder that other users, such as PostgreSQL's, may enter. The caller removes it. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(temporaryRoot, `catalog-test-${process.pid}-`));
  chmodSync(folder, 0o755);
  return folder;
}

/** Removes the folders of killed runs: in memory they would stay until the machine restarts. */
export function removeLeftFolders(): void {
  for (const name of readdirSync(temporaryRoot)) {
    const [, pid] = /^catalog-test-(\d+)-/.exec(name) ?? [];
    if (pid && !isRunning(Number(pid))) rmSync(join(temporaryRoot, name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** A folder that is removed after the file. */
export function createTestFolder(): string {
  const folder = makeFolder();
  afterFile(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * Polls until `look` returns something other than false without a failed expectation. Other errors are thrown at once.
 * @returns its first other result
 * @throws the failed expectation, or an error with `what`, after `seconds`
 */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | false> | T | false,
  seconds = 60,
): Promise<T> {
  const begun = performance.now();
  for (const deadline = begun + seconds * 1000; ;) {
    let failure: unknown = new Error(`Still not so after ${seconds} s: ${what}.`);
    try {
      const answer = await look();
      if (answer !== false) return answer;
    } catch (error) {
      if (!isFailedExpectation(error)) throw error;
      failure = error;
    }
    if (performance.now() > deadline) throw failure;
    // A tenth of the time waited so far: long waits leave the processor to the awaited work.
    await pause(Math.min(Math.max((performance.now() - begun) / 10, 5), 100));
  }
}

function isFailedExpectation(error: unknown): boolean {
  return error instanceof Error && 'matcherResult' in error;
}

export const mebibyte = 1024 * 1024;

/** SHA-256 of a stream's bytes, or of a buffer's. */
export async function sha256(bytes: AsyncIterable<Buffer> | Buffer): Promise<string> {
  const hash = createHash('sha256');
  if (Buffer.isBuffer(bytes)) hash.update(bytes);
  else for await (const chunk of bytes) hash.update(chunk);
  return hash.digest('hex');
}

/** Streams bytes in chunks like a socket; then throws the error, if there is one. */
export async function* inChunks(bytes: Buffer, error?: Error): AsyncGenerator<Buffer> {
  const size = 64 * 1024;
  for (let at = 0; at < bytes.length; at += size) {
    // As a socket does: each chunk in a separate turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    yield bytes.subarray(at, at + size);
  }
  if (error) throw error;
}

/** Returns bytes that no other call returns. */
export function randomContent(bytes: number): Buffer {
  return randomBytes(bytes);
}

import { randomUUID } from 'node:crypto';
import { constants, createWriteStream } from 'node:fs';
import { access, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ConfigError, limits } from '../config';
import { StorageError, watchErrors, type ByteRange, type ObjectStore } from './object-store';

/** Objects as files below `<dataDir>/objects`. A file is written aside, synced, and renamed when it is complete. */
export class FileStore implements ObjectStore {
  readonly bucket = 'local';
  private readonly root: string;
  private readonly unfinished: string;

  constructor(dataDir: string) {
    this.root = join(dataDir, 'objects', this.bucket);
    this.unfinished = join(dataDir, 'objects', 'unfinished');
  }

  async prepare(): Promise<void> {
    try {
      await mkdir(this.root, { recursive: true, mode: 0o700 });
      await mkdir(this.unfinished, { recursive: true, mode: 0o700 });
      await access(this.root, constants.R_OK | constants.W_OK);
      await this.removeAbandoned();
    } catch (error) {
      throw new ConfigError(
        `Wrong setting DATA_DIR: raw files cannot be kept there (${(error as Error).message}).`,
        {
          cause: error,
        },
      );
    }
  }

  async put(key: string, body: AsyncIterable<Buffer>): Promise<void> {
    const unfinished = join(this.unfinished, randomUUID());
    let bodyError: unknown;
    try {
      const source = watchErrors(body, (error) => (bodyError = error));
      await pipeline(source, createWriteStream(unfinished, { flush: true, mode: 0o600 }));
      await place(unfinished, join(this.root, key));
    } catch (error) {
      // Where even this fails, the error that came first says why.
      await rm(unfinished, { force: true }).catch(() => undefined);
      throw bodyError ?? failed(`store ${key}`, error);
    }
  }

  async move(fromKey: string, toKey: string): Promise<void> {
    await guard(`move ${fromKey}`, () => place(join(this.root, fromKey), join(this.root, toKey)));
  }

  async get(key: string, range?: ByteRange): Promise<Readable> {
    const file = await guard(`read ${key}`, () => open(join(this.root, key)));
    return file.createReadStream({ ...range, highWaterMark: limits.objectReadBytes });
  }

  async delete(key: string): Promise<void> {
    await guard(`delete ${key}`, () => rm(join(this.root, key), { force: true }));
  }

  close(): void {}

  /** What a killed process was writing belongs to nobody; what another process writes now is younger. */
  private async removeAbandoned(): Promise<void> {
    const oldest = Date.now() - limits.abandonedUploadMilliseconds;
    for (const name of await readdir(this.unfinished)) {
      const file = join(this.unfinished, name);
      const found = await stat(file).catch(() => undefined);
      if (found && found.mtimeMs < oldest) await rm(file, { force: true });
    }
  }
}

/** Renames a complete file to its place, durably. */
async function place(from: string, to: string): Promise<void> {
  const folder = dirname(to);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await rename(from, to);
  const handle = await open(folder);
  await handle.sync().finally(() => handle.close());
}

async function guard<T>(action: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw failed(action, error);
  }
}

function failed(action: string, error: unknown): StorageError {
  const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
  return new StorageError(`The local object store could not ${action}.`, missing, error);
}

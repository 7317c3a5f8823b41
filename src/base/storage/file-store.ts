import { randomUUID } from 'node:crypto';
import { constants, createWriteStream } from 'node:fs';
import { access, mkdir, open, opendir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ConfigError } from '../settings';
import {
  StorageError,
  storeErrors,
  watchErrors,
  type ByteRange,
  type ListedObject,
  type ObjectStore,
  type UnfinishedPut,
} from './object-store';

/** Read buffer of a raw file. */
const objectReadBytes = 256 * 1024;

/** Age without a write after which an unfinished file counts as left by a killed process. */
const abandonedUploadMilliseconds = 24 * 3600 * 1000;

const isMissing = (error: unknown) => (error as NodeJS.ErrnoException).code === 'ENOENT';
const { guard, failed } = storeErrors('local', isMissing);

/** Stores objects as files below `<dataDir>/objects`. A file is written elsewhere, synced, and renamed when complete. */
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
        `Wrong setting DATA_DIR: cannot store raw files there (${(error as Error).message}).`,
        {
          cause: error,
        },
      );
    }
  }

  async check(): Promise<void> {
    const usable = constants.R_OK | constants.W_OK | constants.X_OK;
    await guard('use its folders', () =>
      Promise.all([access(this.root, usable), access(this.unfinished, usable)]),
    );
  }

  async put(key: string, body: AsyncIterable<Buffer>): Promise<void> {
    const unfinished = join(this.unfinished, randomUUID());
    const file = createWriteStream(unfinished, { flush: true, mode: 0o600 });
    const closed = new Promise<void>((resolve) => file.once('close', resolve));
    let bodyError: unknown;
    try {
      await pipeline(
        watchErrors(body, (error) => (bodyError = error)),
        file,
      );
      await place(unfinished, join(this.root, key));
    } catch (error) {
      // A body that fails at once fails before the file is opened, and so exists.
      await closed;
      // The first error is the cause.
      await rm(unfinished, { force: true }).catch(() => undefined);
      throw bodyError ?? failed(`store ${key}`, error);
    }
  }

  async move(fromKey: string, toKey: string): Promise<void> {
    await guard(`move ${fromKey}`, () => place(join(this.root, fromKey), join(this.root, toKey)));
  }

  async get(key: string, range?: ByteRange): Promise<Readable> {
    const file = await guard(`read ${key}`, () => open(join(this.root, key)));
    return file.createReadStream({ ...range, highWaterMark: objectReadBytes });
  }

  async delete(key: string): Promise<void> {
    await guard(`delete ${key}`, () => rm(join(this.root, key), { force: true }));
  }

  async *list(prefix: string): AsyncGenerator<ListedObject> {
    // The prefix may end within a file name.
    const folder = join(this.root, prefix.slice(0, prefix.lastIndexOf('/') + 1));
    for await (const { path, ...file } of filesBelow(folder)) {
      const key = relative(this.root, path);
      if (key.startsWith(prefix)) yield { key, ...file };
    }
  }

  async *listUnfinished(): AsyncGenerator<UnfinishedPut> {
    for await (const { path, modifiedAt } of filesBelow(this.unfinished)) {
      yield {
        name: path,
        modifiedAt,
        remove: () => guard(`remove ${path}`, () => rm(path, { force: true })),
      };
    }
  }

  close(): void {}

  /** Removes unfinished files of killed processes; files of running processes are younger. */
  private async removeAbandoned(): Promise<void> {
    const oldest = Date.now() - abandonedUploadMilliseconds;
    for await (const { modifiedAt, remove } of this.listUnfinished()) {
      if (modifiedAt.getTime() < oldest) await remove();
    }
  }
}

/** Lists the files below a folder, if it exists. Files deleted meanwhile are left out. */
async function* filesBelow(
  folder: string,
): AsyncGenerator<{ path: string; bytes: number; modifiedAt: Date }> {
  try {
    // Not with `recursive`: Node 20 then omits the files of later folders.
    for await (const entry of await opendir(folder)) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) yield* filesBelow(path);
      const found = entry.isFile() && (await stat(path).catch(() => undefined));
      if (found) yield { path, bytes: found.size, modifiedAt: found.mtime };
    }
  } catch (error) {
    if (error instanceof StorageError) throw error;
    if (!isMissing(error)) throw failed('list its objects', error);
  }
}

/** Renames a complete file durably. */
async function place(from: string, to: string): Promise<void> {
  const folder = dirname(to);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await rename(from, to);
  const handle = await open(folder);
  await handle.sync().finally(() => handle.close());
}

import { createReadStream, createWriteStream, type Dirent } from 'node:fs';
import { lchown, mkdir, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

/** Read buffer of a copy. */
const copyBytes = 1024 * 1024;

/**
 * Copies the files below a folder with their modes, each synced to disk. Omits links, sockets, and files that are removed meanwhile.
 * @param to - the new folder; created with its parents, for this account only
 * @param isCopied - false: omits a file, or a folder with its content. `path` is relative to the folder
 * @throws the signal's reason
 */
export async function copyFolder(
  from: string,
  to: string,
  isCopied: (path: string, entry: Dirent) => boolean = () => true,
  signal?: AbortSignal,
): Promise<void> {
  await copyBelow('');

  async function copyBelow(folder: string): Promise<void> {
    await mkdir(join(to, folder), { recursive: true, mode: 0o700 });
    for (const entry of await entriesOf(join(from, folder))) {
      const path = join(folder, entry.name);
      if (!isCopied(path, entry)) continue;
      if (entry.isDirectory()) await copyBelow(path);
      if (entry.isFile()) await copyFile(join(from, path), join(to, path), signal);
      signal?.throwIfAborted();
    }
    await syncFolder(join(to, folder));
  }
}

/** Gives a folder and everything below it to the owner of `of`; only as root, because no other account may. */
export async function giveToOwner(folder: string, of: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await stat(of);
  const paths = (await readdir(folder, { recursive: true })).map((path) => join(folder, path));
  for (const path of [folder, ...paths]) await lchown(path, uid, gid);
}

/** Makes the names in a folder durable. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  await handle.sync().finally(() => handle.close());
}

/** Copies a file to its end, which may move: `fs.copyFile` may never return if a file becomes shorter meanwhile. */
async function copyFile(from: string, to: string, signal?: AbortSignal): Promise<void> {
  const found = await unlessMissing(stat(from));
  if (!found) return;
  const target = createWriteStream(to, { flush: true, mode: found.mode & 0o777 });
  await unlessMissing(pipeline(createReadStream(from, { highWaterMark: copyBytes }), target, { signal }));
}

/** Number and size of the files of a folder. */
export interface FileCount {
  files: number;
  bytes: number;
}

/** Counts the files below a folder and their bytes. */
export async function countFiles(folder: string): Promise<FileCount> {
  const total: FileCount = { files: 0, bytes: 0 };
  for (const entry of await entriesOf(folder)) {
    const path = join(folder, entry.name);
    const found = entry.isDirectory() ? await countFiles(path) : { files: 1, bytes: (await stat(path)).size };
    total.files += found.files;
    total.bytes += found.bytes;
  }
  return total;
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  return (await unlessMissing(readdir(folder, { withFileTypes: true }))) ?? [];
}

async function unlessMissing<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

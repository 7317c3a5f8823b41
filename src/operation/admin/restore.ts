import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, realpath, rename, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config';
import { openDatabase, type DatabaseAddress } from '../../base/db/database';
import { discardCluster, restoreCluster } from '../../base/embedded-postgres/restore';
import {
  copyFolder,
  countFiles,
  giveToOwner,
  syncFolder,
  type FileCount,
} from '../../base/embedded-postgres/copy-folder';
import { ConfigError } from '../../base/settings';
import { openObjectStore } from '../../base/storage/open-store';
import { continueNumbers, highestStoredFeed, numbersMargin } from '../database/continue-numbers';
import { closePool } from '../process/database';
import { unfinishedRestore } from '../process/data-dir';
import { adoptBucket, renewIdentity } from '../retention/bucket-owner';
import { interrupted, unlessInterrupted } from './interrupt';
import { printLine } from './output';

/** Written last: a folder without it is no complete backup. */
export const manifestFile = 'backup.json';

/** The folders of a data folder. */
export const parts = { cluster: 'postgres', objects: 'objects' } as const;

/** Content of `manifestFile`; the counts do not include the file itself. */
export interface BackupManifest extends FileCount {
  created_at: string;
  /** The version of the server. */
  postgresql: string;
}

/**
 * Restores a backup into DATA_DIR, which is new, or empty like a mounted volume. Writes only into that folder: first below
 * `unfinishedRestore`, with which no service starts. As root, gives all to the owner of DATA_DIR, or of the backup if it is new.
 * @throws ConfigError; Error when the backup is incomplete, or DATA_DIR is not empty
 */
export async function restoreDataFolder(from: string, config: Config): Promise<void> {
  if (config.databaseUrl) {
    throw new ConfigError(
      'DATABASE_URL is set: this command restores the embedded PostgreSQL only. See docs/how-to/back-up-and-restore.md.',
    );
  }
  const manifest = await readManifest(from);
  const isNew = await requireEmpty(config.dataDir);
  const dataDir = await createFolder(config.dataDir);
  const unfinished = join(dataDir, unfinishedRestore);
  await mkdir(unfinished, { mode: 0o755 });
  if (isNew) await giveToOwner(dataDir, from);
  try {
    await copyFolder(
      from,
      unfinished,
      (path) => path !== manifestFile && path !== parts.cluster,
      interrupted,
    );
    await giveToOwner(unfinished, dataDir);
    const finish = (address: DatabaseAddress) =>
      unlessInterrupted(() => separate(address, { ...config, dataDir: unfinished }));
    await restoreCluster(join(from, parts.cluster), unfinished, finish, interrupted);
  } catch (error) {
    await discardCluster(unfinished);
    await rm(unfinished, { recursive: true, force: true });
    // Not empty where an interrupted step has just written.
    if (isNew) await rmdir(dataDir).catch(() => undefined);
    throw error;
  }
  for (const name of await readdir(unfinished)) await rename(join(unfinished, name), join(dataDir, name));
  await syncFolder(dataDir);
  await rmdir(unfinished);
  await syncFolder(dataDir);
  printLine(`Restored to ${dataDir}: the backup of ${manifest.created_at}.`);
}

/** Reads the manifest, and checks that the backup has all of its files. */
async function readManifest(from: string): Promise<BackupManifest> {
  const file = join(from, manifestFile);
  if (!existsSync(file)) {
    throw new Error(`FROM is not a complete backup: there is no ${file}. Restore another one.`);
  }
  const text = await readFile(file, 'utf8');
  const manifest = JSON.parse(text) as BackupManifest;
  const found = await countFiles(from);
  const bytes = found.bytes - Buffer.byteLength(text);
  if (found.files - 1 === manifest.files && bytes === manifest.bytes) return manifest;
  throw new Error(
    `FROM is damaged: it has ${found.files - 1} files with ${bytes} bytes instead of ${manifest.files} with ${manifest.bytes}. ` +
      'Restore another one.',
  );
}

/**
 * Continues all numbers far after those of the backup: later ones may be known to partners, and name files of the bucket. Makes the
 * database another one than the original, and the restored raw files its own. A bucket of S3 stays the original's.
 */
async function separate(address: DatabaseAddress, config: Config): Promise<void> {
  const objectStore = await openObjectStore(config);
  const db = openDatabase(address, { applicationName: 'restore', connectionsMax: 1 });
  try {
    await objectStore.prepare();
    await continueNumbers(db, await highestStoredFeed(objectStore), numbersMargin);
    // A backup of an earlier release gets its identity by the migration at the next start.
    if (!(await renewIdentity(db)) || config.s3) return;
    await adoptBucket(db, objectStore);
    await giveToOwner(join(config.dataDir, parts.objects), config.dataDir);
  } finally {
    objectStore.close();
    await closePool(db);
  }
}

/** Tells whether a name is of the folder that file systems have at their root, for repairs. */
export const isOfFileSystem = (name: string) => name === 'lost+found';

/** @returns whether the folder is missing. @throws Error unless it is missing or empty */
async function requireEmpty(dataDir: string): Promise<boolean> {
  if (!existsSync(dataDir)) return true;
  const names = (await readdir(dataDir)).filter((name) => !isOfFileSystem(name));
  if (names.includes(unfinishedRestore)) {
    throw new Error(`Another restore writes into ${dataDir}, or was interrupted: then empty the folder.`);
  }
  if (names.length === 0) return false;
  throw new Error(`DATA_DIR is not empty: ${dataDir}. Set it to a new folder, or move that one away first.`);
}

/** Creates a folder unless it exists. @returns its path, with links resolved */
async function createFolder(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o755 });
  return realpath(folder);
}

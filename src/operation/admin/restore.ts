import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, realpath, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Config } from '../../config';
import { discardCluster, restoreCluster } from '../../base/embedded-postgres/restore';
import { copyFolder, countFiles, syncFolder, type FileCount } from '../../base/embedded-postgres/copy-folder';
import { ConfigError } from '../../base/settings';
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
 * Restores a backup into DATA_DIR, which appears only when it is complete; until then, it is `<DATA_DIR>.restoring`.
 * @throws ConfigError; Error when the backup is incomplete, or DATA_DIR is not empty
 */
export async function restoreDataFolder(from: string, config: Config): Promise<void> {
  if (config.databaseUrl) {
    throw new ConfigError(
      'DATABASE_URL is set: this command restores the embedded PostgreSQL only. See docs/how-to/manage-data.md.',
    );
  }
  const manifest = await readManifest(from);
  const dataDir = await requireEmpty(config.dataDir);
  const unfinished = `${dataDir}.restoring`;
  await createFolder(unfinished);
  try {
    await copyFolder(from, unfinished, (path) => path !== manifestFile && path !== parts.cluster);
    await restoreCluster(join(from, parts.cluster), unfinished);
    await rename(unfinished, dataDir);
    await syncFolder(dirname(dataDir));
  } catch (error) {
    await discardCluster(unfinished);
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
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

/** Requires an empty or missing folder. @returns its path, with links resolved */
async function requireEmpty(dataDir: string): Promise<string> {
  if (!existsSync(dataDir)) return dataDir;
  if ((await readdir(dataDir)).length === 0) return realpath(dataDir);
  throw new Error(`DATA_DIR is not empty: ${dataDir}. Set it to a new folder, or move that one away first.`);
}

async function createFolder(unfinished: string): Promise<void> {
  await mkdir(dirname(unfinished), { recursive: true });
  if (existsSync(unfinished)) {
    throw new Error(`Another restore writes ${unfinished}, or was interrupted: then delete it.`);
  }
  await mkdir(unfinished, { mode: 0o755 });
}

import { existsSync } from 'node:fs';
import { mkdir, readdir, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { loadConfig, type Config } from '../../config';
import { openDatabase, queryRows, type DatabaseAddress } from '../../base/db/database';
import { sql } from '../../base/db/sql';
import { backUpCluster } from '../../base/embedded-postgres/base-backup';
import { reachDatabase } from '../process/reach-database';
import { holdLease } from '../retention/lease';
import { copyFolder, countFiles, giveToOwner, syncFolder } from '../../base/embedded-postgres/copy-folder';
import { ConfigError } from '../../base/settings';
import { interrupted } from './interrupt';
import { printLine } from './output';
import { isOfFileSystem, manifestFile, parts, restoreDataFolder, type BackupManifest } from './restore';

/** Adds the commands for the data folder of a service with the embedded PostgreSQL. */
export function addBackup(program: Command): void {
  program
    .command('backup')
    .description('copy the data folder: database, raw files and key; the service can run meanwhile')
    .argument('<TO>', 'a new folder')
    .action((to: string) => backUpDataFolder(resolve(to), loadConfig(process.env)));
  program
    .command('restore')
    .description('restore a backup into DATA_DIR, which must be empty or new')
    .argument('<FROM>', 'the folder of the backup')
    .action((from: string) => restoreDataFolder(resolve(from), loadConfig(process.env)));
}

/**
 * Copies the data folder. `to` exists only when the backup is complete; until then, it is `<to>.unfinished`.
 * @throws ConfigError; PruneInProgress; Error when `to` is in use
 */
async function backUpDataFolder(to: string, config: Config): Promise<void> {
  if (config.databaseUrl) {
    throw new ConfigError(
      'DATABASE_URL is set: this command copies the embedded PostgreSQL only. See docs/how-to/back-up-and-restore.md.',
    );
  }
  await requireNewFolder(to, config.dataDir);
  await requireNoLinks(config.dataDir);
  const { address, release } = await reachDatabase(config, interrupted);
  const unfinished = await createUnfinished(to);
  try {
    const manifest = await copyData(address, config, unfinished);
    await writeFile(join(unfinished, manifestFile), `${JSON.stringify(manifest, null, 2)}\n`, {
      mode: 0o600,
      flush: true,
    });
    await giveToOwner(unfinished, config.dataDir);
    await syncFolder(unfinished);
    await rename(unfinished, to);
    await syncFolder(dirname(to));
    printLine(`Backup complete: ${to} (${manifest.files} files, ${manifest.bytes} bytes).`);
    if (config.s3) printLine('Raw files are in the bucket, and not part of it.');
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  } finally {
    await release();
  }
}

async function requireNewFolder(to: string, dataDir: string): Promise<void> {
  const isWithin = (folder: string, other: string) => !relative(other, folder).startsWith('..');
  if (isWithin(to, dataDir) || isWithin(dataDir, to)) {
    throw new Error(`TO must be outside of DATA_DIR: ${to}.`);
  }
  if (existsSync(to) && (await readdir(to)).length > 0) throw new Error(`TO is not empty: ${to}.`);
}

/** Requires that no data are behind a link, except the database: a copy would lack them. */
async function requireNoLinks(dataDir: string): Promise<void> {
  const entries = await readdir(dataDir, { withFileTypes: true }).catch(() => []);
  const link = entries.find((entry) => entry.isSymbolicLink() && entry.name !== parts.cluster);
  if (!link) return;
  throw new Error(
    `${join(dataDir, link.name)} is a link, which is not copied: mount the other folder there instead, or copy it by other means.`,
  );
}

async function createUnfinished(to: string): Promise<string> {
  const unfinished = `${to}.unfinished`;
  await mkdir(dirname(to), { recursive: true });
  if (existsSync(unfinished)) {
    throw new Error(`Another backup writes ${unfinished}, or was interrupted: then delete it.`);
  }
  await mkdir(unfinished, { mode: 0o700 });
  return unfinished;
}

/** Copies the database first: each of its feeds has its file in the copy, as none is deleted meanwhile. */
async function copyData(address: DatabaseAddress, config: Config, to: string): Promise<BackupManifest> {
  const db = openDatabase(address, { applicationName: 'backup', connectionsMax: 2 });
  try {
    const statement = sql`
      select current_setting('server_version') as version, to_regclass('retention') is not null as "isPruned"`;
    const [row] = await queryRows<{ version: string; isPruned: boolean }>(db, statement);
    const { version, isPruned } = row!;
    const copy = async () => {
      const cluster = await realpath(join(config.dataDir, parts.cluster));
      await backUpCluster(address, cluster, join(to, parts.cluster), interrupted);
      await copyFolder(config.dataDir, to, isOtherData, interrupted);
    };
    // A service of contract 1.2.0 has neither a lease nor a prune.
    await (isPruned ? holdLease(db, copy) : copy());
    return { created_at: new Date().toISOString(), postgresql: version, ...(await countFiles(to)) };
  } finally {
    await db.destroy();
  }
}

/** Returns whether a path is neither of the database, nor of the file system, nor only for a running process. */
function isOtherData(path: string): boolean {
  return (
    !/^(postgres\b|\.probe-)/.test(path) &&
    !isOfFileSystem(path) &&
    path !== join(parts.objects, 'unfinished')
  );
}

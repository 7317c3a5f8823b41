import { existsSync, mkdirSync, mkdtempSync, rmdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../../config';
import { ConfigError } from '../../base/settings';

/** The folder in a data folder where a restore writes; it disappears when all is in place. */
export const unfinishedRestore = '.restoring';

/** Returns the folder of the embedded database if it is outside of the data folder; see `createCluster`. */
export function clusterOutside(dataDir: string): string | undefined {
  const folder = realpathSync(join(dataDir, 'postgres'));
  return folder === join(realpathSync(dataDir), 'postgres') ? undefined : folder;
}

/** @throws ConfigError if a restore has not completed the folder */
export function refuseUnfinishedRestore(dataDir: string): void {
  if (!existsSync(join(dataDir, unfinishedRestore))) return;
  throw new ConfigError(
    `Wrong setting DATA_DIR: a restore into ${dataDir} is in progress, or was interrupted: then empty the folder, and restore again.`,
  );
}

/** Creates the data folder unless all data are elsewhere. @throws ConfigError if it cannot be created or written, or is incomplete */
export function ensureDataDir(config: Config): void {
  if (config.databaseUrl && config.s3) return;
  refuseUnfinishedRestore(config.dataDir);
  try {
    createFolder(config.dataDir);
    rmdirSync(mkdtempSync(join(config.dataDir, '.probe-')));
  } catch (error) {
    throw new ConfigError(
      `Wrong setting DATA_DIR: ${config.dataDir} cannot be used (${(error as Error).message}).`,
    );
  }
}

/** Creates a folder without the option `recursive`. With it, Node 20 never returns on file systems such as /proc. */
function createFolder(path: string): void {
  if (!existsSync(path)) {
    createFolder(dirname(path));
    mkdirSync(path, { mode: 0o755 });
  }
}

import { existsSync, mkdirSync, mkdtempSync, rmdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../../config';
import { ConfigError } from '../../base/settings';

/** Creates the data folder unless all data are elsewhere. @throws ConfigError if it cannot be created or written */
export function ensureDataDir(config: Config): void {
  if (config.databaseUrl && config.s3) return;
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

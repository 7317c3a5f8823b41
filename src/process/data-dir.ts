import { existsSync, mkdirSync, mkdtempSync, rmdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../config';
import { ConfigError } from '../shared/settings';

/**
 * Creates the data folder if it is missing and anything will be kept there.
 * @throws ConfigError when that is not possible, or nothing can be created in it.
 */
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

/** Not with the option `recursive`: Node 20 then never returns where a file system takes no folders, as /proc does. */
function createFolder(path: string): void {
  if (!existsSync(path)) {
    createFolder(dirname(path));
    mkdirSync(path, { mode: 0o755 });
  }
}

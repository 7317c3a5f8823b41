import { ensureDataDir } from './data-dir';
import { databaseAddress, prepareDatabase } from './database';
import type { StartContext } from './start';

/** Brings the schema up to date. @throws ConfigError when that cannot be done; the signal's reason when it is given up */
export async function migrate({ config, log, cleanups, signal }: StartContext): Promise<void> {
  // An embedded server needs a place for its data.
  if (!config.databaseUrl) ensureDataDir(config);
  const address = await databaseAddress(config, log, cleanups, signal);
  await prepareDatabase(address, { ...config, migratesOnStart: true }, log, signal);
  log.info('the schema is up to date');
}

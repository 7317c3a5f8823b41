import { parseArgs } from 'node:util';
import { openDatabase } from '../db/database';
import { partitionProducts, partitionsMax } from '../db/partitions/partition';
import { ConfigError } from '../shared/settings';
import { connectionsOfMigration } from './connections';
import { ensureDataDir } from './data-dir';
import { closePool, databaseAddress, prepareDatabase } from './database';
import { reachDatabase } from './reach-database';
import type { StartContext } from './start';

/**
 * Migrates the schema, then partitions the products if `--partition` says so.
 * @param args - the arguments of the command
 * @throws ConfigError; the signal's reason
 */
export async function migrate(args: readonly string[], context: StartContext): Promise<void> {
  const partitions = readPartitions(args);
  const { config, log, cleanups, signal } = context;
  if (!config.databaseUrl && partitions === undefined) ensureDataDir(config);
  const address =
    partitions === undefined
      ? await databaseAddress(config, log, cleanups, signal)
      : await reachRunningDatabase(context);
  await prepareDatabase(address, { ...config, migratesOnStart: true }, log, signal);
  log.info('schema is up to date');
  if (partitions === undefined) return;
  const db = openDatabase(address, {
    applicationName: 'partitioning',
    connectionsMax: connectionsOfMigration,
  });
  try {
    await partitionProducts(db, partitions, { log, signal });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(
      `The products were not partitioned (${(error as Error).message}). Repeat the command: it continues.`,
      { cause: error },
    );
  } finally {
    await closePool(db);
  }
}

/** Reaches the database of a service that runs, unlike a migration alone. */
async function reachRunningDatabase({ config, cleanups }: StartContext) {
  const { address, release } = await reachDatabase(config);
  cleanups.push({ what: 'PostgreSQL', dispose: release });
  return address;
}

/** @returns the number of partitions; undefined when the products stay as they are */
function readPartitions(args: readonly string[]): number | undefined {
  let text: string | undefined;
  try {
    const { values } = parseArgs({ args: [...args], options: { partition: { type: 'string' } } });
    text = values.partition;
  } catch (error) {
    throw new ConfigError(`Wrong arguments: ${(error as Error).message.split('. ')[0]}.`, { cause: error });
  }
  if (text === undefined) return undefined;
  const partitions = Number(text);
  if (/^\d+$/.test(text) && partitions !== 1 && partitions <= partitionsMax) return partitions;
  throw new ConfigError(
    `Wrong option --partition ${text}: it must be a number from 2 to ${partitionsMax}, or 0 for no partitions.`,
  );
}

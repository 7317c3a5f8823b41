import { parseArgs } from 'node:util';
import { openDatabase } from '../db/database';
import { distributeProducts, shardsDefault, shardsMax } from '../db/distribution/distribute';
import { partitionProducts, partitionsMax } from '../db/partitions/partition';
import { ConfigError } from '../shared/settings';
import { connectionsOfMigration } from './connections';
import { ensureDataDir } from './data-dir';
import { closePool, databaseAddress, prepareDatabase } from './database';
import { reachDatabase } from './reach-database';
import type { StartContext } from './start';

/**
 * Migrates the schema, then divides the products: into partitions if `--partition` says so, into shards of Citus if
 * `--distribute` does.
 * @param args - the arguments of the command
 * @throws ConfigError; the signal's reason
 */
export async function migrate(args: readonly string[], context: StartContext): Promise<void> {
  const { partitions, shards } = readDivision(args);
  const { config, log, cleanups, signal } = context;
  const dividesRunning = partitions !== undefined;
  if (!config.databaseUrl && !dividesRunning) ensureDataDir(config);
  const address = dividesRunning
    ? await reachRunningDatabase(context)
    : await databaseAddress(config, log, cleanups, signal);
  await prepareDatabase(address, { ...config, migratesOnStart: true }, log, signal);
  log.info('schema is up to date');
  if (partitions === undefined && shards === undefined) return;
  const db = openDatabase(address, {
    applicationName: partitions === undefined ? 'distribution' : 'partitioning',
    connectionsMax: connectionsOfMigration,
  });
  try {
    if (partitions !== undefined) await partitionProducts(db, partitions, { log, signal });
    else await distributeProducts(db, shards!, { log });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ConfigError) throw error;
    const { message } = error as Error;
    throw new ConfigError(
      partitions === undefined
        ? `The products were not distributed (${message}). Nothing has changed.`
        : `The products were not partitioned (${message}). Repeat the command: it continues.`,
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

interface Division {
  partitions?: number;
  shards?: number;
}

/** @returns the number of partitions or shards; neither when the products stay as they are */
function readDivision(args: readonly string[]): Division {
  let values: { partition?: string; distribute?: string };
  try {
    const options = { partition: { type: 'string' }, distribute: { type: 'string' } } as const;
    ({ values } = parseArgs({ args: withDefaultShards(args), options }));
  } catch (error) {
    throw new ConfigError(`Wrong arguments: ${(error as Error).message.split('. ')[0]}.`, { cause: error });
  }
  const { partition, distribute } = values;
  if (partition !== undefined && distribute !== undefined) {
    throw new ConfigError('Wrong arguments: --partition and --distribute exclude each other.');
  }
  if (partition !== undefined) {
    const partitions = Number(partition);
    if (/^\d+$/.test(partition) && partitions !== 1 && partitions <= partitionsMax) return { partitions };
    throw new ConfigError(
      `Wrong option --partition ${partition}: it must be a number from 2 to ${partitionsMax}, or 0 for no partitions.`,
    );
  }
  if (distribute === undefined) return {};
  const shards = Number(distribute);
  if (/^\d+$/.test(distribute) && shards <= shardsMax) return { shards };
  throw new ConfigError(
    `Wrong option --distribute ${distribute}: it must be a number of shards from 1 to ${shardsMax}, or 0 for a local table.`,
  );
}

/** `--distribute` may be the last argument, without a number. */
const withDefaultShards = (args: readonly string[]) =>
  args.at(-1) === '--distribute' ? [...args, String(shardsDefault)] : [...args];

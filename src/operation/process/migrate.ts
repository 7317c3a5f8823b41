import { parseArgs } from 'node:util';
import { openDatabase } from '../../base/db/database';
import { distributeProducts, shardsDefault, shardsMax } from '../database/distribution/distribute';
import { ConfigError } from '../../base/settings';
import { connectionsOfMigration } from './connections';
import { ensureDataDir } from './data-dir';
import { closePool, databaseAddress, prepareDatabase } from './database';
import type { StartContext } from './start';

/**
 * Migrates the schema, then distributes the products over shards of Citus with `--distribute`.
 * @param args - the arguments of the command
 * @throws ConfigError; the signal's reason
 */
export async function migrate(args: readonly string[], context: StartContext): Promise<void> {
  const shards = readShards(args);
  const { config, log, cleanups, signal } = context;
  if (!config.databaseUrl) ensureDataDir(config);
  const address = await databaseAddress(config, log, cleanups, signal);
  await prepareDatabase(address, { ...config, migratesOnStart: true }, log, signal);
  log.info('schema is up to date');
  if (shards === undefined) return;
  const db = openDatabase(address, {
    applicationName: 'distribution',
    connectionsMax: connectionsOfMigration,
  });
  try {
    await distributeProducts(db, shards, { log });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ConfigError) throw error;
    const { message } = error as Error;
    throw new ConfigError(`The products were not distributed (${message}). Nothing has changed.`, {
      cause: error,
    });
  } finally {
    await closePool(db);
  }
}

const partitionRemoved =
  'The option --partition has been removed: products that have partitions keep them, `npm run admin -- database copy` into a new ' +
  'database makes one table of them (docs/how-to/upgrade.md), and --distribute divides products over several machines.';

/** @returns the number of shards; undefined to keep the products as they are */
function readShards(args: readonly string[]): number | undefined {
  if (args.some((arg) => /^--partition(=|$)/.test(arg))) throw new ConfigError(partitionRemoved);
  let distribute: string | undefined;
  try {
    const options = { distribute: { type: 'string' } } as const;
    ({ distribute } = parseArgs({ args: withDefaultShards(args), options }).values);
  } catch (error) {
    throw new ConfigError(`Wrong arguments: ${(error as Error).message.split('. ')[0]}.`, { cause: error });
  }
  if (distribute === undefined) return undefined;
  const shards = Number(distribute);
  if (/^\d+$/.test(distribute) && shards <= shardsMax) return shards;
  throw new ConfigError(
    `Wrong option --distribute ${distribute}: it must be a number of shards from 1 to ${shardsMax}, or 0 for a local table.`,
  );
}

/** `--distribute` may be the last argument, without a number. */
const withDefaultShards = (args: readonly string[]) =>
  args.at(-1) === '--distribute' ? [...args, String(shardsDefault)] : [...args];

import type { Command } from 'commander';
import { Client } from 'pg';
import { loadConfig } from '../../config';
import { continueNumbers, highestStoredFeed, numbersMargin } from '../database/continue-numbers';
import { copyDatabase } from '../database/copy-database';
import { changeRows, clientConfig, type DatabaseAddress } from '../../base/db/database';
import { sql } from '../../base/db/sql';
import { formatId } from '../../base/ids';
import { openObjectStore } from '../../base/storage/open-store';
import { adoptCommand, renewIdentity } from '../retention/bucket-owner';
import { UsageError } from '../../base/command-line';
import { isPostgresUrl, readDatabaseUrl } from '../../base/database-url';
import { reachDatabase } from '../process/reach-database';
import { marginArgument } from './arguments';
import { withDatabase, type AdminContext } from './context';
import { interrupted, unlessInterrupted } from './interrupt';
import { printLine, printTable } from './output';

/** Adds the commands for whole databases. */
export function addDatabase(program: Command): void {
  const database = program
    .command('database')
    .description('copy a whole database, or prepare a restored one');
  database
    .command('copy')
    .description(
      'copy all data of another database, perhaps of another version of PostgreSQL, into the empty one of the settings',
    )
    .argument('<FROM>', 'address of the other database: postgresql://…')
    .action(copy);
  database
    .command('after-restore')
    .description(
      'prepare a database that was restored by other means than `restore`: moves all numbers on, so that none is assigned twice, ' +
        'makes it another database than the original, and collects statistics',
    )
    .option(
      '--margin <N>',
      'how many numbers of each kind may have been assigned since the backup',
      marginArgument,
      numbersMargin,
    )
    .action(({ margin }: { margin: number }) => withDatabase((context) => afterRestore(context, margin)));
}

async function afterRestore({ db, config }: AdminContext, margin: number): Promise<void> {
  const objectStore = await openObjectStore(config);
  const highestFeed = await highestStoredFeed(objectStore).finally(() => objectStore.close());
  const last = await continueNumbers(db, highestFeed, margin);
  await renewIdentity(db);
  await changeRows(db, sql`analyze`);
  printLine(`Numbers of feeds continue after ${formatId('FD', last)}.`);
  printLine(`The database has a new identity. It removes no file of a bucket until: ${adoptCommand}.`);
}

/** Copies a database into the configured one, which the caller must own as a superuser. */
async function copy(from: string): Promise<void> {
  const config = loadConfig(process.env);
  if (!isPostgresUrl(from))
    throw new UsageError(
      'Wrong argument FROM: it must be an address such as postgresql://user@host/database.',
    );
  const connectionString = readDatabaseUrl('Wrong argument FROM', from, process.env);
  const { address, release } = await reachDatabase(config, interrupted);
  try {
    // Migrates the target.
    await withDatabase(() => Promise.resolve(), config);
    const source = await unlessInterrupted(() => connect({ connectionString }));
    const target = await unlessInterrupted(() => connect(address)).catch(async (error: unknown) => {
      await source.end();
      throw error;
    });
    try {
      const copied = await unlessInterrupted(() => copyDatabase(source, target));
      await target.query('analyze');
      const rows = Object.entries(copied).map(([name, count]) => [name, String(count)]);
      printTable([['TABLE', 'ROWS'], ...rows]);
      printLine('All tables were copied. Raw files are not part of a database: copy them too.');
    } finally {
      await Promise.all([source.end(), target.end()]);
    }
  } finally {
    await release();
  }
}

async function connect(address: DatabaseAddress): Promise<Client> {
  const client = new Client(clientConfig(address, 'copy of a database'));
  // The statement in progress reports it.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

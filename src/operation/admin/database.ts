import type { Command } from 'commander';
import { Client } from 'pg';
import { loadConfig } from '../../config';
import { copyDatabase } from '../database/copy-database';
import { clientConfig, type DatabaseAddress } from '../../base/db/database';
import { reachDatabase } from '../process/reach-database';
import { withDatabase } from './context';
import { printLine, printTable } from './output';

/** Adds the commands for whole databases. */
export function addDatabase(program: Command): void {
  const database = program.command('database').description('copy a whole database');
  database
    .command('copy')
    .description(
      'copy all data of another database, perhaps of another version of PostgreSQL, into the empty one of the settings',
    )
    .argument('<FROM>', 'address of the other database: postgresql://…')
    .action(copy);
}

/** Copies a database into the configured one, which the caller must own as a superuser. */
async function copy(from: string): Promise<void> {
  const config = loadConfig(process.env);
  const { address, release } = await reachDatabase(config);
  try {
    // Migrates the target.
    await withDatabase(() => Promise.resolve(), config);
    const source = await connect({ connectionString: from });
    const target = await connect(address).catch(async (error: unknown) => {
      await source.end();
      throw error;
    });
    try {
      const copied = await copyDatabase(source, target);
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

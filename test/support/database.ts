import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { openDatabase, type Database, type DatabaseAddress } from '../../src/db/database';
import { afterFile } from './after-file';
import { shared, templateDatabase } from './shared';

/** A database of a test file's own: migrated, empty, and gone after the file. */
export interface TestDatabase {
  address: DatabaseAddress;
  db: Database;
}

/**
 * Creates a database. After the file it is dropped, which fails when a connection to it is still open: whoever opened it
 * has leaked it.
 */
export async function createTestDatabase(): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await administer(`create database ${name} template ${templateDatabase}`);
  const address = { ...shared().address, database: name };
  const db = openDatabase(address, { applicationName: 'test', connectionsMax: 10, preparesStatements: true });
  afterFile(async () => {
    await db.destroy();
    await dropWhenUnused(name);
  });
  return { address, db };
}

async function administer(sql: string): Promise<void> {
  const client = new Client(shared().address);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** A connection that was closed a moment ago may still be seen by the server; one that is still there then is a leak. */
async function dropWhenUnused(name: string): Promise<void> {
  // A pooler keeps its connections.
  if (shared().pooler) return administer(`drop database ${name} with (force)`);
  for (let attempt = 1; ; attempt++) {
    try {
      await administer(`drop database ${name}`);
      return;
    } catch (error) {
      if (attempt === 20) {
        await administer(`drop database ${name} with (force)`);
        throw new Error('A connection to the database of this test was leaked.', { cause: error });
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

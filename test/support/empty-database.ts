import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import type { DatabaseAddress } from '../../src/db/database';
import { afterFile } from './after-file';
import { serviceWay, shared } from './shared';

/** Creates a database without any tables, on the shared server. It is dropped after the file, whoever is connected. */
export async function createEmptyDatabase(encoding = 'UTF8'): Promise<DatabaseAddress> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await administer(`create database ${name} template template0 encoding '${encoding}' locale 'C'`);
  afterFile(() => administer(`drop database ${name} with (force)`));
  return { ...shared().address, database: name };
}

/** The address as the `DATABASE_URL` of a service; `as` is another account of the server, if need be. */
export function databaseUrl(address: DatabaseAddress, as = address.user): string {
  const { host, port, database } = serviceWay(address);
  return `postgresql://${as}@/${database}?host=${encodeURIComponent(host!)}&port=${port}`;
}

/** Has the shared server do what is no database's own business. */
export async function administer(sql: string): Promise<void> {
  const client = new Client(shared().address);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { type DatabaseAddress, openDatabase, type Database } from '../../src/base/db/database';
import { changeProductsInCopies } from './distributed-writes';
import { afterFile } from './harness';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';

/** Creates a database without any tables, on the shared server. It is dropped after the file, open connections included. */
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

/** The migrated, empty database that every test's own database is a copy of. */
export const templateDatabase = 'catalog_template';

/** What the global set-up hands to the test files. */
export interface Shared {
  /** A folder that is gone after the run. */
  folder: string;
  address: DatabaseAddress;
  /** Where services find the server behind a pooler; absent: they go to it directly. */
  pooler?: Pick<DatabaseAddress, 'host' | 'port'>;
  s3Endpoint: string;
  s3Bucket: string;
}

export function shared(): Shared {
  return JSON.parse(process.env.CATALOG_TEST_SHARED!) as Shared;
}

/** The way that a service takes to a database of the shared server: as the tests do, or through the pooler. */
export function serviceWay(address: DatabaseAddress): DatabaseAddress {
  const { address: server, pooler } = shared();
  return address.host === server.host ? { ...address, ...pooler } : address;
}

/** A database of a test file's own: migrated, empty, and gone after the file. */
export interface TestDatabase {
  address: DatabaseAddress;
  db: Database;
}

/**
 * Creates a database. After the file it is dropped, which fails while a connection to it is still open: its opener
 * has leaked it.
 */
export async function createTestDatabase(): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await administer(`create database ${name} template ${templateDatabase} strategy file_copy`);
  const address = { ...shared().address, database: name };
  const db = openDatabase(address, { applicationName: 'test', connectionsMax: 10, preparesStatements: true });
  if (process.env.TEST_SHARDS) changeProductsInCopies(db);
  afterFile(async () => {
    await db.destroy();
    await dropWhenUnused(name);
  });
  return { address, db };
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

/** Opens a socket to a server: in a folder, or by TCP (`CITUS_URL`). */
export const connectTo = ({ host, port }: DatabaseAddress): Socket =>
  host!.startsWith('/') ? connect(join(host!, `.s.PGSQL.${port}`)) : connect(port!, host);

/** A line to a database that can be cut: then nothing listens at its end. */
export interface DatabaseLine {
  /** A `DATABASE_URL`. */
  url: string;
  cut(): Promise<void>;
  /** Lets everything pass again. */
  mend(): Promise<void>;
  /** From now on a commit, also of an order, gets to the database, and nothing comes back any more over its connection. */
  loseAnswersOfCommits(): void;
}

/** What commits: the second one is a transaction. */
const commits = ['COMMIT', 'insert into orders'];

/** Opens a line to a database of the shared server. It is cut after the file. */
export async function openDatabaseLine(address: DatabaseAddress): Promise<DatabaseLine> {
  const { host, port, user, database } = serviceWay(address);
  const sockets = new Set<Socket>();
  let losesAnswers = false;
  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    return socket;
  };
  const server = createServer((near) => {
    const far = track(connectTo({ host, port }));
    track(near).on('data', (chunk: Buffer) => {
      if (losesAnswers && commits.some((text) => chunk.includes(text))) far.unpipe(near).resume();
    });
    near.pipe(far).pipe(near);
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  });
  const listen = (at: number) =>
    new Promise<void>((resolve, reject) => server.once('error', reject).listen(at, '127.0.0.1', resolve));
  await listen(0);
  const { port: near } = server.address() as AddressInfo;

  async function cut(): Promise<void> {
    for (const socket of sockets) socket.destroy();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  }
  afterFile(cut);
  return {
    url: `postgresql://${user}@127.0.0.1:${near}/${database}`,
    cut,
    mend: () => {
      losesAnswers = false;
      return listen(near);
    },
    loseAnswersOfCommits: () => (losesAnswers = true),
  };
}

/** Something that listens where a database is expected, and does not behave like one. */
export interface FakeDatabase {
  address: DatabaseAddress;
  /** Connections that are open now. */
  open: Set<Socket>;
  /** Connections that there were. */
  accepted(): number;
}

/** Starts it; `behave` is called with every connection. It is stopped after the file. */
export async function startFakeDatabase(behave: (connection: Socket) => void): Promise<FakeDatabase> {
  const open = new Set<Socket>();
  let accepted = 0;
  const server = createServer((connection) => {
    accepted++;
    open.add(connection);
    connection.on('close', () => open.delete(connection));
    connection.on('error', () => undefined);
    // Without a reader the end of the connection would go unnoticed.
    connection.resume();
    behave(connection);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterFile(async () => {
    for (const connection of open) connection.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return {
    address: { host: '127.0.0.1', port, user: 'nobody', database: 'none' },
    open,
    accepted: () => accepted,
  };
}

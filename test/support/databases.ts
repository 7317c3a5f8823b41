import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { type DatabaseAddress, openDatabase, type Database } from '../../src/base/db/database';
import { changeProductsInCopies } from './distributed-writes';
import { afterFile } from './harness';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';

/** Creates an empty database on the shared server. It is dropped after the file, with open connections. */
export async function createEmptyDatabase(encoding = 'UTF8'): Promise<DatabaseAddress> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await administer(`create database ${name} template template0 encoding '${encoding}' locale 'C'`);
  afterFile(() => administer(`drop database ${name} with (force)`));
  return { ...shared().address, database: name };
}

/** The address as the `DATABASE_URL` of a service. `as`: another user of the server. */
export function databaseUrl(address: DatabaseAddress, as = address.user): string {
  const { host, port, database } = serviceWay(address);
  return `postgresql://${as}@/${database}?host=${encodeURIComponent(host!)}&port=${port}`;
}

/** Executes statements on the shared server outside of any test database. */
export async function administer(sql: string): Promise<void> {
  const client = new Client(shared().address);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** The migrated, empty template of every test database. */
export const templateDatabase = 'catalog_template';

/** Data from the global set-up for the test files. */
export interface Shared {
  /** A folder that is removed after the run. */
  folder: string;
  address: DatabaseAddress;
  /** Address of the server behind a pooler for services; absent: they connect directly. */
  pooler?: Pick<DatabaseAddress, 'host' | 'port'>;
  s3Endpoint: string;
  s3Bucket: string;
}

export function shared(): Shared {
  return JSON.parse(process.env.CATALOG_TEST_SHARED!) as Shared;
}

/** The address of a service for a database of the shared server: direct, or through the pooler. */
export function serviceWay(address: DatabaseAddress): DatabaseAddress {
  const { address: server, pooler } = shared();
  return address.host === server.host ? { ...address, ...pooler } : address;
}

/** A database of one test file: migrated, empty, and dropped after the file. */
export interface TestDatabase {
  address: DatabaseAddress;
  db: Database;
}

/** Creates a database. It is dropped after the file. That fails while a connection is still open: a leak of its opener. */
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

/** Fails if a connection stays open. The server may still list one that was closed a moment ago. */
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

/** A connection to a database that can be cut: then nothing listens on its address. */
export interface DatabaseLine {
  /** A `DATABASE_URL`. */
  url: string;
  cut(): Promise<void>;
  mend(): Promise<void>;
  /** From now on, a commit reaches the database, but the response is lost with the connection; also for orders. */
  loseAnswersOfCommits(): void;
}

/** Statements that commit: the second one is a transaction. */
const commits = ['COMMIT', 'insert into orders'];

/** Opens a connection to a database of the shared server. It is cut after the file. */
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

/** A server with faulty behavior at the address of a database. */
export interface FakeDatabase {
  address: DatabaseAddress;
  open: Set<Socket>;
  /** Number of all connections so far. */
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
    // Without a reader, the end of the connection would not be noticed.
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

import { createHash } from 'node:crypto';
import { finished, type Duplex } from 'node:stream';
import knex, { type Knex } from 'knex';
import { types, type Client, type ClientConfig, type CustomTypesConfig, type DatabaseError } from 'pg';
import { limits } from '../limits';
import { unavailable } from '../errors';
import { cancelStatement } from './cancel-statement';

/** How to reach the database: a connection string, or a socket folder of the embedded server. Can be sent to a thread. */
export type DatabaseAddress = Pick<ClientConfig, 'connectionString' | 'host' | 'port' | 'user' | 'database'>;

/** A pool, or a transaction taken from one: repositories take either as their first argument. */
export type Database = Knex;

const ignore = () => undefined;
const int8Oid = 20;

/** `bigint` arrives as a number: identifiers and counters stay far below 2^53. Everything else as pg has it. */
const typeParsers: CustomTypesConfig = {
  getTypeParser: (oid, format): ((text: string) => unknown) =>
    (oid as number) === int8Oid ? Number : (types.getTypeParser(oid, format) as (text: string) => unknown),
};

/** The client settings that every connection of ours has. */
export function clientConfig(address: DatabaseAddress, applicationName: string): ClientConfig {
  return {
    ...address,
    application_name: applicationName,
    connectionTimeoutMillis: limits.databaseConnectMilliseconds,
    keepAlive: true,
    types: typeParsers,
  };
}

/**
 * Opens a pool; connections are made when they are needed. The caller ends it with `destroy()`.
 * @param options - `queryMilliseconds` limits the wait for each statement; absent: statements may take any time.
 *   `acquireMilliseconds` limits the wait for a connection of the pool. `preparesStatements` lets a connection keep what `queryRows` is told to prepare
 */
export function openDatabase(
  address: DatabaseAddress,
  options: {
    applicationName: string;
    connectionsMax: number;
    queryMilliseconds?: number;
    acquireMilliseconds?: number;
    preparesStatements?: boolean;
  },
): Database {
  const {
    queryMilliseconds,
    acquireMilliseconds = limits.databaseAcquireMilliseconds,
    preparesStatements = false,
  } = options;
  const connection: ClientConfig = {
    ...clientConfig(address, options.applicationName),
    // The driver's, not the server's: a frozen server keeps no time, and some poolers refuse `statement_timeout`.
    query_timeout: queryMilliseconds,
  };
  const afterCreate = (connection: Client, done: (error: null, connection: Client) => void) => {
    if (preparesStatements) preparing.add(connection);
    if (queryMilliseconds !== undefined) withdrawBroken(connection);
    done(null, connection);
  };
  const db = knex({
    client: 'pg',
    connection: connection as Knex.PgConnectionConfig,
    pool: { min: 0, max: options.connectionsMax, afterCreate },
    acquireConnectionTimeout: acquireMilliseconds,
    // Whatever matters is thrown to the caller; knex would print it besides.
    log: { warn: ignore, error: ignore, deprecate: ignore, debug: ignore },
  });
  boundWaiting(db);
  return db;
}

/** The connections that may keep prepared statements. */
const preparing = new WeakSet<Client>();

/** By their text, which a connection knows only one of by a name. */
const statementNames = new Map<string, string>();

function nameOf(text: string): string {
  const known = statementNames.get(text);
  if (known !== undefined) return known;
  const name = createHash('sha256').update(text).digest('base64url');
  statementNames.set(text, name);
  return name;
}

/**
 * Reads rows with a statement that is written out, `?` for each binding. knex takes longer to make one, and to follow it
 * through its own layers, than all the rest of a request that reads one row: for what is asked most.
 * @param db - a pool, or a transaction
 * @param isPrepared - the connection keeps the statement, parsed and planned, if it may: for one of few texts, of which no
 *   value changes the best plan
 */
export async function queryRows<Row>(
  db: Database,
  sql: string,
  bindings: readonly Knex.Value[],
  isPrepared = false,
): Promise<Row[]> {
  const client = db.client as {
    acquireConnection(): Promise<Client>;
    releaseConnection(connection: Client): Promise<void>;
    positionBindings(sql: string): string;
    emit(event: 'query', statement: { sql: string; bindings: readonly unknown[] }): void;
  };
  const connection = await client.acquireConnection();
  try {
    return await new Promise((resolve, reject) => {
      const text = client.positionBindings(sql);
      const name = isPrepared && preparing.has(connection) ? nameOf(text) : undefined;
      const statement = { name, text, values: bindings as unknown[] };
      // Whoever listens to knex hears of this one too.
      client.emit('query', { sql: text, bindings });
      connection.query(statement, (error: Error | null, result) =>
        error ? reject(error) : resolve(result.rows as Row[]),
      );
    });
  } finally {
    await client.releaseConnection(connection);
  }
}

/** So many may wait for a connection of the pool; who comes beyond would only wait to be refused. */
function boundWaiting(db: Database): void {
  const client = db.client as {
    /** Gone once the pool is closed. */
    pool?: { numPendingAcquires(): number };
    acquireConnection(): Promise<unknown>;
  };
  const acquire = client.acquireConnection.bind(client);
  client.acquireConnection = () => {
    if (!client.pool) return Promise.reject(unavailable('the pool of connections is closed'));
    const waiting = client.pool.numPendingAcquires();
    if (waiting < limits.databaseWaiting) return acquire();
    return Promise.reject(unavailable(`${waiting} wait for a connection to the database`));
  };
}

/** Whether the driver has given a statement up: by its message, with or without the statement before it. */
export const isReadTimeout = (message: string | undefined) =>
  /(^| - )Query read timeout$/.test(message ?? '');

/** Whether the server has ended the session, or does not let one begin. */
const isSessionEnd = (severity: string | undefined) => severity === 'FATAL' || severity === 'PANIC';

/**
 * A statement that the driver has given up goes on in the server, which is asked to give it up too. Whoever got its
 * connection next would wait for it, or work amid its transaction: the connection is cut. One whose session the server has
 * ended is not given out again either; the pool learns of that only later by itself.
 */
function withdrawBroken(connection: Client): void {
  type Answer = (error: Error | null, result: unknown) => void;
  const query = connection.query.bind(connection) as (statement: object, answer?: Answer) => unknown;
  const watched = (statement: object, answer?: Answer) => {
    if (!answer) {
      const stream = statement as Duplex & { callback(error: null): void };
      query(Object.assign(stream, { query_timeout: limits.databaseBulkMilliseconds }));
      // Nobody else tells the driver of its end: its timer would go off hours later, and end the thread with an error that
      // nobody expects.
      finished(stream, () => stream.callback(null));
      return stream;
    }
    return query(statement, (error, result) => {
      const timedOut = isReadTimeout(error?.message);
      if (timedOut || isSessionEnd((error as DatabaseError | null)?.severity)) {
        // What knex itself leaves on a connection that its pool must not give out again.
        Object.assign(connection, { __knex__disposed: error });
      }
      if (timedOut) {
        void cancelStatement(connection).finally(() => connection.end());
      }
      answer(error, result);
    });
  };
  connection.query = watched as Client['query'];
}

const connectionLost = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** Whether `error` says that the database cannot be reached or does not take work now, as opposed to a wrong statement. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, name, message, severity } = error as Partial<Record<string, string>>;
  if (name === 'KnexTimeoutError' || (code !== undefined && connectionLost.has(code))) return true;
  if (isSessionEnd(severity)) return true;
  // SQLSTATE classes: 08 connection, 53 resources, 57 the server's shutdown, start or time limit; 55P03: a lock's.
  if (code !== undefined && /^(08|53|57|55P03)/.test(code)) return true;
  // The driver has no code for these; its texts are stable. knex puts the statement before them.
  return (
    isReadTimeout(message) ||
    /(^| - )(Connection terminated|timeout expired|Client (has encountered a connection error|was closed))/.test(
      message ?? '',
    )
  );
}

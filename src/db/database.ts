import { createHash } from 'node:crypto';
import knex, { type Knex } from 'knex';
import { types, type Client, type ClientConfig, type CustomTypesConfig, type QueryConfig } from 'pg';
import { discardBroken, isReadTimeout, isSessionEnd, isUsable, serviceDialect } from './dialect';
import { databaseConnectMilliseconds } from './cancel-statement';

/** How long a request waits for a connection from the pool before it is 503. */
export const databaseAcquireMilliseconds = 5_000;

/** At shutdown, how long connections may take to be closed. */
export const closeMilliseconds = 500;

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
    connectionTimeoutMillis: databaseConnectMilliseconds,
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
    acquireMilliseconds = databaseAcquireMilliseconds,
    preparesStatements = false,
  } = options;
  const afterCreate = (connection: Client, done: (error: null, connection: Client) => void) => {
    settingsOf.set(connection, { preparesStatements, queryMilliseconds });
    done(null, connection);
  };
  return knex({
    client: serviceDialect(queryMilliseconds),
    connection: clientConfig(address, options.applicationName) as Knex.PgConnectionConfig,
    pool: { min: 0, max: options.connectionsMax, afterCreate, validate: isUsable },
    acquireConnectionTimeout: acquireMilliseconds,
    // Whatever matters is thrown to the caller; knex would print it besides.
    log: { warn: ignore, error: ignore, deprecate: ignore, debug: ignore },
  });
}

/** What `queryRows` needs to know of each connection. */
const settingsOf = new WeakMap<Client, { preparesStatements: boolean; queryMilliseconds?: number }>();

/** By their text, which a connection knows only one of by a name. */
const statementNames = new Map<string, string>();

function nameOf(text: string): string {
  const known = statementNames.get(text);
  if (known !== undefined) return known;
  const name = createHash('sha256').update(text).digest('base64url');
  statementNames.set(text, name);
  return name;
}

/** The connection of a transaction, for COPY; of a pool, a free one, which the caller releases. */
export function connectionOf(db: Database): Promise<Client> {
  return (db.client as Knex.Client).acquireConnection() as Promise<Client>;
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
  const client = db.client as Knex.Client;
  const connection = await connectionOf(db);
  try {
    const { preparesStatements, queryMilliseconds } = settingsOf.get(connection)!;
    const text = client.positionBindings(sql) as string;
    // The tests count the statements that knex reports.
    client.emit('query', { sql: text, bindings });
    const statement: QueryConfig & { query_timeout?: number } = {
      name: isPrepared && preparesStatements ? nameOf(text) : undefined,
      text,
      values: bindings as unknown[],
      query_timeout: queryMilliseconds,
    };
    const { rows } = await connection.query(statement);
    return rows as Row[];
  } catch (error) {
    await discardBroken(connection, error);
    throw error;
  } finally {
    await client.releaseConnection(connection);
  }
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

import knex, { type Knex } from 'knex';
import { types, type Client, type ClientConfig, type CustomTypesConfig } from 'pg';
import { limits } from '../config';

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
 * @param options - `queryMilliseconds` limits the wait for each statement; absent: statements may take any time
 */
export function openDatabase(
  address: DatabaseAddress,
  options: { applicationName: string; connectionsMax: number; queryMilliseconds?: number },
): Database {
  const { queryMilliseconds } = options;
  const connection: ClientConfig = {
    ...clientConfig(address, options.applicationName),
    // The driver's, not the server's: a frozen server keeps no time, and some poolers refuse `statement_timeout`.
    query_timeout: queryMilliseconds,
  };
  const afterCreate = queryMilliseconds === undefined ? undefined : cutAfterTimeout;
  return knex({
    client: 'pg',
    connection: connection as Knex.PgConnectionConfig,
    pool: { min: 0, max: options.connectionsMax, afterCreate },
    acquireConnectionTimeout: limits.databaseAcquireMilliseconds,
    // Whatever matters is thrown to the caller; knex would print it besides.
    log: { warn: ignore, error: ignore, deprecate: ignore, debug: ignore },
  });
}

const isReadTimeout = (message: string | undefined) => /(^| - )Query read timeout$/.test(message ?? '');

/**
 * A statement that the driver has given up goes on in the server. Whoever got its connection next would wait for it, or
 * work amid its transaction: the connection is cut.
 */
function cutAfterTimeout(connection: Client, done: (error: null, connection: Client) => void): void {
  type Answer = (error: Error | null, result: unknown) => void;
  const query = connection.query.bind(connection) as (statement: object, answer?: Answer) => unknown;
  const watched = (statement: object, answer?: Answer) => {
    // A stream of rows.
    if (!answer) return query(Object.assign(statement, { query_timeout: limits.databaseBulkMilliseconds }));
    return query(statement, (error, result) => {
      if (isReadTimeout(error?.message)) {
        // What knex itself leaves on a connection that its pool must not give out again.
        Object.assign(connection, { __knex__disposed: error });
        void connection.end();
      }
      answer(error, result);
    });
  };
  connection.query = watched as Client['query'];
  done(null, connection);
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
  // What ends a session or does not let one begin, whatever its reason.
  if (severity === 'FATAL' || severity === 'PANIC') return true;
  // SQLSTATE classes: 08 connection, 53 resources, 57P server shutdown or start.
  if (code !== undefined && /^(08|53|57P)/.test(code)) return true;
  // The driver has no code for these; its texts are stable. knex puts the statement before them.
  return (
    isReadTimeout(message) ||
    /(^| - )(Connection terminated|timeout expired|Client (has encountered a connection error|was closed))/.test(
      message ?? '',
    )
  );
}

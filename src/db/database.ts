import { createHash } from 'node:crypto';
import knex, { type Knex } from 'knex';
import { types, type Client, type ClientConfig, type CustomTypesConfig, type QueryConfig } from 'pg';
import { discardBroken, isReadTimeout, isSessionEnd, isUsable, serviceDialect } from './dialect';
import { databaseConnectMilliseconds } from './cancel-statement';

/** Timeout of a request that waits for a connection of the pool; then it gets 503. */
export const databaseAcquireMilliseconds = 5_000;

export const closeMilliseconds = 500;

/** The address of the database: a connection string, or a socket folder of the embedded server. It can be cloned. */
export type DatabaseAddress = Pick<ClientConfig, 'connectionString' | 'host' | 'port' | 'user' | 'database'>;

/** A pool or a transaction, the first argument of repositories. */
export type Database = Knex;

const ignore = () => undefined;
const int8Oid = 20;

/** Returns `bigint` as a number: identifiers and counters stay far below 2^53. */
const typeParsers: CustomTypesConfig = {
  getTypeParser: (oid, format): ((text: string) => unknown) =>
    (oid as number) === int8Oid ? Number : (types.getTypeParser(oid, format) as (text: string) => unknown),
};

/** Returns the client settings of all connections. */
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
 * Opens a pool, which connects on demand. The caller closes it with `destroy()`.
 * @param options - `queryMilliseconds`: timeout of a statement, by default none. `acquireMilliseconds`: timeout of the wait for a
 *   connection. `preparesStatements`: whether `queryRows` may prepare statements
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
    settingsOf.set(connection, { preparesStatements, queryMilliseconds, plannedAt: performance.now() });
    done(null, connection);
  };
  return knex({
    client: serviceDialect(queryMilliseconds),
    connection: clientConfig(address, options.applicationName) as Knex.PgConnectionConfig,
    pool: { min: 0, max: options.connectionsMax, afterCreate, validate: isUsable },
    acquireConnectionTimeout: acquireMilliseconds,
    // Errors are thrown to the caller; knex would also print them.
    log: { warn: ignore, error: ignore, deprecate: ignore, debug: ignore },
  });
}

interface ConnectionSettings {
  preparesStatements: boolean;
  queryMilliseconds?: number;
  /** The time of `performance.now()` from which on its prepared statements were planned. */
  plannedAt: number;
}

/** The settings of each connection for `queryRows`. */
const settingsOf = new WeakMap<Client, ConnectionSettings>();

/** Maximum age of a plan: one that was made for a small table reads all of it after a large load. */
const planMilliseconds = 2_000;

async function discardOldPlans(connection: Client, settings: ConnectionSettings): Promise<void> {
  const now = performance.now();
  if (now - settings.plannedAt < planMilliseconds) return;
  settings.plannedAt = now;
  const discard: QueryConfig & { query_timeout?: number } = {
    text: 'discard plans',
    query_timeout: settings.queryMilliseconds,
  };
  await connection.query(discard);
}

/** A statement in the driver's form; with a name, which on a connection stands for one text, it is prepared. */
interface Statement {
  text: string;
  name?: string;
}

/** The prepared statements by their text with `?`. */
const preparedStatements = new Map<string, Statement>();

function preparedStatement(client: Knex.Client, sql: string): Statement {
  const known = preparedStatements.get(sql);
  if (known !== undefined) return known;
  const text = client.positionBindings(sql) as string;
  const statement = { text, name: createHash('sha256').update(text).digest('base64url') };
  preparedStatements.set(sql, statement);
  return statement;
}

/** The connection of a transaction, for COPY; of a pool, a free one, which the caller releases. */
export function connectionOf(db: Database): Promise<Client> {
  return (db.client as Knex.Client).acquireConnection() as Promise<Client>;
}

/**
 * Reads rows with an SQL statement, with `?` for each binding. For hot paths: knex's query builder takes longer than the rest of a
 * request that reads one row.
 * @param db - a pool, or a transaction
 * @param isPrepared - prepare the statement if `preparesStatements`; only for few texts, with one best plan for all values
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
    const settings = settingsOf.get(connection)!;
    const { preparesStatements, queryMilliseconds } = settings;
    const isNamed = isPrepared && preparesStatements;
    const { text, name }: Statement = isNamed
      ? preparedStatement(client, sql)
      : { text: client.positionBindings(sql) as string };
    // Tests count the statements that knex reports.
    client.emit('query', { sql: text, bindings });
    if (isNamed) await discardOldPlans(connection, settings);
    const statement: QueryConfig & { query_timeout?: number } = {
      name,
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

/**
 * Returns whether the server rolled a statement back because Citus has lost the connection to another node. Statements on other
 * nodes may succeed.
 */
export function isNodeLost(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, message, severity } = error as Partial<Record<string, string>>;
  if (severity !== 'ERROR') return false;
  return /^08/.test(code ?? '') || /failure on connection marked as essential/.test(message ?? '');
}

/**
 * Returns whether the server rolled a transaction back for a concurrent one: by a deadlock, or as not serializable. It can succeed
 * when it is repeated.
 */
export function isConflict(error: unknown): boolean {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return code === '40001' || code === '40P01';
}

/** Returns whether an error means that the database is unavailable, not that a statement is wrong. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  if (isNodeLost(error)) return true;
  const { code, name, message, severity } = error as Partial<Record<string, string>>;
  if (name === 'KnexTimeoutError' || (code !== undefined && connectionLost.has(code))) return true;
  if (isSessionEnd(severity)) return true;
  // SQLSTATE classes: 08 connection, 53 resources, 57 shutdown, start or statement timeout; 55P03: lock timeout.
  if (code !== undefined && /^(08|53|57|55P03)/.test(code)) return true;
  // The driver has no code for these. knex prepends the statement to the text.
  return (
    isReadTimeout(message) ||
    /(^| - )(Connection terminated|timeout expired|Client (has encountered a connection error|was closed))/.test(
      message ?? '',
    )
  );
}

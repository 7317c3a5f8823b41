import knex, { type Knex } from 'knex';
import {
  DatabaseError,
  types,
  type Client,
  type ClientConfig,
  type CustomTypesConfig,
  type QueryConfig,
  type QueryResult,
  type QueryResultRow,
} from 'pg';
import type { Log } from '../log';
import {
  connectionOf,
  discardBroken,
  isConnectError,
  isReadTimeout,
  isSessionEnd,
  isUsable,
  releaseConnection,
  reportStatement,
  serviceDialect,
} from './dialect';
import { databaseConnectMilliseconds } from './cancel-statement';
import { withoutTls } from '../database-url';
import { positioned, sql, type Sql, type SqlValue } from './sql';
import {
  choosePreparing,
  faultOfName,
  isLost,
  prepareStatement,
  replaceStatement,
  type NameFault,
  type PreparedStatement,
  type Preparing,
  type PreparingChoice,
} from './prepared-statements';
import { queryTimeout } from './undocumented-pg';

/** Timeout of the wait of a request for a connection of the pool; then it gets 503. */
export const databaseAcquireMilliseconds = 5_000;

/**
 * Time after which a pool closes an idle connection. A new one costs requests more than its connect: PostgreSQL has to plan their
 * statements again, and to map each page of its shared memory that they read. Other pools make room sooner.
 */
export const idleConnectionMilliseconds = { ofRequests: 10 * 60_000, ofOthers: 30_000 };

/** Time after which an idle connection is probed: a network may drop one that sends nothing for minutes, and tell neither side. */
const keepAliveMilliseconds = 30_000;

export const closeMilliseconds = 500;

/**
 * The address of the database: a connection string of `readDatabaseUrl`, or a socket folder of the embedded server. It can be cloned.
 */
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
    ...withoutTls,
    ...address,
    application_name: applicationName,
    connectionTimeoutMillis: databaseConnectMilliseconds,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMilliseconds,
    types: typeParsers,
  };
}

/**
 * Opens a pool, which connects on demand. The caller closes it with `destroy()`.
 * @param options - `queryMilliseconds`: timeout of a statement, by default none. `acquireMilliseconds`: timeout of the wait for a
 *   connection. `idleMilliseconds`: time after which an idle connection is closed, by default short. `preparesStatements`: whether
 *   `queryRows` may prepare statements, by default not. `log`: receives whether it does
 */
export function openDatabase(
  address: DatabaseAddress,
  options: {
    applicationName: string;
    connectionsMax: number;
    queryMilliseconds?: number;
    acquireMilliseconds?: number;
    idleMilliseconds?: number;
    preparesStatements?: Preparing;
    log?: Log;
  },
): Database {
  const {
    applicationName,
    queryMilliseconds,
    acquireMilliseconds = databaseAcquireMilliseconds,
    idleMilliseconds = idleConnectionMilliseconds.ofOthers,
    preparesStatements = false,
    log,
  } = options;
  let preparing = preparesStatements;
  let logged: PreparingChoice | undefined;
  const logChoice = (choice: PreparingChoice) => {
    if (choice === logged) return;
    logged = choice;
    const { isPrepared, reason } = choice;
    log?.info({ pool: applicationName, reason }, `statements are ${isPrepared ? '' : 'not '}prepared`);
  };
  const onLost = () => {
    // Also for the setting that says that they are kept.
    preparing = 'if kept';
    logChoice(isLost);
  };
  const prepareConnection = async (connection: Client) => {
    const choice = await choosePreparing(connection, preparing);
    logChoice(choice);
    settingsOf.set(connection, { preparesStatements: choice.isPrepared, queryMilliseconds, onLost });
  };
  const afterCreate = (connection: Client, done: (error: unknown, connection: Client) => void) => {
    prepareConnection(connection).then(
      () => done(null, connection),
      (error: unknown) => {
        // The pool does not know it yet.
        connection.end().catch(ignore);
        done(error, connection);
      },
    );
  };
  return knex({
    client: serviceDialect(queryMilliseconds),
    connection: clientConfig(address, applicationName) as Knex.PgConnectionConfig,
    pool: {
      min: 0,
      max: options.connectionsMax,
      idleTimeoutMillis: idleMilliseconds,
      afterCreate,
      validate: isUsable,
    },
    acquireConnectionTimeout: acquireMilliseconds,
    // Errors are thrown to the caller; knex would also print them.
    log: { warn: ignore, error: ignore, deprecate: ignore, debug: ignore },
  });
}

interface ConnectionSettings {
  preparesStatements: boolean;
  queryMilliseconds?: number;
  /** A prepared statement was lost. */
  onLost: () => void;
}

/** The settings of each connection for `queryRows`. */
const settingsOf = new WeakMap<Client, ConnectionSettings>();

/**
 * Executes a statement, and returns its rows.
 * @param db - a pool, or a transaction
 * @param isPrepared - prepare the statement where `preparesStatements` allows it; only for few texts, with one best plan for all
 *   values. Statements of a transaction are never prepared: one that fails could not be repeated
 */
export async function queryRows<Row>(db: Database, statement: Sql, isPrepared = false): Promise<Row[]> {
  return (await execute<Row>(db, statement, isPrepared)).rows;
}

/** Executes a statement with its own timeout, and returns its rows. Never prepares it. */
export async function queryRowsWithin<Row>(
  db: Database,
  milliseconds: number,
  statement: Sql,
): Promise<Row[]> {
  return (await execute<Row>(db, statement, false, milliseconds)).rows;
}

/** Executes a statement. @returns the number of rows that it has changed */
export async function changeRows(db: Database, statement: Sql): Promise<number> {
  return (await execute(db, statement, false)).rowCount!;
}

/** Knex's query builder takes longer than the rest of a request that reads one row. */
function execute<Row>(
  db: Database,
  { sql, bindings }: Sql,
  isPrepared: boolean,
  milliseconds?: number,
): Promise<Executed<Row>> {
  const prepared = isPrepared && !db.isTransaction ? prepareStatement(sql) : undefined;
  return executeStatement(db, prepared ?? { text: positioned(sql) }, bindings, milliseconds);
}

/** Puts the statement, without its values, before the message, as knex does. */
function withStatement(error: unknown, text: string): unknown {
  if (error instanceof DatabaseError) error.message = `${text} - ${error.message}`;
  return error;
}

type Executed<Row> = Pick<QueryResult, 'rowCount'> & { rows: Row[] };

/**
 * Executes a statement. If a prepared one failed because of its name, it is repeated without.
 * @throws Error for a transaction that has ended: its connection may belong to another one
 */
async function executeStatement<Row>(
  db: Database,
  statement: { text: string } | PreparedStatement,
  bindings: readonly SqlValue[],
  milliseconds?: number,
): Promise<Executed<Row>> {
  if (db.isTransaction && (db as Knex.Transaction).isCompleted())
    throw new Error('The transaction has ended.');
  const connection = await connectionOf(db);
  const settings = settingsOf.get(connection)!;
  const { text } = statement;
  const prepared = settings.preparesStatements && 'name' in statement ? statement : undefined;
  let fault: NameFault | undefined;
  try {
    reportStatement(db, text, bindings);
    const query: QueryConfig = {
      name: prepared?.name,
      text,
      values: bindings as unknown[],
      ...queryTimeout(milliseconds ?? settings.queryMilliseconds),
    };
    return await connection.query<Row & QueryResultRow>(query);
  } catch (error) {
    await discardBroken(connection, error);
    fault = prepared && faultOfName(error);
    if (!fault) throw withStatement(error, text);
  } finally {
    await releaseConnection(db, connection);
  }
  if (fault === 'lost') {
    settings.preparesStatements = false;
    settings.onLost();
  }
  const executed = await executeStatement<Row>(db, { text }, bindings);
  if (fault === 'stale') replaceStatement(prepared!);
  return executed;
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

/** Returns the time of the clock of the database, which all processes share. */
export async function databaseTime(db: Database): Promise<Date> {
  const [row] = await queryRows<{ now: Date }>(db, sql`select clock_timestamp() as now`);
  return row!.now;
}

/** Returns whether the server rolled a statement back because Citus has lost the connection to another node. Other nodes may work. */
export function isNodeLost(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, message, severity } = error as Partial<Record<string, string>>;
  if (severity !== 'ERROR') return false;
  return /^08/.test(code ?? '') || /failure on connection marked as essential/.test(message ?? '');
}

/** Returns whether a deadlock or a serialization failure rolled a transaction back. It can succeed when it is repeated. */
export function isConflict(error: unknown): boolean {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return code === '40001' || code === '40P01';
}

/** Returns whether an error means that the database is unavailable, not that a statement is wrong. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  if (isConnectError(error) || isNodeLost(error)) return true;
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

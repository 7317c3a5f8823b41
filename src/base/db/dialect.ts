import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import PostgresDialect from 'knex/lib/dialects/postgres/index.js';
import type { Client, DatabaseError } from 'pg';
import { unavailable } from '../errors';
import { cancelStatement } from './cancel-statement';
import type { PoolUse } from './pool-use';
import type { Sql } from './sql';
import { queryTimeout } from './undocumented-pg';

export const poolLimits = {
  /** Maximum number of waiters for a connection, about a second of work; further requests get 503. */
  waitersMax: 500,
};

/** Returns whether a message is the driver's statement timeout; knex prepends the statement. */
export const isReadTimeout = (message: string | undefined) =>
  /(^| - )Query read timeout$/.test(message ?? '');

/** Returns whether the server has ended or rejected the session. */
export const isSessionEnd = (severity: string | undefined) => severity === 'FATAL' || severity === 'PANIC';

/** Errors of new connections. Those of TLS have no code or text in common. */
const connectErrors = new WeakSet<object>();

/** Returns whether a pool failed to open a connection with this error. */
export const isConnectError = (error: object) => connectErrors.has(error);

/** Connections that the pool must not reuse. */
const broken = new WeakSet<Client>();

/** The cancellation of the statement of a broken connection. */
const cancellations = new WeakMap<Client, Promise<unknown>>();

/** Maximum wait of a timed-out statement for its cancel request. */
const cancelWaitMilliseconds = 1_000;

/**
 * Discards a connection whose statement timed out, after a cancel request, or whose session has ended.
 * @returns after the cancel request, with a timeout: a pooler drops the request once the connection is closed
 */
export async function discardBroken(connection: Client, error: unknown): Promise<void> {
  const { message, severity } = error as Partial<DatabaseError>;
  const timedOut = isReadTimeout(message);
  if (timedOut || isSessionEnd(severity)) broken.add(connection);
  if (!timedOut) return;
  const cancelled = cancelStatement(connection).finally(() => connection.end());
  cancellations.set(connection, cancelled);
  await Promise.race([cancelled, sleep(cancelWaitMilliseconds, undefined, { ref: false })]);
}

/** Validates a connection before the pool hands it out. */
export const isUsable = (connection: Client) => !broken.has(connection);

/**
 * The client of a pool or a transaction. Only this file reads its members, which knex declares and its manual leaves out:
 * docs/decisions/0032.
 */
const clientOf = (db: Knex) => db.client as Knex.Client;

/** The connection of a transaction, for COPY; of a pool, a free one, which the caller releases. */
export function connectionOf(db: Knex): Promise<Client> {
  return clientOf(db).acquireConnection() as Promise<Client>;
}

/** Returns the connection of `connectionOf` to its pool; a transaction keeps its own. */
export function releaseConnection(db: Knex, connection: Client): Promise<void> {
  return clientOf(db).releaseConnection(connection) as Promise<void>;
}

/** Emits the event that knex emits for its own statements: tests count them. */
export function reportStatement(db: Knex, text: string, bindings: Sql['bindings']): void {
  clientOf(db).emit('query', { sql: text, bindings });
}

/** Returns what identifies a pool, also in its transactions. */
export const poolIdentity = (db: Knex): object => clientOf(db).config;

/** Returns the use of a pool now; zeros once it is closed. */
export const poolUse = (db: Knex): PoolUse => useOf(clientOf(db));

function useOf({ pool }: Knex.Client): PoolUse {
  if (!pool || !('numUsed' in pool)) return { used: 0, free: 0, waiting: 0 };
  return { used: pool.numUsed(), free: pool.numFree(), waiting: pool.numPendingAcquires() };
}

/**
 * Makes the knex dialect of a pool.
 * @param queryMilliseconds - the driver's statement timeout, which also works with a frozen server; COPY has none
 */
export function serviceDialect(queryMilliseconds: number | undefined): typeof Knex.Client {
  return class ServiceDialect extends PostgresDialect {
    /** @throws unavailable when `poolLimits.waitersMax` requests wait */
    override acquireConnection(): Promise<Client> {
      if (!this.pool) return Promise.reject(unavailable('the pool of connections is closed'));
      const { waiting } = useOf(this);
      if (waiting < poolLimits.waitersMax) return super.acquireConnection() as Promise<Client>;
      return Promise.reject(unavailable(`${waiting} requests wait for a connection to the database`));
    }

    override async acquireRawConnection(): Promise<Client> {
      try {
        return (await super.acquireRawConnection()) as Client;
      } catch (error) {
        connectErrors.add(error as Error);
        throw error;
      }
    }

    /** Waits for the cancellation: a request for the statement of a closed connection cannot be repeated. */
    override async destroyRawConnection(connection: Client): Promise<void> {
      await cancellations.get(connection);
      await super.destroyRawConnection(connection);
    }

    override async query(connection: Client, sqlOrStatement: string | Statement): Promise<unknown> {
      const statement: Statement =
        typeof sqlOrStatement === 'string' ? { sql: sqlOrStatement } : sqlOrStatement;
      statement.options = { ...queryTimeout(queryMilliseconds), ...statement.options };
      try {
        return (await super.query(connection, statement)) as unknown;
      } catch (error) {
        await discardBroken(connection, error);
        throw error;
      }
    }
  };
}

/** A statement as knex passes it to its dialect. */
interface Statement {
  sql: string;
  options?: object;
}

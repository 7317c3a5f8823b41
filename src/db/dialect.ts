import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import PostgresDialect from 'knex/lib/dialects/postgres/index.js';
import type { Client, DatabaseError } from 'pg';
import { unavailable } from '../shared/errors';
import { cancelStatement } from './cancel-statement';
import { poolUse } from './pool-use';

export const poolLimits = {
  /** Maximum number of waiters for a connection, about a second of work; further requests get 503. */
  waitersMax: 500,
};

/** Returns whether a message is the driver's statement timeout; knex prepends the statement. */
export const isReadTimeout = (message: string | undefined) =>
  /(^| - )Query read timeout$/.test(message ?? '');

/** Returns whether the server has ended or rejected the session. */
export const isSessionEnd = (severity: string | undefined) => severity === 'FATAL' || severity === 'PANIC';

/** Connections that the pool must not reuse. */
const broken = new WeakSet<Client>();

/** Maximum wait of a timed-out statement for its cancel request. */
const cancelWaitMilliseconds = 1_000;

/**
 * Discards the connection of a statement that timed out, which is cancelled, or whose session has ended.
 * @returns after the cancel request, with a timeout: a pooler drops the request once the connection is closed
 */
export async function discardBroken(connection: Client, error: unknown): Promise<void> {
  const { message, severity } = error as Partial<DatabaseError>;
  const timedOut = isReadTimeout(message);
  if (timedOut || isSessionEnd(severity)) broken.add(connection);
  if (!timedOut) return;
  const cancelled = cancelStatement(connection).finally(() => connection.end());
  await Promise.race([cancelled, sleep(cancelWaitMilliseconds, undefined, { ref: false })]);
}

/** Validates a connection before the pool hands it out. */
export const isUsable = (connection: Client) => !broken.has(connection);

/**
 * Makes the knex dialect of a pool.
 * @param queryMilliseconds - the driver's statement timeout, which also works with a frozen server; COPY has none
 */
export function serviceDialect(queryMilliseconds: number | undefined): typeof Knex.Client {
  return class ServiceDialect extends PostgresDialect {
    /** @throws unavailable when `poolLimits.waitersMax` requests wait */
    override acquireConnection(): Promise<Client> {
      if (!this.pool) return Promise.reject(unavailable('the pool of connections is closed'));
      const { waiting } = poolUse({ client: this });
      if (waiting < poolLimits.waitersMax) return super.acquireConnection() as Promise<Client>;
      return Promise.reject(unavailable(`${waiting} requests wait for a connection to the database`));
    }

    override async query(connection: Client, sqlOrStatement: string | Statement): Promise<unknown> {
      const statement: Statement =
        typeof sqlOrStatement === 'string' ? { sql: sqlOrStatement } : sqlOrStatement;
      statement.options = { query_timeout: queryMilliseconds, ...statement.options };
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

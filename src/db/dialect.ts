import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import PostgresDialect from 'knex/lib/dialects/postgres/index.js';
import type { Client, DatabaseError } from 'pg';
import { unavailable } from '../shared/errors';
import { cancelStatement } from './cancel-statement';
import { poolUse } from './pool-use';

/** How many wait for one; it serves as many in a second, unless the database is in trouble. More are 503 at once. */
export const databaseWaiting = 500;

/** Whether the driver has timed a statement out: by its message, with or without the statement before it. */
export const isReadTimeout = (message: string | undefined) =>
  /(^| - )Query read timeout$/.test(message ?? '');

/** Whether the server has ended the session, or refuses to begin one. */
export const isSessionEnd = (severity: string | undefined) => severity === 'FATAL' || severity === 'PANIC';

/** Connections that the pool must not hand out again. */
const broken = new WeakSet<Client>();

/** How long the failure of a statement waits until the server was asked to cancel it: TLS takes a moment. */
const cancelPatienceMilliseconds = 1_000;

/**
 * Discards the connection of a failed statement where it cannot be used again: the server still works on a statement that
 * timed out, and is asked to cancel it; one whose session has ended is noticed by the pool only later.
 * @returns when the server was asked, or does not seem to take the request: a pooler forgets it once the connection is closed
 */
export async function discardBroken(connection: Client, error: unknown): Promise<void> {
  const { message, severity } = error as Partial<DatabaseError>;
  const timedOut = isReadTimeout(message);
  if (timedOut || isSessionEnd(severity)) broken.add(connection);
  if (!timedOut) return;
  const cancelled = cancelStatement(connection).finally(() => connection.end());
  await Promise.race([cancelled, sleep(cancelPatienceMilliseconds, undefined, { ref: false })]);
}

/** What the pool asks of a connection before it hands it out. */
export const isUsable = (connection: Client) => !broken.has(connection);

/**
 * Makes the knex dialect of one pool.
 * @param queryMilliseconds - the driver's timeout of a statement, since a frozen server keeps no time; COPY has none
 */
export function serviceDialect(queryMilliseconds: number | undefined): typeof Knex.Client {
  return class ServiceDialect extends PostgresDialect {
    /** @throws unavailable when too many requests wait for a connection: one more would only wait to be refused */
    override acquireConnection(): Promise<Client> {
      if (!this.pool) return Promise.reject(unavailable('the pool of connections is closed'));
      const { waiting } = poolUse({ client: this });
      if (waiting < databaseWaiting) return super.acquireConnection() as Promise<Client>;
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

/** A statement as knex hands it to its dialect. */
interface Statement {
  sql: string;
  options?: object;
}

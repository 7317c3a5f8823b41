import type { Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { Client } from 'pg';

/** Members of a client of `pg` that its manual leaves out: docs/decisions/0032. */
export interface PgSession {
  /** The process id that the server, or the pooler before it, has sent. */
  processID: number;
  secretKey: number;
  /** A boolean in the types of `pg`. */
  ssl: boolean | ConnectionOptions;
  sslNegotiation: 'postgres' | 'direct';
  connection: { stream: Socket };
}

/** Returns the driver's data of the session of a connection. */
export const pgSession = (connection: Client) => connection as unknown as PgSession;

/** Resolves when a connection has no statement left, or has been closed. */
export const statementsEnd = (connection: Client) =>
  new Promise<true>((resolve) => {
    for (const event of ['drain', 'end'] as const) connection.once(event, () => resolve(true));
  });

/** Returns the timeout of one statement, for its `QueryConfig`: a timeout of the client would also end COPY. */
export const queryTimeout = (milliseconds: number | undefined) => ({ query_timeout: milliseconds });

import type { ConnectionOptions } from 'node:tls';
import type { Client } from 'pg';

/** Members of a client of `pg` that its manual leaves out: docs/decisions/0032. */
export interface PgSession {
  /** The process as the server, or the pooler before it, has named it. */
  processID: number;
  secretKey: number;
  /** A boolean in the types of `pg`. */
  ssl: boolean | ConnectionOptions;
  sslNegotiation: 'postgres' | 'direct';
}

/** Returns what the driver knows of the session of a connection. */
export const pgSession = (connection: Client) => connection as unknown as PgSession;

/** Returns the timeout of one statement, for its `QueryConfig`: that of a client would also end COPY. */
export const queryTimeout = (milliseconds: number | undefined) => ({ query_timeout: milliseconds });

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
}

/** Returns the driver's data of the session of a connection. */
export const pgSession = (connection: Client) => connection as unknown as PgSession;

/** Returns the timeout of one statement, for its `QueryConfig`: a timeout of the client would also end COPY. */
export const queryTimeout = (milliseconds: number | undefined) => ({ query_timeout: milliseconds });

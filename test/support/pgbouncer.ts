import { spawn } from 'node:child_process';
import { chownSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import type { DatabaseAddress } from '../../src/base/db/database';
import { serverAccount, superuser } from '../../src/base/embedded-postgres/files';
import { eventually, makeFolder } from './harness';

/** Whether tests can put PgBouncer before PostgreSQL: it is installed (jest.config.mjs reports that), or required. */
export const hasPgBouncer = process.env.PGBOUNCER !== undefined || process.env.PGBOUNCER_REQUIRED === '1';

/** Whether PgBouncer 1.21 or later, which keeps prepared statements of clients, is installed (jest.config.mjs reports that). */
export const hasKeepingPgBouncer = process.env.PGBOUNCER_KEEPING !== undefined;

/** A PgBouncer in transaction mode before a PostgreSQL server, for all of its databases. */
export interface PgBouncer {
  /** Address that replaces the server's. */
  address: Required<Pick<DatabaseAddress, 'host' | 'port'>>;
  /** Sends a command to its console, for example `show clients`, `set` or `reload`. */
  ask(what: string): Promise<Record<string, unknown>[]>;
  stop(): Promise<void>;
}

/** Port in the name of its socket, in a folder of its own. */
const port = 6432;

/**
 * Starts the PgBouncer of `PGBOUNCER` (default: on the search path) before a server on a Unix socket.
 * @param connectionsMax - number of connections to each database that its clients share
 * @param options - `port`: it also listens there, on 127.0.0.1. `tls`: certificate for clients there, which must use TLS.
 *   `keptStatements`: number of prepared statements that it keeps for its clients, by default none; needs the program of
 *   `PGBOUNCER_KEEPING`
 */
export async function startPgBouncer(
  server: DatabaseAddress,
  connectionsMax: number,
  options: { port?: number; tls?: { key: string; cert: string }; keptStatements?: number } = {},
): Promise<PgBouncer> {
  const { tls, keptStatements = 0 } = options;
  const { PGBOUNCER, PGBOUNCER_KEEPING } = process.env;
  const program = keptStatements > 0 ? PGBOUNCER_KEEPING : PGBOUNCER;
  if (!program) throw new Error('There is no such PgBouncer: install it, or name it in PGBOUNCER.');
  const folder = makeFolder();
  // Like PostgreSQL, it refuses to run as root.
  const account = await serverAccount(folder);
  if (account) chownSync(folder, account.uid, account.gid);
  const [settings, users] = [join(folder, 'pgbouncer.ini'), join(folder, 'users')];
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  if (tls) {
    writeFileSync(keyFile, tls.key);
    writeFileSync(certFile, tls.cert);
  }
  writeFileSync(users, `"${superuser}" ""\n`);
  writeFileSync(
    settings,
    `[databases]
* = host=${server.host} port=${server.port}
[pgbouncer]
pool_mode = transaction
default_pool_size = ${connectionsMax}
max_client_conn = 1000
auth_type = trust
auth_file = ${users}
admin_users = ${superuser}
listen_addr = ${options.port ? '127.0.0.1' : ''}
listen_port = ${options.port ?? port}
unix_socket_dir = ${folder}
${program === PGBOUNCER_KEEPING ? `max_prepared_statements = ${keptStatements}` : ''}
${tls ? `client_tls_sslmode = require\nclient_tls_key_file = ${keyFile}\nclient_tls_cert_file = ${certFile}` : ''}
`,
  );

  const child = spawn(program, [settings], { ...account, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log = (log + text).slice(-10_000)));
  let hasEnded = false;
  const ended = new Promise<void>((resolve) => {
    child.once('error', (error) => (log += error.message));
    child.once('close', () => {
      hasEnded = true;
      resolve();
    });
  });
  const address = { host: folder, port: options.port ?? port };
  const ask = async (what: string) => {
    const client = new Client({ ...address, user: superuser, database: 'pgbouncer' });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(what)).rows;
    } finally {
      await client.end();
    }
  };
  const stop = async () => {
    // Immediately: an orderly shutdown would wait for its clients.
    child.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await eventually('PgBouncer answers', async () => {
      if (hasEnded) throw new Error(`PgBouncer has ended.\n${log}`);
      return ask('show version').catch(() => false as const);
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { address, ask, stop };
}

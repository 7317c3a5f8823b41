import { randomBytes } from 'node:crypto';
import { realpath, rename, writeFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { Log } from '../log';
import { clientConfig, isDatabaseUnavailable, type DatabaseAddress } from '../db/database';
import {
  binaries,
  ensureCluster,
  lastLines,
  requireMajorVersion,
  removeUnfinishedClusters,
  execute,
  serverAccount,
  settingsFile,
  socketFolder,
  superuser,
  type Account,
} from './files';
import { declareDead, isPostmaster, killRest, killServer, readPidFile } from './postmaster';
import { RestartLoop, type Owner } from './restart';
import { startFailureOf, startLog, watchLogs } from './server-logs';
import { onlyLock, trySessionLockSql } from '../db/locks';
import { raw, sql } from '../db/sql';
import { databaseTimeouts } from '../db/transaction';
import {
  promisedStopMilliseconds,
  stopReserveMilliseconds,
  databaseForcedStopMilliseconds,
} from '../shutdown';

/** Timeout of the wait for the lock of a dead owner. */
const databaseOwnerWaitMilliseconds = 5_000;

/** Timeout of the wait for remaining processes of a killed server. */
const databaseRestWaitMilliseconds = 60_000;

/** Timeout of an immediate stop, which only ends processes. */
const databaseImmediateStopSeconds = 1;

export interface EmbeddedPostgres {
  address: DatabaseAddress;
  /** Stops the server and waits for its end. @param deadline - of `Date.now()`; shortly before it, the stop is forced */
  stop(deadline?: number): Promise<void>;
}

interface Server {
  cluster: string;
  account: Account;
  pgCtl: (...args: string[]) => Promise<unknown>;
}

const databaseName = 'partner_catalog';

class AlreadyOwned extends Error {}

/**
 * Starts the PostgreSQL server of `<dataDir>/postgres`, which the first start creates. Takes over a server of a killed process.
 * The server listens only on a Unix socket in a private folder. As root, it runs under the owner of the data, else `postgres`,
 * else `nobody`. If that account cannot reach the folders, the binaries are copied below a public one, and
 * `<dataDir>/postgres` becomes a link.
 * @param settings - additional server settings, for example `{ fsync: 'off' }` for tests
 * @param signal - aborts the start, and stops the server
 * @param log - log of restarts; absent: a dead server is not restarted
 * @throws Error with a readable line when another service owns the data, or the server does not start; the signal's reason
 */
export async function startEmbeddedPostgres(
  dataDir: string,
  settings: Record<string, string> = {},
  signal = new AbortController().signal,
  log?: Log,
): Promise<EmbeddedPostgres> {
  const link = join(dataDir, 'postgres');
  const account = await serverAccount(link);
  const bin = await binaries(account);
  const cluster = await ensureCluster(bin, link, account);
  await requireMajorVersion(
    bin,
    cluster,
    (ofData, ofServer) =>
      `The data in ${cluster} are of PostgreSQL ${ofData}, and this version of the service brings ${ofServer}. ` +
      'Copy them with `npm run admin -- database copy`: docs/how-to/upgrade.md#move-to-a-new-major-version-of-postgresql.',
  );
  // These variables are for Node.js only.
  const { MALLOC_MMAP_THRESHOLD_: _, MALLOC_ARENA_MAX: __, ...env } = process.env;
  // pg_ctl puts the path between double quotes for a shell.
  const folder = /["$`\\]/.test(cluster) ? '.' : cluster;
  const pgCtl = (...args: string[]) =>
    execute(join(bin, 'pg_ctl'), ['--pgdata', folder, ...args], { ...account, cwd: cluster, env });
  const server: Server = { cluster, account, pgCtl };

  const leftOver = await isRunning(server);
  signal.throwIfAborted();
  if (!leftOver) {
    await writeSettings(server, settings);
    await startServer(server, signal);
  }
  const address = await serverAddress(cluster);
  const owner = await becomeOwner(address, dataDir);
  try {
    // Sessions of the killed process may still be rolling back.
    if (leftOver) await endOtherSessions(owner.client);
    await ensureDatabase(owner.client);
    await removeUnfinishedClusters(dataDir);
    signal.throwIfAborted();
  } catch (error) {
    leave(owner);
    await stopServer(server, Date.now() + stopReserveMilliseconds);
    throw error;
  }
  const restart = async (stopping: AbortSignal) => {
    if (!(await isRunning(server))) {
      log!.error('embedded PostgreSQL has ended, restarting it');
      await startServer(server, stopping);
      log!.info('embedded PostgreSQL restarted');
    }
    return becomeOwner(address, dataDir, stopping);
  };
  const loop = log && new RestartLoop(owner, restart, log);
  const stop = async (deadline?: number) => {
    const last = loop ? await loop.stop() : { owner, failure: undefined };
    if (last.failure instanceof AlreadyOwned && !last.owner) return;
    if (last.owner) leave(last.owner);
    await stopServer(server, deadline);
    if (!last.owner) killRest(cluster);
  };
  return { address: { ...address, database: databaseName }, stop };
}

/** Ends the owning session, without a wait for a frozen server. */
function leave({ client }: Owner): void {
  client.end().catch(() => undefined);
}

/** Returns the address of the running server of these data, if any; waits for one that is starting. */
export async function findEmbeddedPostgres(dataDir: string): Promise<DatabaseAddress | undefined> {
  const cluster = await realpath(join(dataDir, 'postgres'));
  const pidFile = await readPidFile(cluster);
  if (!pidFile || !(await isPostmaster(pidFile.pid, cluster))) return undefined;
  const address = await serverAddress(cluster);
  leave(await connectOwner(address));
  return { ...address, database: databaseName };
}

/** Returns whether a server of the cluster runs; a pid file alone can be left over. */
async function isRunning({ cluster }: Server): Promise<boolean> {
  const pidFile = await readPidFile(cluster);
  if (!pidFile) return false;
  if (await isPostmaster(pidFile.pid, cluster)) return true;
  await declareDead(cluster, pidFile);
  return false;
}

async function startServer(server: Server, signal: AbortSignal): Promise<void> {
  const { cluster, pgCtl } = server;
  for (const deadline = Date.now() + databaseRestWaitMilliseconds; ; await sleep(200)) {
    signal.throwIfAborted();
    const logged = await watchLogs(cluster);
    try {
      const started = pgCtl('start', '--wait', '--timeout', '60', '--silent', '--log', startLog);
      await unlessAborted(started, server, signal);
      return;
    } catch (error) {
      signal.throwIfAborted();
      // Another process was faster; the owner's lock decides between the two.
      if (await isRunning(server)) return;
      const lines = await logged();
      // Remaining processes of a killed server end once they notice its death.
      if (lines.some((line) => line.includes('is still in use')) && Date.now() < deadline) continue;
      const reason = startFailureOf(lines) || lastLines(error);
      throw new Error(`PostgreSQL did not start: ${reason}`, { cause: error });
    }
  }
}

/** Waits for a start, which recovery can delay; stops the server when the signal aborts. */
async function unlessAborted(started: Promise<unknown>, server: Server, signal: AbortSignal): Promise<void> {
  let isOver = false as boolean;
  const over = started.catch(() => undefined).then(() => (isOver = true));
  const listening = new AbortController();
  const aborted = new Promise((resolve) =>
    signal.addEventListener('abort', resolve, { signal: listening.signal }),
  );
  await Promise.race([over, aborted]);
  listening.abort();
  if (signal.aborted) {
    // A server writes its pid file with a delay.
    while (!isOver) {
      await stopServer(server, Date.now() + stopReserveMilliseconds);
      await Promise.race([over, sleep(100)]);
    }
    await stopServer(server, Date.now() + stopReserveMilliseconds);
  }
  await started;
}

/** The memory of the machine, or of the container. */
function availableBytes(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

async function writeSettings({ cluster, account }: Server, settings: Record<string, string>): Promise<void> {
  const all: Record<string, string> = {
    listen_addresses: '',
    unix_socket_directories: await socketFolder(cluster, account),
    unix_socket_permissions: '0700',
    // A backend releases its locks within this time after its client was killed, also during a statement.
    client_connection_check_interval: '1s',
    logging_collector: 'on',
    log_filename: 'postgresql-%a.log',
    log_truncate_on_rotation: 'on',
    // A load touches every page of its partner's indexes, 500 MB for a million products, and an update every row: beside a million products
    // of other partners, both take a sixth less with 3 GB than with 1 GB. Unused pages take nothing.
    shared_buffers: `${Math.min(4096, Math.ceil(availableBytes() / 8 / 1024 ** 2))}MB`,
    wal_buffers: '64MB',
    max_wal_size: '2GB',
    // A statement without a partner locks each partition of the products and its indexes: this is enough for 16.
    max_locks_per_transaction: '128',
    ...settings,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`);
  // Renamed into place: a server that another process is starting reads a complete file.
  const file = join(cluster, settingsFile);
  const unfinished = `${file}.${randomBytes(6).toString('hex')}`;
  await writeFile(unfinished, lines.join(''));
  await rename(unfinished, file);
}

/** Returns the address; waits until a starting server has written its socket. */
async function serverAddress(cluster: string): Promise<DatabaseAddress> {
  for (const deadline = Date.now() + databaseRestWaitMilliseconds; ; await sleep(50)) {
    const pidFile = await readPidFile(cluster);
    if (pidFile?.socketFolder) {
      return { host: pidFile.socketFolder, port: pidFile.port, user: superuser, database: 'postgres' };
    }
    if (Date.now() > deadline) throw new Error(`The PostgreSQL server of ${cluster} did not come up.`);
  }
}

/** Acquires the owner's lock; the server releases the lock of a dead owner once it notices. */
async function becomeOwner(address: DatabaseAddress, dataDir: string, signal?: AbortSignal): Promise<Owner> {
  const owner = await connectOwner(address, signal);
  try {
    for (
      const deadline = Date.now() + databaseOwnerWaitMilliseconds;
      ;
      await sleep(100, undefined, { signal })
    ) {
      const { sql: text } = sql`select ${trySessionLockSql('owner', raw(onlyLock.owner))} as mine`;
      const { rows } = await owner.client.query<{ mine: boolean }>(text);
      if (rows[0]!.mine) return owner;
      if (Date.now() > deadline) break;
    }
    await owner.client.end();
  } catch (error) {
    leave(owner);
    // Another owner was faster and has ended this session.
    if (!isDatabaseUnavailable(error)) throw error;
  }
  throw new AlreadyOwned(
    `Another running service uses ${dataDir}. Stop it, or set DATA_DIR to another folder.`,
  );
}

/** Connects; retries while the server is starting up, or when another owner has ended the session. */
async function connectOwner(address: DatabaseAddress, signal?: AbortSignal): Promise<Owner> {
  for (
    const deadline = Date.now() + databaseRestWaitMilliseconds;
    ;
    await sleep(100, undefined, { signal })
  ) {
    const client = new Client({
      ...clientConfig(address, 'owner'),
      query_timeout: databaseTimeouts.queryMilliseconds,
    });
    // If the server is killed, the pools get their own errors.
    client.on('error', () => undefined);
    const ended = new Promise<void>((resolve) => client.once('end', resolve));
    try {
      await client.connect();
      return { client, ended };
    } catch (error) {
      if (!isEndedSession(error) || Date.now() > deadline) throw error;
    }
  }
}

/** Tells whether the server ended or refused a session during its start. A session that ends before its authentication gets no reason. */
function isEndedSession(error: unknown): boolean {
  const { code = '', message } = error as { code?: string; message: string };
  return (
    ['57P01', '57P03', 'ECONNRESET', 'EPIPE'].includes(code) ||
    message === 'Connection terminated unexpectedly'
  );
}

async function endOtherSessions(owner: Client): Promise<void> {
  await owner.query(
    `select pg_terminate_backend(pid, $1) from pg_stat_activity
     where backend_type = 'client backend' and pid <> pg_backend_pid()`,
    [databaseOwnerWaitMilliseconds],
  );
}

async function ensureDatabase(owner: Client): Promise<void> {
  const { rowCount } = await owner.query('select from pg_database where datname = $1', [databaseName]);
  if (rowCount === 0) await owner.query(`create database ${databaseName}`);
}

/** Stops the server with mode fast, then immediate, then by SIGKILL. */
async function stopServer(server: Server, deadline = Date.now() + promisedStopMilliseconds): Promise<void> {
  const { cluster, pgCtl } = server;
  const fastSeconds = Math.floor((deadline - Date.now() - databaseForcedStopMilliseconds) / 1000);
  const ways = [
    ['fast', Math.max(fastSeconds, 1)],
    ['immediate', databaseImmediateStopSeconds],
  ] as const;
  for (const [mode, seconds] of ways) {
    if (!(await isRunning(server))) return;
    try {
      await pgCtl('stop', '--mode', mode, '--wait', '--timeout', String(seconds));
    } catch {
      continue;
    }
  }
  const pidFile = await readPidFile(cluster);
  if (pidFile && (await isPostmaster(pidFile.pid, cluster))) killServer(pidFile.pid, cluster);
}

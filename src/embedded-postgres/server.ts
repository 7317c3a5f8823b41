import { readFile, realpath, writeFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { Log } from '../shared/log';
import { clientConfig, isDatabaseUnavailable, type DatabaseAddress } from '../db/database';
import {
  binaries,
  ensureCluster,
  lastLines,
  removeUnfinishedClusters,
  run,
  serverAccount,
  settingsFile,
  socketFolder,
  superuser,
  type Account,
} from './files';
import { declareDead, isPostmaster, killRest, killServer, readPidFile } from './postmaster';
import { RestartLoop, type Owner } from './restart';
import { databaseQueryMilliseconds } from '../db/transaction';
import {
  promisedStopMilliseconds,
  stopReserveMilliseconds,
  databaseForcedStopMilliseconds,
} from '../shared/shutdown';

/** How long the next start waits for a dead owner of the embedded server to be noticed. */
const databaseOwnerWaitMilliseconds = 5_000;

/** How long it waits for parts of a killed server that are still amid a statement. */
const databaseRestWaitMilliseconds = 60_000;

/** How long an immediate stop may take; it only ends processes. */
const databaseImmediateStopSeconds = 1;

/** A PostgreSQL server of our own. */
export interface EmbeddedPostgres {
  address: DatabaseAddress;
  /**
   * Stops the server and waits until it has. Its data stay.
   * @param deadline - when it must have, in milliseconds of the clock: in order until shortly before, then by force
   */
  stop(deadline?: number): Promise<void>;
}

/** A server and how to control it. */
interface Server {
  cluster: string;
  account: Account;
  pgCtl: (...args: string[]) => Promise<unknown>;
}

const databaseName = 'partner_catalog';

/** Another process owns the server. */
class AlreadyOwned extends Error {}

/** Session lock that says which process owns the server; it goes when its owner does, however that ends. */
const ownerLock = 0x6f776e72;

/**
 * Starts the PostgreSQL server whose data lie in `<dataDir>/postgres`, creating it at the first start. It listens on a
 * Unix socket in a private folder and on no network address. A server that a killed process left running is taken over.
 *
 * It runs under our own account; as root under the account that owns the data, else `postgres`, else `nobody`. What that
 * account cannot reach is placed below a public folder: the binaries are copied, and `<dataDir>/postgres` becomes a link.
 * @param settings - additional server settings, for example `{ fsync: 'off' }` for tests
 * @param signal - gives up the start; no server of ours is left then
 * @param log - the server is restarted when it dies, which is logged there; absent: it is not restarted
 * @throws Error with a readable line when another service owns the data, or the server does not start; the signal's
 *   reason
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
  // How Node.js allocates memory is nothing for the server.
  const { MALLOC_MMAP_THRESHOLD_: _, ...env } = process.env;
  const pgCtl = (...args: string[]) =>
    run(join(bin, 'pg_ctl'), ['--pgdata', cluster, ...args], { ...account, cwd: '/', env });
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
    // Nobody else may use the server: sessions of the process that left it running still undo what it was doing.
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

/** Ends the session that owns a server; not awaited, because a frozen server would not answer. */
function leave({ client }: Owner): void {
  client.end().catch(() => undefined);
}

/** How to reach the server of these data, if one is running: that of a service, which owns it. */
export async function findEmbeddedPostgres(dataDir: string): Promise<DatabaseAddress | undefined> {
  const cluster = await realpath(join(dataDir, 'postgres'));
  const pidFile = await readPidFile(cluster);
  if (!pidFile || !(await isPostmaster(pidFile.pid, cluster))) return undefined;
  return { ...(await serverAddress(cluster)), database: databaseName };
}

/** Whether a server is at work over the cluster. A pid file alone does not say so: its process may be dead, or another. */
async function isRunning({ cluster }: Server): Promise<boolean> {
  const pidFile = await readPidFile(cluster);
  if (!pidFile) return false;
  if (await isPostmaster(pidFile.pid, cluster)) return true;
  await declareDead(cluster, pidFile);
  return false;
}

async function startServer(server: Server, signal: AbortSignal): Promise<void> {
  const { cluster, pgCtl } = server;
  const startLog = join(cluster, 'start.log');
  for (const deadline = Date.now() + databaseRestWaitMilliseconds; ; await sleep(200)) {
    signal.throwIfAborted();
    const before = (await readStartLog(startLog)).length;
    try {
      const started = pgCtl('start', '--wait', '--timeout', '60', '--silent', '--log', startLog);
      await unlessAborted(started, server, signal);
      return;
    } catch (error) {
      signal.throwIfAborted();
      const said = (await readStartLog(startLog)).subarray(before).toString().trim();
      // Parts of a killed server are still at work; they end when they notice.
      if (said.includes('is still in use') && Date.now() < deadline) continue;
      const reason = said.split('\n').slice(-3).join(' ') || lastLines(error);
      throw new Error(`PostgreSQL did not start: ${reason}`, { cause: error });
    }
  }
}

/** Waits for a start, which takes long where much is to be recovered; stops what it has started when it is given up. */
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
    // A server shows only a moment after its start that it is there.
    while (!isOver) {
      await stopServer(server, Date.now() + stopReserveMilliseconds);
      await Promise.race([over, sleep(100)]);
    }
    await stopServer(server, Date.now() + stopReserveMilliseconds);
  }
  await started;
}

/** What all starts so far have said; the server's account creates the file. */
function readStartLog(startLog: string): Promise<Buffer> {
  return readFile(startLog).catch(() => Buffer.alloc(0));
}

async function writeSettings({ cluster, account }: Server, settings: Record<string, string>): Promise<void> {
  const all: Record<string, string> = {
    listen_addresses: '',
    unix_socket_directories: await socketFolder(cluster, account),
    unix_socket_permissions: '0700',
    // A backend whose client was killed gives up its locks within this time, also amid a long statement.
    client_connection_check_interval: '1s',
    logging_collector: 'on',
    log_filename: 'postgresql-%a.log',
    log_truncate_on_rotation: 'on',
    // Loading a feed writes hundreds of megabytes: few checkpoints, and room for the indexes, of which it touches every
    // page. Those of a million products have 450 MB: with half of that, an update of a tenth took twice as long.
    shared_buffers: `${Math.min(1024, Math.ceil(totalmem() / 8 / 1024 ** 2))}MB`,
    wal_buffers: '64MB',
    max_wal_size: '2GB',
    ...settings,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`);
  await writeFile(join(cluster, settingsFile), lines.join(''));
}

/** A server that has only just been started has not written yet where its socket is. */
async function serverAddress(cluster: string): Promise<DatabaseAddress> {
  for (const deadline = Date.now() + databaseRestWaitMilliseconds; ; await sleep(50)) {
    const pidFile = await readPidFile(cluster);
    if (pidFile?.socketFolder) {
      return { host: pidFile.socketFolder, port: pidFile.port, user: superuser, database: 'postgres' };
    }
    if (Date.now() > deadline) throw new Error(`The PostgreSQL server of ${cluster} did not come up.`);
  }
}

/** Takes the owner's lock on a connection that stays open. A dead owner's lock goes as soon as the server notices. */
async function becomeOwner(address: DatabaseAddress, dataDir: string, signal?: AbortSignal): Promise<Owner> {
  const owner = await connectOwner(address, signal);
  try {
    for (
      const deadline = Date.now() + databaseOwnerWaitMilliseconds;
      ;
      await sleep(100, undefined, { signal })
    ) {
      const sql = 'select pg_try_advisory_lock($1) as mine';
      const { rows } = await owner.client.query<{ mine: boolean }>(sql, [ownerLock]);
      if (rows[0]!.mine) return owner;
      if (Date.now() > deadline) break;
    }
    await owner.client.end();
  } catch (error) {
    leave(owner);
    // An owner that was faster has ended our session.
    if (!isDatabaseUnavailable(error)) throw error;
  }
  throw new AlreadyOwned(
    `Another running service uses ${dataDir}. Stop it, or set DATA_DIR to another folder.`,
  );
}

/** A server that another process has only just started takes no connections yet. */
async function connectOwner(address: DatabaseAddress, signal?: AbortSignal): Promise<Owner> {
  for (
    const deadline = Date.now() + databaseRestWaitMilliseconds;
    ;
    await sleep(100, undefined, { signal })
  ) {
    const client = new Client({
      ...clientConfig(address, 'owner'),
      query_timeout: databaseQueryMilliseconds,
    });
    // The server may be killed; the pools notice it on their own.
    client.on('error', () => undefined);
    const ended = new Promise<void>((resolve) => client.once('end', resolve));
    try {
      await client.connect();
      return { client, ended };
    } catch (error) {
      if ((error as { code?: string }).code !== '57P03' || Date.now() > deadline) throw error;
    }
  }
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

/** In order if it can be; at once if that takes too long; and by force if even that does. */
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

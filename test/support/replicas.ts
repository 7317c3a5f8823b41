import { execFile } from 'node:child_process';
import { appendFileSync, chownSync, mkdirSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { type DatabaseAddress, openDatabase, queryRows, type Database } from '../../src/base/db/database';
import { sql } from '../../src/base/db/sql';
import { declareDead, readPidFile } from '../../src/base/embedded-postgres/postmaster';
import { afterFile, eventually, createTestFolder } from './harness';
import { databaseProcesses, removeDatabaseServer, signalDatabase } from './process';
import { databaseUrl, shared } from './databases';
import { readsThrough } from '../../src/base/db/reads';
import { Replica } from '../../src/base/db/replica';
import { createLog } from '../../src/base/log';

const run = promisify(execFile);

/** The programs of the shared server, and its user: as root, other programs cannot be used. */
async function programs(): Promise<{ bin: string; account: { uid: number; gid: number } }> {
  const { uid, gid } = statSync(shared().address.host!);
  const { pid } = (await readPidFile(shared().address.host!))!;
  return { bin: dirname(readlinkSync(`/proc/${pid}/exe`)), account: { uid, gid } };
}

/** Versions of PostgreSQL for tests: the embedded one, and the oldest supported one if installed (see jest.config.mjs). */
export const postgresVersions: { version: string; bin?: string }[] = [
  { version: 'the embedded PostgreSQL' },
  ...(process.env.POSTGRES_15 ? [{ version: 'PostgreSQL 15', bin: process.env.POSTGRES_15 }] : []),
];

/** A server of one test. It can be stopped, killed or frozen, and restarted. */
export class TestServer {
  /** Its database of the service. */
  readonly address: DatabaseAddress;
  readonly cluster: string;

  /** Its data are removed after the file. @param dataDir - a data folder, like one of a service */
  private constructor(
    private readonly dataDir: string,
    port: number,
    private readonly bin?: string,
  ) {
    this.cluster = join(dataDir, 'postgres');
    this.address = { host: this.cluster, port, user: 'postgres', database: 'partner_catalog' };
    afterFile(() => removeDatabaseServer(dataDir));
  }

  /** Creates a place for a server, without data. */
  static reserve(port = 5432, bin?: string): TestServer {
    const dataDir = join(createTestFolder(), 'data');
    mkdirSync(dataDir, { mode: 0o755 });
    return new TestServer(dataDir, port, bin);
  }

  /** Creates a stopped server with an empty cluster on a Unix socket. @param own - folder of its programs */
  static async create(port?: number, own?: string): Promise<TestServer> {
    const server = TestServer.reserve(port, own);
    const { cluster } = server;
    const { bin, account } = await server.programs();
    mkdirSync(cluster, { mode: 0o700 });
    chownSync(cluster, account.uid, account.gid);
    const args = ['--username', 'postgres', '--auth', 'trust', '--encoding', 'UTF8', '--locale', 'C'];
    await run(join(bin, 'initdb'), ['--pgdata', cluster, ...args, '--no-sync'], { ...account, cwd: '/' });
    server.configure({
      listen_addresses: '',
      port: String(server.address.port),
      unix_socket_directories: cluster,
      unix_socket_permissions: '0700',
      shared_buffers: '32MB',
      fsync: 'off',
      wal_level: 'replica',
    });
    return server;
  }

  async write(name: string, text: string): Promise<void> {
    const file = join(this.cluster, name);
    const { account } = await programs();
    writeFileSync(file, text, { mode: 0o600 });
    chownSync(file, account.uid, account.gid);
  }

  configure(settings: Record<string, string>): void {
    const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`);
    appendFileSync(join(this.cluster, 'postgresql.conf'), lines.join(''));
  }

  async start(): Promise<void> {
    await eventually('nothing of it is left', () => databaseProcesses(this.dataDir).length === 0);
    // A killed one may still be in the process table.
    const killed = await readPidFile(this.cluster);
    if (killed) await declareDead(this.cluster, killed);
    await this.control('start', '--silent', '--log', join(this.cluster, 'start.log'));
  }

  stop(): Promise<void> {
    return this.control('stop', '--mode', 'fast', '--silent');
  }

  /** Copies the stopped server, without starting the copy. The programs have no pg_basebackup. */
  async copy(): Promise<TestServer> {
    const copy = TestServer.reserve();
    // PostgreSQL requires owners and modes.
    await run('cp', ['-a', this.cluster, copy.cluster]);
    copy.configure({ unix_socket_directories: copy.cluster });
    return copy;
  }

  /** Makes the running server follow another server on a second timeline. */
  async follow({ address: { host, port, user } }: TestServer): Promise<void> {
    await this.ask(`alter system set primary_conninfo = 'host=${host} port=${port} user=${user}'`);
    await this.ask('select pg_reload_conf()');
    const sql = "select from pg_stat_wal_receiver where received_tli = 2 and status = 'streaming'";
    await eventually('it follows', async () => (await this.ask(sql)).length > 0, 60);
  }

  /** Promotes a replica to a primary, with a timeline of its own. */
  promote(): Promise<void> {
    return this.control('promote', '--silent');
  }

  signal(signal: NodeJS.Signals): void {
    signalDatabase(this.dataDir, signal);
  }

  private async programs() {
    const all = await programs();
    return { ...all, bin: this.bin ?? all.bin };
  }

  private async control(...args: string[]): Promise<void> {
    const { bin, account } = await this.programs();
    await run(join(bin, 'pg_ctl'), ['--pgdata', this.cluster, '--wait', ...args], { ...account, cwd: '/' });
  }

  /** Queries it as its superuser. @returns the rows */
  async ask<Row extends object>(sql: string, database = this.address.database): Promise<Row[]> {
    const client = new Client({ ...this.address, database });
    // A killed server closes it.
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query<Row>(sql)).rows;
    } finally {
      await client.end();
    }
  }
}

export type ReplicatedPostgres = Awaited<ReturnType<typeof startReplicatedPostgres>>;

/** Starts a server with an empty database of the service, and a streaming replica; both are removed after the file. */
export async function startReplicatedPostgres() {
  const primary = await TestServer.create();
  await primary.start();
  await primary.ask(`create database ${primary.address.database}`, 'postgres');
  await primary.stop();
  const replica = await primary.copy();
  await replica.write('standby.signal', '');
  const { host, port, user } = primary.address;
  replica.configure({
    primary_conninfo: `host=${host} port=${port} user=${user}`,
    wal_retrieve_retry_interval: '100ms',
  });
  await primary.start();
  await replica.start();

  const isPaused = async () => {
    const [state] = await replica.ask<{ state: string }>('select pg_get_wal_replay_pause_state() as state');
    return state!.state === 'paused';
  };
  return {
    primary,
    replica,
    caughtUp: () => caughtUp(primary, replica),
    /** Pauses the replay of a replica, which still receives WAL, until it is resumed. */
    async pauseReplay() {
      await replica.ask('select pg_wal_replay_pause()');
      await eventually('it is paused', isPaused);
    },
    async resumeReplay() {
      await replica.ask('select pg_wal_replay_resume()');
    },
  };
}

/** Returns when a replica has replayed everything that its primary has written until now. */
export async function caughtUp(primary: TestServer, replica: TestServer): Promise<void> {
  const [written] = await primary.ask<{ lsn: string }>('select pg_current_wal_flush_lsn() as lsn');
  const sql = `select pg_last_wal_replay_lsn() >= '${written!.lsn}' as has`;
  await eventually(
    'the replica has caught up',
    async () => (await replica.ask<{ has: boolean }>(sql))[0]!.has,
    60,
  );
}

export type WatchedReplica = ReturnType<typeof watchReplica>;

/** Watches a replica of a primary, and stops after the file. `said`: its log messages, with reasons. */
export function watchReplica(
  primary: TestServer,
  { address }: TestServer,
  { user = 'postgres', replicaDatabase = address.database, lagSeconds = 600, connections = 5 } = {},
) {
  const said: string[] = [];
  const log = createLog('info', {
    write(line) {
      const { msg, reason } = JSON.parse(line) as { msg: string; reason?: string };
      said.push(reason ? `${msg}: ${reason}` : msg);
    },
  });
  const pool = { applicationName: 'test', connectionsMax: 5, queryMilliseconds: 10_000 };
  const db = openDatabase({ ...primary.address, user }, pool);
  const url = databaseUrl({ ...address, database: replicaDatabase }, user);
  const replica = new Replica({ url, connections, lagSeconds }, db, log);
  afterFile(async () => {
    await replica.stop();
    await db.destroy();
  });
  return { replica, reads: readsThrough(replica, db, log), said };
}

/** Returns which of the two servers serves a read. */
export async function placeOf(db: Database): Promise<'replica' | 'primary'> {
  const [row] = await queryRows<{ standby: boolean }>(db, sql`select pg_is_in_recovery() as standby`);
  return row!.standby ? 'replica' : 'primary';
}

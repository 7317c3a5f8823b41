import { execFile } from 'node:child_process';
import { appendFileSync, chownSync, mkdirSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { type DatabaseAddress, openDatabase, queryRows, type Database } from '../../src/db/database';
import { declareDead, readPidFile } from '../../src/embedded-postgres/postmaster';
import { afterFile, eventually, createTestFolder } from './harness';
import { databaseProcesses, removeDatabaseServer, signalDatabase } from './process';
import { shared } from './databases';
import { readsThrough, type Reads } from '../../src/db/reads';
import { Replica } from '../../src/db/replica';
import { createLog } from '../../src/shared/log';

const run = promisify(execFile);

/** The programs of the shared server, and the account that it runs under: as root, others cannot be used. */
async function programs(): Promise<{ bin: string; account: { uid: number; gid: number } }> {
  const { uid, gid } = statSync(shared().address.host!);
  const { pid } = (await readPidFile(shared().address.host!))!;
  return { bin: dirname(readlinkSync(`/proc/${pid}/exe`)), account: { uid, gid } };
}

/** A server of a test's own. It can be stopped, killed or frozen, and started again. */
export class TestServer {
  /** Its database of the service. */
  readonly address: DatabaseAddress;
  readonly cluster: string;

  /** Its data are removed after the file. @param dataDir - where its data lie, as those of a service do */
  private constructor(
    private readonly dataDir: string,
    port: number,
  ) {
    this.cluster = join(dataDir, 'postgres');
    this.address = { host: this.cluster, port, user: 'postgres', database: 'partner_catalog' };
    afterFile(() => removeDatabaseServer(dataDir));
  }

  /** Makes a place for one, without any data. */
  static reserve(port = 5432): TestServer {
    const dataDir = join(createTestFolder(), 'data');
    mkdirSync(dataDir, { mode: 0o755 });
    return new TestServer(dataDir, port);
  }

  /** Makes one with an empty cluster, which listens on a Unix socket, and is to be started. */
  static async create(port?: number): Promise<TestServer> {
    const server = TestServer.reserve(port);
    const { cluster } = server;
    const { bin, account } = await programs();
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

  /** Writes a file of its cluster, readable by its account only. */
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
    // A killed one may still stand in the process table.
    const killed = await readPidFile(this.cluster);
    if (killed) await declareDead(this.cluster, killed);
    await this.control('start', '--silent', '--log', join(this.cluster, 'start.log'));
  }

  stop(): Promise<void> {
    return this.control('stop', '--mode', 'fast', '--silent');
  }

  /** Makes a copy of it, at rest, that follows another server, and is to be started. */
  async copyAsReplicaOf(primary: TestServer, settings: Record<string, string> = {}): Promise<TestServer> {
    const replica = TestServer.reserve();
    // Owners and modes matter to PostgreSQL.
    await run('cp', ['-a', this.cluster, replica.cluster]);
    await replica.becomeReplicaOf(primary, settings);
    return replica;
  }

  /** Has it follow another server from its next start on. */
  async becomeReplicaOf(primary: TestServer, settings: Record<string, string> = {}): Promise<void> {
    const { host, port, user } = primary.address;
    await this.write('standby.signal', '');
    this.configure({
      unix_socket_directories: this.cluster,
      primary_conninfo: `host=${host} port=${port} user=${user}`,
      wal_retrieve_retry_interval: '100ms',
      ...settings,
    });
  }

  /** Makes a replica a primary, on a timeline of its own. */
  promote(): Promise<void> {
    return this.control('promote', '--silent');
  }

  /** Notes its data, at rest. @returns what puts them back, at rest again */
  async backUp(): Promise<() => Promise<void>> {
    const copy = join(createTestFolder(), 'backup');
    await run('cp', ['-a', this.cluster, copy]);
    return async () => {
      rmSync(this.cluster, { recursive: true });
      await run('cp', ['-a', copy, this.cluster]);
    };
  }

  /** Sends a signal to all of its processes. */
  signal(signal: NodeJS.Signals): void {
    signalDatabase(this.dataDir, signal);
  }

  private async control(...args: string[]): Promise<void> {
    const { bin, account } = await programs();
    await run(join(bin, 'pg_ctl'), ['--pgdata', this.cluster, '--wait', ...args], { ...account, cwd: '/' });
  }

  /** Asks it as its superuser. @returns the rows */
  async ask<Row extends object>(sql: string, database = this.address.database): Promise<Row[]> {
    const client = new Client({ ...this.address, database });
    // A server that is killed ends it.
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query<Row>(sql)).rows;
    } finally {
      await client.end();
    }
  }
}

/** A server and its streaming replica, both of the test file's own; they are gone after it. */
export interface ReplicatedPostgres {
  primary: TestServer;
  replica: TestServer;
  /** Returns when the replica has all that the primary has written until now. */
  caughtUp(): Promise<void>;
  /** Has the replica receive, and not show, what is written from now on, until it is resumed. */
  pauseReplay(): Promise<void>;
  resumeReplay(): Promise<void>;
}

/** Starts both, with an empty database of the service. The programs have no pg_basebackup: a server at rest is copied. */
export async function startReplicatedPostgres(
  replicaSettings: Record<string, string> = {},
): Promise<ReplicatedPostgres> {
  const primary = await TestServer.create();
  await primary.start();
  await primary.ask(`create database ${primary.address.database}`, 'postgres');
  await primary.stop();
  const replica = await primary.copyAsReplicaOf(primary, replicaSettings);
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
    async pauseReplay() {
      await replica.ask('select pg_wal_replay_pause()');
      await eventually('it is paused', isPaused);
    },
    async resumeReplay() {
      await replica.ask('select pg_wal_replay_resume()');
    },
  };
}

/** Returns when a replica has replayed all that its primary has written until now. */
export async function caughtUp(primary: TestServer, replica: TestServer): Promise<void> {
  const [written] = await primary.ask<{ lsn: string }>('select pg_current_wal_flush_lsn() as lsn');
  const sql = `select pg_last_wal_replay_lsn() >= '${written!.lsn}' as has`;
  await eventually(
    'the replica has caught up',
    async () => (await replica.ask<{ has: boolean }>(sql))[0]!.has,
    60,
  );
}

/** A replica as the service watches it, and reads that go through it. */
export interface WatchedReplica {
  replica: Replica;
  reads: Reads;
  /** What it has logged: the texts, with the reason where there is one. */
  said: string[];
}

/** Watches a replica of a primary. It is stopped after the file. */
export function watchReplica(
  primary: DatabaseAddress,
  url: string,
  { lagSeconds = 60, connections = 5 }: { lagSeconds?: number; connections?: number } = {},
): WatchedReplica {
  const said: string[] = [];
  const log = createLog('info', {
    write(line) {
      const { msg, reason } = JSON.parse(line) as { msg: string; reason?: string };
      said.push(reason ? `${msg}: ${reason}` : msg);
    },
  });
  const db = openDatabase(primary, { applicationName: 'test', connectionsMax: 5, queryMilliseconds: 10_000 });
  const replica = new Replica({ url, connections, lagSeconds }, primary, log);
  afterFile(async () => {
    await replica.stop();
    await db.destroy();
  });
  return { replica, reads: readsThrough(replica, db), said };
}

export const used = ({ replica }: WatchedReplica) =>
  eventually('the replica is used', () => replica.age() < Infinity);

export const unused = ({ replica }: WatchedReplica) =>
  eventually('the replica is not used', () => replica.age() === Infinity, 60);

/** Which of the two servers a read is done on. */
export async function placeOf(db: Database): Promise<'replica' | 'primary'> {
  const [row] = await queryRows<{ standby: boolean }>(db, 'select pg_is_in_recovery() as standby', []);
  return row!.standby ? 'replica' : 'primary';
}

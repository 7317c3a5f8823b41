import { chownSync, existsSync, mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Client, type ClientConfig } from 'pg';
import { binaries, execute, serverAccount } from '../../src/base/embedded-postgres/files';
import { embeddedAddress, startServiceProcess, thisBuild, type Build } from '../service-process';
import { watchPostgres, watchProcessors } from './processor-time';

/** Location of PostgreSQL: `DATABASE_URL`, or a server started by the service. */
export const databaseKinds = ['external', 'embedded'] as const;
export type DatabaseKind = (typeof databaseKinds)[number];

export const apiKey = 'key-of-the-benchmark';
export const keyHeader = { 'x-api-key': apiKey };

/** A build to measure. `settings`: its environment. */
export interface MeasuredBuild {
  build: Build;
  settings?: Record<string, string>;
}

export interface Service {
  port: number;
  url: string;
  pid: number;
  dataDir: string;
  /** Start of its process, in the time of `performance.now()`. */
  startedAt: number;
  address: ClientConfig;
  database: Client;
  /** For people: 'PostgreSQL 15.18, external', and settings that are not default. */
  description: string;
  /** Watches the processor time of node and of PostgreSQL. @returns a function that returns the milliseconds since then */
  watch: Watch;
}

export type Watch = () => () => { node: number; postgres: number };

/** The server of a production installation: from Debian if installed, else the programs of the embedded one. */
const debian = '/usr/lib/postgresql/15/bin';

export const withService = <T>(
  folder: string,
  work: (service: Service) => Promise<T>,
  settings?: Record<string, string>,
): Promise<T> =>
  withServices('embedded', folder, { service: { build: thisBuild, settings } }, ({ service }) =>
    work(service),
  );

/**
 * Calls `work` with the services, each with an empty database; external ones are on the same server. Removes all data.
 * @param serverSettings - of an external server, besides its default settings
 */
export async function withServices<Name extends string, T>(
  kind: DatabaseKind,
  folder: string,
  builds: Record<Name, MeasuredBuild>,
  work: (services: Record<Name, Service>) => Promise<T>,
  serverSettings: Record<string, string> = {},
): Promise<T> {
  const stops: (() => Promise<unknown>)[] = [];
  try {
    const external =
      kind === 'external' ? await startPostgres(join(folder, 'postgresql'), serverSettings) : undefined;
    if (external) stops.push(() => external.stop());
    const services: Partial<Record<Name, Service>> = {};
    for (const [name, { build, settings }] of Object.entries(builds) as [Name, MeasuredBuild][]) {
      const dataDir = join(folder, `${kind}-${name}`);
      mkdirSync(dataDir);
      stops.push(() => rm(dataDir, { recursive: true }));
      const url = external && (await external.createDatabase(name));
      const address = url === undefined ? embeddedAddress(dataDir) : { connectionString: url };
      const given = Object.entries(settings ?? {}).map(([setting, value]) => `${setting}=${value}`);
      const startedAt = performance.now();
      const process = await startServiceProcess(
        dataDir,
        { API_KEYS: apiKey, ...(url !== undefined && { DATABASE_URL: url }), ...settings },
        build,
      );
      stops.push(() => process.stop());
      const database = new Client({ ...address, application_name: 'measurement' });
      await database.connect();
      stops.push(() => database.end());
      services[name] = {
        ...process,
        dataDir,
        startedAt,
        port: Number(new URL(process.url).port),
        address,
        database,
        description: [await describeServer(database, kind), ...given].join(', '),
        watch: await watchBoth(process.pid, database),
      };
    }
    return await work(services as Record<Name, Service>);
  } finally {
    for (const stop of stops.toReversed()) await stop();
  }
}

async function describeServer(database: Client, kind: DatabaseKind): Promise<string> {
  const { rows } = await database.query<{ version: string }>(
    `select split_part(current_setting('server_version'), ' ', 1) as version`,
  );
  return `PostgreSQL ${rows[0]!.version}, ${kind}`;
}

/** @param database - a connection to the PostgreSQL server whose processes are watched too */
export async function watchBoth(pid: number, database: Client): Promise<Watch> {
  const { rows } = await database.query<{ pid: number }>('select pg_backend_pid() as pid');
  return () => {
    const node = watchProcessors(pid);
    const postgres = watchPostgres(rows[0]!.pid);
    return () => ({ node: node(), postgres: postgres() });
  };
}

/** Starts a PostgreSQL server on a free port of this machine; its settings are the default ones, except for `settings`. */
async function startPostgres(cluster: string, settings: Record<string, string>) {
  const account = await serverAccount(cluster);
  const bin = existsSync(debian) ? debian : await binaries(account);
  mkdirSync(cluster, { mode: 0o700 });
  if (account) chownSync(cluster, account.uid, account.gid);
  const run = (program: string, ...args: string[]) =>
    execute(join(bin, program), ['--pgdata', cluster, ...args], { ...account, cwd: '/' });
  await run('initdb', '--username', 'postgres', '--auth', 'trust', '--encoding', 'UTF8', '--locale', 'C');
  const port = await freePort();
  const options = Object.entries({ port, unix_socket_directories: cluster, ...settings })
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
  await run('pg_ctl', 'start', '--wait', '--silent', '--log', join(cluster, 'log'), '--options', options);
  const urlOf = (database: string) => `postgresql://postgres@127.0.0.1:${port}/${database}`;
  return {
    async createDatabase(name: string) {
      const client = new Client(urlOf('postgres'));
      await client.connect();
      await client.query(`create database ${client.escapeIdentifier(name)}`);
      await client.end();
      return urlOf(name);
    },
    async stop() {
      await run('pg_ctl', 'stop', '--wait', '--silent', '--mode', 'fast');
      await rm(cluster, { recursive: true });
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

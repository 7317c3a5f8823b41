import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';

/** The built service as a child process, on a free port with an embedded database. */
export interface ServiceProcess {
  pid: number;
  url: string;
  /** Sends SIGTERM and waits. @returns the exit code */
  stop(): Promise<number | null>;
}

/** A compiled version of the service, and how its `npm start` runs it. */
export interface Build {
  entry: string;
  nodeFlags: string[];
  environment: Record<string, string>;
}

/** Describes the build in a folder that has a `package.json` and a `dist`. */
export function buildIn(folder: string): Build {
  const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    scripts: { start: string };
  };
  return {
    entry: join(folder, 'dist', 'src', 'main.js'),
    nodeFlags: scripts.start.match(/--\S+/g) ?? [],
    environment: Object.fromEntries(
      Array.from(scripts.start.matchAll(/(?<!\S)([A-Z_]+)=(\S+)/g), ([, name, value]) => [name, value]),
    ),
  };
}

const projectFolder = join(__dirname, '..');

export const thisBuild = buildIn(projectFolder);
/** Exists after `make dist/last-release/.built`. */
export const lastReleaseFolder = join(projectFolder, 'dist', 'last-release');

/** Starts the service on a data folder. @param settings - its environment, in addition to the search path */
export async function startServiceProcess(
  dataDir: string,
  settings: Record<string, string>,
  { entry, nodeFlags, environment }: Build = thisBuild,
): Promise<ServiceProcess> {
  const child = spawn(process.execPath, [...nodeFlags, entry], {
    env: { ...environment, PATH: process.env.PATH, DATA_DIR: dataDir, PORT: '0', ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the service did not start')));
    child.stdout.on('data', (chunk: Buffer) => {
      const listening = /"url":"([^"]+)"/.exec(chunk.toString());
      if (listening) resolve(listening[1]!);
    });
  });
  return {
    pid: child.pid!,
    url,
    stop() {
      child.kill('SIGTERM');
      return exited;
    },
  };
}

export interface WorkerProcess {
  pid: number;
  operatorUrl: string;
  /** Sends a signal and waits for the exit. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<unknown>;
}

/**
 * Starts a worker on the data folder of a running service, and waits until it is ready. @param settings - additional environment
 */
export async function startWorkerProcess(
  dataDir: string,
  settings: Record<string, string> = {},
): Promise<WorkerProcess> {
  const { entry, nodeFlags, environment } = thisBuild;
  const host = encodeURIComponent(socketFolder(dataDir));
  const child = spawn(process.execPath, [...nodeFlags, entry, 'worker'], {
    env: {
      ...environment,
      PATH: process.env.PATH,
      DATA_DIR: dataDir,
      DATABASE_URL: `postgresql://postgres@/partner_catalog?host=${host}`,
      METRICS_PORT: '0',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const operatorUrl = await new Promise<string>((resolve, reject) => {
    let printed = '';
    child.once('exit', () => reject(new Error('the worker did not start')));
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
      const address = /"metrics_url":"([^"]+)"/.exec(printed)?.[1];
      if (address && printed.includes('working on queued runs')) resolve(address);
    });
  });
  return {
    pid: child.pid!,
    operatorUrl,
    end(signal) {
      child.kill(signal);
      return exited;
    },
  };
}

export const socketFolder = (dataDir: string) => join(dataDir, 'postgres');

export const embeddedAddress = (dataDir: string) => ({
  host: socketFolder(dataDir),
  user: 'postgres',
  database: 'partner_catalog',
});

/** Connects to the embedded database of a running service. The caller closes the connection. */
export async function connectTo(dataDir: string): Promise<Client> {
  const client = new Client({ ...embeddedAddress(dataDir), application_name: 'measurement' });
  await client.connect();
  return client;
}

/** The median; the higher of the middle two. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

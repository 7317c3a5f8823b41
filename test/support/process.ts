import { execFile, spawn, type ChildProcess } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { DatabaseAddress } from '../../src/base/db/database';
import { thisBuild } from '../../scripts/service-process';
import { afterFile, createTestFolder, eventually, project } from './harness';
import { ApiClient } from './api-client';
import { shared } from './databases';

// Of a first start beside others: `initdb` waits for the disk.
const startSeconds = 120;

/** The exit of a process, and its output. */
export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

interface ProcessOptions {
  /** The whole environment, except the search path; default: `PORT=0` and a data folder. */
  env?: Record<string, string>;
  /** The key of its client; default: the one of the settings, or the printed one. */
  key?: string;
  account?: { uid: number; gid: number };
  cwd?: string;
  /** Its argument: a `worker` only executes queued runs. */
  role?: string;
  args?: string[];
  /** The project folder of the build; default: this one. */
  root?: string;
}

/** A process of the built service. It is killed after the file, with its PostgreSQL. */
export class ServiceProcess {
  readonly exit: Promise<Exit>;
  private stdoutText = '';
  private stderrText = '';
  private ended = false;

  constructor(
    private readonly child: ChildProcess,
    readonly dataDir: string,
    private readonly givenKey: string | undefined,
  ) {
    child.stdout!.setEncoding('utf8').on('data', (text: string) => (this.stdoutText += text));
    child.stderr!.setEncoding('utf8').on('data', (text: string) => (this.stderrText += text));
    this.exit = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        this.ended = true;
        resolve({ code, signal, stdout: this.stdoutText, stderr: this.stderrText });
      });
    });
  }

  get pid(): number {
    return this.child.pid!;
  }

  /** Its output so far. */
  get stdout(): string {
    return this.stdoutText;
  }

  get isRunning(): boolean {
    return !this.ended;
  }

  /** The address of its API; undefined before it listens. */
  get url(): string | undefined {
    return (/"url":"(http[^"]+)"/.exec(this.stdoutText) ??
      /^ *address +(http\S+)$/m.exec(this.stdoutText))?.[1];
  }

  /** The address of its metrics and probes; undefined before it listens. */
  get operatorUrl(): string | undefined {
    return /"metrics_url":"(http[^"]+)"/.exec(this.stdoutText)?.[1];
  }

  /** The key that it was given, or has printed. */
  get key(): string | undefined {
    return this.givenKey ?? /^ *API key +(\S+)\n/m.exec(this.stdoutText)?.[1];
  }

  get api(): ApiClient {
    return new ApiClient(this.url!, this.key);
  }

  /** Waits until it listens. @throws Error with its output if it exits instead */
  async listens(): Promise<this> {
    const isKnown = () => this.url !== undefined && this.key !== undefined;
    await eventually('the service listens', () => this.ended || isKnown(), startSeconds);
    if (this.ended) throw new Error(`The service has ended.\n${this.stdoutText}${this.stderrText}`);
    return this;
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Sends the signal like the key of a terminal: to the whole process group. */
  killGroup(signal: NodeJS.Signals): void {
    process.kill(-this.pid, signal);
  }

  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    this.kill(signal);
    return this.exit;
  }
}

/** Spawns the built service (`make dist/.built`), without waiting. */
export function spawnService({
  env = {},
  key,
  account,
  cwd = project,
  role,
  args = [],
  root = project,
}: ProcessOptions = {}): ServiceProcess {
  const main = join(root, 'dist/src/main.js');
  if (!existsSync(main)) throw new Error('The service is not built: run `make dist/.built`.');
  const dataDir = env.DATA_DIR ?? (cwd === project ? join(createTestFolder(), 'data') : join(cwd, '.data'));
  const child = spawn(process.execPath, [...thisBuild.nodeFlags, main, ...(role ? [role] : []), ...args], {
    cwd,
    // A group of its own, so that its signals do not reach the tests.
    detached: true,
    env: {
      ...thisBuild.environment,
      PATH: process.env.PATH,
      PORT: '0',
      ...(cwd === project && { DATA_DIR: dataDir }),
      AWS_ACCESS_KEY_ID: process.env.AWS_ACCESS_KEY_ID,
      AWS_SECRET_ACCESS_KEY: process.env.AWS_SECRET_ACCESS_KEY,
      ...env,
    },
    ...account,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const service = new ServiceProcess(child, dataDir, key ?? env.API_KEYS);
  afterFile(async () => {
    if (service.isRunning) await service.stop('SIGKILL');
    await removeDatabaseServer(dataDir);
  });
  return service;
}

export function startService(options?: ProcessOptions): Promise<ServiceProcess> {
  return spawnService(options).listens();
}

/** The folder of the cluster of the embedded PostgreSQL of this data folder. */
export function clusterOf(dataDir: string): string {
  return realpathSync(join(dataDir, 'postgres'));
}

/** Finds the PostgreSQL processes whose arguments or working directory contain the data folder; the server comes first. */
export function databaseProcesses(dataDir: string): number[] {
  const folders = [dataDir];
  if (existsSync(join(dataDir, 'postgres'))) folders.push(clusterOf(dataDir));
  const found = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        const cwd = readlinkSync(`/proc/${pid}/cwd`);
        return folders.some((folder) => [cwd, ...command].some((path) => isWithin(path, folder)));
      } catch {
        // The process has exited, or belongs to another user.
        return false;
      }
    });
  return found.map(Number).sort((a, b) => a - b);
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

/** The processes that hold a whole server for this data folder: at most one is allowed. */
export function postmasters(dataDir: string): number[] {
  const servers = databaseProcesses(dataDir).filter((pid) => {
    try {
      const parts = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      return parts[0]!.endsWith('/postgres') && parts[1] === '-D';
    } catch {
      return false;
    }
  });
  // A child just forked by a server, for example for a connection, briefly looks like it.
  return servers.filter((pid) => {
    const parent = parentOf(pid);
    return parent !== undefined && !servers.includes(parent);
  });
}

/** Returns the parent of a process; undefined if the process has exited. */
function parentOf(pid: number): number | undefined {
  try {
    return Number(/^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);
  } catch {
    return undefined;
  }
}

/** Sends a signal to every process of the data folder's PostgreSQL, the server itself first. */
export function signalDatabase(dataDir: string, signal: NodeJS.Signals): void {
  const servers = postmasters(dataDir);
  servers.forEach((pid) => signalProcess(pid, signal));
  if (signal === 'SIGSTOP') servers.forEach(waitUntilStopped);
  // Found only after the server is stopped, which then forks no more of them.
  for (const pid of databaseProcesses(dataDir)) if (!servers.includes(pid)) signalProcess(pid, signal);
}

/** Waits until a process is stopped: it handles the signal only when scheduled, and may fork before that. */
function waitUntilStopped(pid: number): void {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  const isStopped = () => /\) [TtZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  for (let times = 0; times < 5_000 && !isStopped(); times++) Atomics.wait(pause, 0, 0, 1);
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/**
 * Kills the PostgreSQL of a data folder, and removes its data. Repeats both: a service that was killed while it started
 * PostgreSQL leaves a child that becomes a server process a moment later.
 */
export async function removeDatabaseServer(dataDir: string): Promise<void> {
  await eventually('its PostgreSQL is gone', () => {
    signalDatabase(dataDir, 'SIGKILL');
    return databaseProcesses(dataDir).length === 0 && removeData(dataDir);
  });
}

/** Removes the data of a PostgreSQL. @returns false if a process still writes them */
function removeData(dataDir: string): boolean {
  // As root, the data may be in a public folder instead.
  if (!existsSync(join(dataDir, 'postgres'))) return true;
  try {
    rmSync(clusterOf(dataDir), { recursive: true, force: true });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error;
    return false;
  }
}

/** The address of the running embedded PostgreSQL of a data folder. */
export function embeddedAddress(dataDir: string): DatabaseAddress {
  const lines = readFileSync(join(clusterOf(dataDir), 'postmaster.pid'), 'utf8').split('\n');
  return { host: lines[4]!.trim(), port: Number(lines[3]), user: 'postgres', database: 'partner_catalog' };
}

let used: Promise<string> | undefined;

/** Copies a data folder on which the service has run before: a start on it takes half the time. */
export async function usedDataDir(copy = join(createTestFolder(), 'data')): Promise<string> {
  used ??= findUsedDataDir();
  await copyFolder(await used, copy);
  return copy;
}

/** Returns the folder to copy, which the first test file that needs it creates. */
async function findUsedDataDir(): Promise<string> {
  const folder = join(shared().folder, 'used');
  const found = join(folder, 'data');
  try {
    mkdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return eventually('another file has made the data folder', () => existsSync(found) && found, 120);
  }
  const service = await startService();
  await service.stop();
  await copyFolder(service.dataDir, `${found}.unfinished`);
  renameSync(`${found}.unfinished`, found);
  return found;
}

/** Copies a folder with owners and modes, which PostgreSQL requires. */
export async function copyFolder(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to]);
}

/** Starts the service on such a folder. */
export async function startUsedService(env: Record<string, string> = {}): Promise<ServiceProcess> {
  return startService({ env: { DATA_DIR: await usedDataDir(), ...env } });
}

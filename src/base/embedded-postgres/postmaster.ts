import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { readFile, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execute } from './files';

/** A process id that no system assigns. */
const deadPid = 2 ** 31 - 2;

interface PidFile {
  pid: number;
  port: number;
  socketFolder: string;
}

/** Reads `postmaster.pid`, if it exists: pid, data folder, start time, port, socket folder, … */
export async function readPidFile(cluster: string): Promise<PidFile | undefined> {
  const text = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => undefined);
  if (!text?.includes('\n')) return undefined;
  // The server may be rewriting it: the last line may be incomplete.
  const lines = text
    .slice(0, text.lastIndexOf('\n'))
    .split('\n')
    .map((line) => line.trim());
  return { pid: Number(lines[0]), port: Number(lines[3]), socketFolder: lines[4] ?? '' };
}

/**
 * Marks the server of the pid file and the socket lock as dead. Another process may have its id, or it was not reaped.
 * PostgreSQL needs the rest of the files to detect remaining processes of the old server.
 */
export async function declareDead(cluster: string, { port, socketFolder }: PidFile): Promise<void> {
  for (const file of [join(cluster, 'postmaster.pid'), join(socketFolder, `.s.PGSQL.${port}.lock`)]) {
    const text = await readFile(file, 'utf8').catch(() => undefined);
    if (text !== undefined) await writeFile(file, text.replace(/^.*/, String(deadPid)));
  }
}

/** Returns whether the process is a live server of this cluster: a server works in the folder of its data. */
export async function isPostmaster(pid: number, cluster: string): Promise<boolean> {
  try {
    if (process.platform !== 'linux') {
      const { stdout } = await execute('ps', ['-o', 'args=', '-p', String(pid)]);
      return stdout.includes('postgres') && stdout.includes(cluster);
    }
    const name = await readFile(`/proc/${pid}/comm`, 'utf8');
    return name === 'postgres\n' && (await readlink(`/proc/${pid}/cwd`)) === cluster;
  } catch (error) {
    // Only its account and root can read the folder of a process.
    return (error as NodeJS.ErrnoException).code === 'EACCES';
  }
}

/** Kills all processes of the server, frozen ones too; the next start recovers its data. */
export function killServer(pid: number, cluster: string): void {
  kill([pid]);
  killRest(cluster);
}

/** Kills the remaining processes of a dead server. */
export function killRest(cluster: string): void {
  kill(processesIn(cluster));
}

function kill(pids: number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // The process has ended.
    }
  }
}

/** Lists the PostgreSQL processes whose working directory is the folder; on Linux only. */
function processesIn(folder: string): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return (
          readlinkSync(`/proc/${name}/cwd`) === folder &&
          readFileSync(`/proc/${name}/comm`, 'utf8') === 'postgres\n'
        );
      } catch {
        return false;
      }
    })
    .map(Number);
}

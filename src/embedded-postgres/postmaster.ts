import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './files';

/** No process ever has this number: it is beyond what any system gives out. */
const deadPid = 2 ** 31 - 2;

/** What a server has written of itself into its data folder. */
interface PidFile {
  pid: number;
  port: number;
  socketFolder: string;
}

/** Reads `postmaster.pid`; undefined when there is none. Its lines: pid, data folder, start time, port, socket folder, … */
export async function readPidFile(cluster: string): Promise<PidFile | undefined> {
  const text = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => undefined);
  if (!text) return undefined;
  const lines = text.split('\n').map((line) => line.trim());
  return { pid: Number(lines[0]), port: Number(lines[3]), socketFolder: lines[4] ?? '' };
}

/**
 * Tells PostgreSQL that the server named in the pid file, and in the lock of its socket, is dead. It sees that by itself,
 * unless another process has the number by now, or the dead one still stands in the process table. The rest of the files
 * stays: by it PostgreSQL finds out whether parts of the old server are still at work.
 */
export async function declareDead(cluster: string, { port, socketFolder }: PidFile): Promise<void> {
  for (const file of [join(cluster, 'postmaster.pid'), join(socketFolder, `.s.PGSQL.${port}.lock`)]) {
    const text = await readFile(file, 'utf8').catch(() => undefined);
    if (text !== undefined) await writeFile(file, text.replace(/^.*/, String(deadPid)));
  }
}

/** Whether the process is a server over this cluster, and alive. */
export async function isPostmaster(pid: number, cluster: string): Promise<boolean> {
  try {
    // Of Linux; the command line of a process that is dead but not reaped is empty.
    const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(async (error: unknown) => {
      if (process.platform === 'linux') throw error;
      return (await run('ps', ['-o', 'args=', '-p', String(pid)])).stdout;
    });
    return commandLine.includes('postgres') && commandLine.includes(cluster);
  } catch {
    return false;
  }
}

/** Kills every process of the server over this cluster, frozen ones too. The next start recovers its data. */
export function killServer(pid: number, cluster: string): void {
  kill([pid]);
  killRest(cluster);
}

/** Kills what is left of a server over this cluster that is dead. */
export function killRest(cluster: string): void {
  kill(processesIn(cluster));
}

function kill(pids: number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** The processes that work in the folder, as all of a server's do; none where the system does not tell. */
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

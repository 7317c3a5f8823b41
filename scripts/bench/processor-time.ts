import { readdirSync, readFileSync } from 'node:fs';

/**
 * Watches the processor time of a Node process and of its Node children. Linux only.
 * @returns a function that gives the milliseconds since, of the process alone and of all
 */
export function watchProcessors(pid: number): () => { first: number; all: number } {
  const pids = [pid, ...childrenOf(pid)];
  const before = pids.map(processorTime);
  return () => {
    const taken = pids.map((each, at) => processorTime(each) - before[at]!);
    return { first: taken[0]!, all: taken.reduce((sum, each) => sum + each) };
  };
}

/** Processes of the same program, so not its PostgreSQL. */
function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((each) => {
      try {
        return Number(statOf(each)[1]) === pid && readFileSync(`/proc/${each}/comm`, 'utf8') === 'node\n';
      } catch {
        return false;
      }
    });
}

/** In milliseconds; Linux counts it in hundredths of a second. */
function processorTime(pid: number): number {
  const fields = statOf(pid);
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

/** The fields of /proc/PID/stat after the name, which may contain any character. */
function statOf(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

import { readdirSync, readFileSync } from 'node:fs';

/**
 * Watches the processor time of a process with all threads. Linux only. @returns a function that returns milliseconds since then
 */
export function watchProcessors(pid: number): () => number {
  const before = processorTime(pid);
  return () => processorTime(pid) - before;
}

/**
 * Watches the processor time of all processes of a PostgreSQL server on this machine.
 * @param backendPid - the process of one of its connections
 * @returns a function that returns the milliseconds since then
 */
export function watchPostgres(backendPid: number): () => number {
  const postmaster = Number(statOf(backendPid)[1]);
  // The time of an ended process is added to its parent.
  const taken = () =>
    childrenOf(postmaster).reduce(
      (sum, pid) => sum + threadTimeUnlessEnded(pid),
      processorTime(postmaster) + endedChildrenTime(postmaster),
    );
  const before = taken();
  return () => taken() - before;
}

/** Lists the processes of a PostgreSQL server except its first one. */
function childrenOf(postmaster: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((each) => {
      try {
        return (
          Number(statOf(each)[1]) === postmaster &&
          readFileSync(`/proc/${each}/comm`, 'utf8') === 'postgres\n'
        );
      } catch {
        return false;
      }
    });
}

/**
 * Reads milliseconds from nanoseconds. `stat` truncates to hundredths of a second for each of many processes, and workers of the
 * server start and end.
 */
function threadTimeUnlessEnded(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return 0;
  }
}

/** Reads milliseconds; Linux counts hundredths of a second. */
function processorTime(pid: number): number {
  const fields = statOf(pid);
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

function endedChildrenTime(pid: number): number {
  const fields = statOf(pid);
  return 10 * (Number(fields[13]) + Number(fields[14]));
}

/** The fields of /proc/PID/stat after the name, which may contain any character. */
function statOf(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

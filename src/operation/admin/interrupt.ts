import { once } from 'node:events';

const interruption = new AbortController();

/** Aborts with Ctrl-C or a termination of the command. */
export const interrupted = interruption.signal;

/** The exit code of a shell for a process that SIGINT has ended. */
export const interruptedExitCode = 130;

/** Makes signals abort `interrupted` instead of ending the process, which could leave a server or half a copy behind. */
export function listenForInterrupt(): void {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(name, () => interruption.abort(new Error('Interrupted.')));
}

/** Returns the result of `work`. @throws the reason of `interrupted` once it aborts; the work continues until its resources close */
export async function unlessInterrupted<T>(work: () => Promise<T>): Promise<T> {
  interrupted.throwIfAborted();
  const done = new AbortController();
  try {
    return await Promise.race([
      work(),
      once(interrupted, 'abort', { signal: done.signal }).then(() => {
        throw interrupted.reason;
      }),
    ]);
  } finally {
    done.abort();
  }
}

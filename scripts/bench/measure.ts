import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { constants, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

/** @returns how long the work took, in seconds */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1000;
}

/** The value that this share of the values (0.99 for p99) does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(Math.ceil(sorted.length * share), sorted.length) - 1]!;
}

/** The version of the psql on the search path; undefined when there is none. */
export function psqlVersion(): string | undefined {
  const { status, stdout } = spawnSync('psql', ['--version'], { encoding: 'utf8' });
  return status === 0 ? /\d[\d.]*/.exec(stdout)?.[0] : undefined;
}

/** One request and its whole answer. Unlike fetch it waits for the answer as long as that takes. */
export function ask(
  url: string,
  {
    method = 'GET',
    headers = {},
    agent,
  }: { method?: string; headers?: Record<string, string>; agent?: Agent },
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers, agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode!, body: Buffer.concat(chunks).toString() }),
      );
    });
    asked.on('error', reject);
    asked.end();
  });
}

/** Requests that are sent at a pace, whatever the answers take. */
export interface Pace {
  url: string;
  headers: Record<string, string>;
  connections: number;
  /** Of all connections together. */
  requestsPerSecond: number;
}

/**
 * Sends GET requests at a pace until it is stopped. The pace stands for clients elsewhere: a request that has to wait
 * for its connection has been on its way since its turn, so that one long answer does not hide those behind it.
 * @returns what stops it, and gives how long each answer took, in milliseconds. It throws on an answer other than 200
 */
export function startPacedRequests(pace: Pace): { stop(): Promise<number[]> } {
  const milliseconds: number[] = [];
  const stopping = new AbortController();
  const startedAt = performance.now();
  const betweenTurns = (1000 / pace.requestsPerSecond) * pace.connections;

  async function sendOnConnection(number: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    let turn = startedAt + (number * betweenTurns) / pace.connections;
    for (; ; turn += betweenTurns) {
      const early = turn - performance.now();
      // A timer that fires late is no fault of the service.
      if (early > 0) await sleep(early, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) break;
      const askedAt = early > 0 ? performance.now() : turn;
      const { status, body } = await ask(pace.url, { headers: pace.headers, agent });
      if (status !== 200) throw new Error(`GET ${pace.url}: ${status} ${body}`);
      milliseconds.push(performance.now() - askedAt);
    }
    agent.destroy();
  }

  const sending = Promise.all(
    Array.from({ length: pace.connections }, (_, number) => sendOnConnection(number)),
  );
  // Whoever stops it is told.
  sending.catch(() => undefined);
  return {
    async stop() {
      stopping.abort();
      await sending;
      return milliseconds;
    },
  };
}

/**
 * Gives this process the processor first while `work` goes on, where the system lets it: it stands for clients on other
 * machines, who do not compete with the service.
 */
export async function withPriority<T>(work: () => Promise<T>): Promise<T> {
  const set = (priority: number) => {
    try {
      setPriority(priority);
    } catch {
      // Only a privileged account may.
    }
  };
  set(constants.priority.PRIORITY_HIGH);
  try {
    return await work();
  } finally {
    set(constants.priority.PRIORITY_NORMAL);
  }
}

/**
 * Forgets how much memory a process has had at most, and says later how much it has had since, in MB. Linux only.
 * @throws Error where the system does not keep that
 */
export function watchMemory(pid: number): { peakMegabytes(): number } {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  return {
    peakMegabytes() {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      return (Number(/VmHWM:\s+(\d+) kB/.exec(status)![1]) * 1024) / 1e6;
    },
  };
}

import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { constants, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { keyHeader } from './servers';

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1000;
}

/** The quantile of the values, for example 0.99 for p99. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(Math.ceil(sorted.length * share), sorted.length) - 1]!;
}

/** The version of psql in the search path; undefined if there is none. */
export function psqlVersion(): string | undefined {
  const { status, stdout } = spawnSync('psql', ['--version'], { encoding: 'utf8' });
  return status === 0 ? /\d[\d.]*/.exec(stdout)?.[0] : undefined;
}

/** Sends a request and reads its whole response, without the timeout of fetch. */
export function ask(
  url: string,
  {
    method = 'GET',
    headers = {},
    agent,
    body,
  }: { method?: string; headers?: Record<string, string>; agent?: Agent; body?: string },
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
    asked.end(body);
  });
}

/** Sends a GET with the key. @returns milliseconds until the whole response. @throws Error on another status */
export async function timeGet(
  url: string,
  agent?: Agent,
  statuses: readonly number[] = [200],
): Promise<number> {
  const startedAt = performance.now();
  const { status, body } = await ask(url, { headers: keyHeader, agent });
  if (!statuses.includes(status)) throw new Error(`GET ${url}: ${status} ${body}`);
  return performance.now() - startedAt;
}

/** Open-loop load: requests at a constant rate. */
export interface Pace {
  url: string;
  connections: number;
  requestsPerSecond: number;
}

/**
 * Sends GET requests at a constant rate until stopped. Latency counts from the scheduled time, so that one slow response does not
 * hide the ones behind it (coordinated omission).
 * @returns a stop function that returns latencies in milliseconds, and throws on a status other than 200
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
      // A late timer is not latency of the service.
      if (early > 0) await sleep(early, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) break;
      const askedAt = early > 0 ? performance.now() : turn;
      await timeGet(pace.url, agent);
      milliseconds.push(performance.now() - askedAt);
    }
    agent.destroy();
  }

  const sending = Promise.all(
    Array.from({ length: pace.connections }, (_, number) => sendOnConnection(number)),
  );
  // The stop function throws this error.
  sending.catch(() => undefined);
  return {
    async stop() {
      stopping.abort();
      await sending;
      return milliseconds;
    },
  };
}

/** Raises the priority of this process during `work`, if permitted: it represents clients on other machines. */
export async function withPriority<T>(work: () => Promise<T>): Promise<T> {
  const set = (priority: number) => {
    try {
      setPriority(priority);
    } catch {
      // Requires privileges.
    }
  };
  set(constants.priority.PRIORITY_HIGH);
  try {
    return await work();
  } finally {
    set(constants.priority.PRIORITY_NORMAL);
  }
}

/** Reads the default page at a constant rate during `work`. @returns latencies in milliseconds */
export function watchReads(url: string, work: () => Promise<unknown>): Promise<number[]> {
  return withPriority(async () => {
    const reads = startPacedRequests({ url: `${url}/products`, connections: 4, requestsPerSecond: 100 });
    await work();
    return reads.stop();
  });
}

/** Resets the peak memory of a process. Linux only. @returns a function that reads the peak since then, in MB */
export function watchMemory(pid: number): { peakMegabytes(): number } {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  return {
    peakMegabytes() {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      return (Number(/VmHWM:\s+(\d+) kB/.exec(status)![1]) * 1024) / 1e6;
    },
  };
}

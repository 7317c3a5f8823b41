import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ComparisonOrder } from './comparison';
import type { LoadOrder, LoadResult } from './http-load';

/** A comparison server in a process of its own. */
export interface ComparisonServer {
  pid: number;
  port: Promise<number>;
  stop(): void;
}

export function startServer(file: string, order: ComparisonOrder): ComparisonServer {
  return startListener(file, ['--import', 'tsx', join(__dirname, file), JSON.stringify(order)], {
    NODE_ENV: 'production',
  });
}

/** Starts Node with a script that prints the port it listens on. */
export function startListener(
  name: string,
  nodeArguments: string[],
  environment: Record<string, string> = {},
): ComparisonServer {
  const child = spawn(process.execPath, nodeArguments, {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const port = new Promise<number>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`${name} did not start`)));
    child.stdout.once('data', (chunk: Buffer) => resolve(Number(chunk.toString())));
  });
  // The caller awaits `port`, and gets its error.
  port.catch(() => undefined);
  return { pid: child.pid!, port, stop: () => void child.kill() };
}

/** Calls `work` with a function that sends requests from a process of its own. */
export async function withLoad<T>(
  work: (send: (order: LoadOrder) => Promise<LoadResult>) => Promise<T>,
): Promise<T> {
  const child = fork(join(__dirname, 'http-load.ts'), { execArgv: ['--import', 'tsx'] });
  try {
    let sent: LoadOrder['requests'];
    return await work(async ({ requests, ...order }) => {
      // The process remembers the last ones.
      child.send(requests === sent ? order : { ...order, requests });
      sent = requests;
      const [answer] = (await once(child, 'message')) as [LoadResult | { error: string }];
      if ('error' in answer) throw new Error(answer.error);
      return answer;
    });
  } finally {
    child.kill();
  }
}

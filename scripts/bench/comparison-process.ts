import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { ComparisonOrder } from './comparison';

/** A comparison server in a process of its own. */
export interface ComparisonServer {
  pid: number;
  port: Promise<number>;
  stop(): void;
}

/** Starts a comparison server of this folder. */
export function startServer(file: string, order: ComparisonOrder): ComparisonServer {
  return startListener(file, scriptArguments(file, order));
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

/** Returns the arguments of Node for a script of this folder. */
export function scriptArguments(file: string, order: object): string[] {
  return ['--import', 'tsx', join(__dirname, file), JSON.stringify(order)];
}

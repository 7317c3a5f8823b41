import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { join, resolve } from 'node:path';
import { project } from './harness';
import type { Exit } from './process';

const adminEntry = join(project, 'dist/src/operation/admin/main.js');

/** Runs the built command `npm run admin`, with these settings only. */
export function runAdmin(
  env: Record<string, string>,
  ...args: string[]
): Promise<{ code: unknown; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const options = { env: { PATH: process.env.PATH, ...env } };
    execFile(process.execPath, [adminEntry, ...args], options, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });
}

/** Starts the built command `npm run admin`, to be killed. */
export function startAdmin(env: Record<string, string>, ...args: string[]): ChildProcess {
  return spawn(process.execPath, [adminEntry, ...args], { env: { PATH: process.env.PATH, ...env } });
}

/** The command as one file, which partners download. */
export const feedEntry = join(resolve(__dirname, '../..'), 'dist/cli/partner-feed.cjs');

/** The built command `npm run feed`, in a process of its own. */
export class FeedCommand {
  readonly exit: Promise<Exit>;
  /** Its standard error so far. */
  stderr = '';
  private readonly child: ChildProcess;

  /** Starts it with these settings only. @param nodeFlags - for Node itself */
  constructor(args: string[], env: Record<string, string>, nodeFlags: string[] = []) {
    this.child = spawn(process.execPath, [...nodeFlags, feedEntry, ...args], {
      env: { PATH: process.env.PATH, ...env },
    });
    let stdout = '';
    this.child.stdout!.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    // It may have exited before it has read everything.
    this.child.stdin!.on('error', () => undefined);
    this.exit = new Promise((resolve) => {
      this.child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr: this.stderr }));
    });
  }

  get stdin(): NodeJS.WritableStream {
    return this.child.stdin!;
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }
}

/** Runs it until it exits. Default: empty standard input. */
export function runFeedCommand(args: string[], env: Record<string, string>, input = ''): Promise<Exit> {
  const command = new FeedCommand(args, env);
  command.stdin.end(input);
  return command.exit;
}

#!/usr/bin/env node
import { isMainThread } from 'node:worker_threads';
import { UsageError } from '../../base/command-line';
import { inOptions } from './advice';
import { exitCodes, Failure } from './failures';
import { printableJson } from './printable';
import { feedProgram } from './program';
import { ProgressView } from './progress-view';
import { openLocalSession, openSession } from './session';
import { findNewer } from './version-check';

async function main(view: ProgressView): Promise<number> {
  let exitCode: number = exitCodes.done;
  const program = feedProgram(
    process.env,
    async (work, options) => {
      const session = openSession(options, view, process.env);
      const check = new AbortController();
      let advice: string | undefined;
      // A program reads the output with --json.
      if (!session.json) void findNewer(session.service, check.signal).then((text) => (advice = text));
      exitCode = await work(session).finally(() => {
        // The command does not wait for it.
        check.abort();
        if (advice !== undefined) view.note(advice);
      });
    },
    async (work, options) => {
      exitCode = await work(openLocalSession(options, view));
    },
  );
  return (await program.runWith(process.argv.slice(2))) ?? exitCode;
}

/** Reports an error on standard error, or as JSON on standard output. @returns the exit code */
function report(error: unknown, view: ProgressView): number {
  const { message } = error as Error;
  const exitCode = exitCodeOf(error);
  // Not from the parsed options: the command line can be invalid.
  if (process.argv.includes('--json')) {
    view.clear();
    const details = error instanceof Failure ? error.details : {};
    process.stdout.write(`${printableJson({ error: { message, exit_code: exitCode, ...details } })}\n`);
  } else view.note(inOptions(message));
  return exitCode;
}

function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return exitCodes.usage;
  return error instanceof Failure ? error.exitCode : exitCodes.refused;
}

function start(): void {
  // `| head` closes the pipe.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  const view = new ProgressView(process.stderr);
  void main(view)
    .catch((error: unknown) => report(error, view))
    .then((exitCode) => (process.exitCode = exitCode));
}

if (isMainThread) start();
// Bundled, this file is also that of the thread that reads a workbook.
else void import('./workbook-thread.js');

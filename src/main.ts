import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig, type Config } from './config';
import { ConfigError } from './shared/settings';
import { createLog, withPid } from './shared/log';
import { startApiProcess, reportFailure } from './process/api-process';
import { disposeOnce, type Cleanup } from './process/cleanups';
import { addressVariable } from './process/messages';
import { migrate } from './process/migrate';
import { start } from './process/start';
import { promisedStopMilliseconds, stopReserveMilliseconds } from './shared/shutdown';

/** `migrate` migrates the schema and exits; see `Role` for the others. */
const roles = ['api', 'worker', 'migrate'] as const;

const isRole = (text: string): text is (typeof roles)[number] => roles.some((role) => role === text);

/** Whether a primary process has forked this one. */
const isApiProcess = process.env[addressVariable] !== undefined;

/** Fatal error after a successful start. */
class FatalError extends Error {}

async function main(): Promise<void> {
  const [, , role = 'api', ...args] = process.argv;
  if (!isRole(role)) throw new ConfigError(`Unknown argument ${role}: it must be worker, migrate, or none.`);
  const config = loadConfig(process.env);
  if (role === 'worker' && config.databaseUrl === undefined) {
    throw new ConfigError('Wrong setting DATABASE_URL: a worker needs it, and the one of the API processes.');
  }
  const isOneOfSeveral = role === 'api' && config.apiProcesses > 1;
  const log = isOneOfSeveral ? withPid(createLog(config.logLevel)) : createLog(config.logLevel);
  const cleanups: Cleanup[] = [];
  const dispose = disposeOnce(cleanups, log);
  const stopping = new AbortController();
  let fail: (reason: unknown) => void;
  const failure = new Promise<never>((_resolve, reject) => (fail = reject));
  failure.catch(() => undefined);
  const context = { config, log, cleanups, signal: stopping.signal, fail: fail! };
  const begin = () => (role === 'migrate' ? migrate(args, context) : start(role, context));
  const starting = isApiProcess ? startApiProcess(context) : begin();
  let state: 'starting' | 'working' | 'failed' = 'starting';
  const stop = once(async (reason: string) => {
    // The failure path reports the reason.
    if (state === 'failed') return;
    const deadline = Date.now() + stopMilliseconds(config);
    log.info({ reason }, 'stopping');
    stopping.abort();
    // A partial start cannot be rolled back: the start ends by the signal, unless a dependency does not respond.
    const timeout = promisedStopMilliseconds - stopReserveMilliseconds;
    await Promise.race([starting.catch(() => undefined), sleep(timeout)]);
    await dispose(deadline);
    // An interrupted migration is not a success.
    process.exit(role === 'migrate' ? 1 : 0);
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop(signal));

  try {
    await starting;
    if (role === 'migrate') return await dispose(Date.now() + promisedStopMilliseconds);
    state = 'working';
    await failure;
  } catch (error) {
    if (stopping.signal.aborted) return;
    const hasStarted = state === 'working';
    state = 'failed';
    if (hasStarted) log.fatal({ err: error }, 'fatal error, shutting down');
    await dispose(Date.now() + promisedStopMilliseconds);
    throw hasStarted ? new FatalError(`Fatal error: ${messageOf(error)}`) : error;
  }
}

/** The time from the signal to the end; longer than promised only for a long `SHUTDOWN_SECONDS`. */
function stopMilliseconds({ shutdownSeconds }: Config): number {
  return Math.max(promisedStopMilliseconds, shutdownSeconds * 1000 + stopReserveMilliseconds);
}

function once(action: (reason: string) => Promise<void>): (reason: string) => Promise<void> {
  let started: Promise<void> | undefined;
  return (reason) => (started ??= action(reason));
}

main().catch(async (error: unknown) => {
  const isWhole = error instanceof ConfigError || error instanceof FatalError;
  const message = isWhole ? error.message : `The service cannot start: ${messageOf(error)}`;
  if (isApiProcess) await reportFailure(message);
  else process.stderr.write(`${message}\n`);
  process.exit(1);
});

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

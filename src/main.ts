import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig, type Config } from './config';
import { ConfigError } from './shared/settings';
import { createLog, withPid } from './shared/log';
import { startApiProcess, tellFailure } from './process/api-process';
import { undoOnce, type Cleanup } from './process/cleanups';
import { addressVariable } from './process/messages';
import { migrate, start } from './process/start';
import { promisedStopMilliseconds, stopReserveMilliseconds } from './shared/shutdown';

/**
 * `api` answers requests, and works on queued runs too unless told otherwise; `worker` does only that. `migrate` brings the
 * schema up to date, and ends.
 */
const roles = ['api', 'worker', 'migrate'] as const;

const isRole = (text: string): text is (typeof roles)[number] => roles.some((role) => role === text);

/** Whether another process has started this one to answer requests on its port. */
const isApiProcess = process.env[addressVariable] !== undefined;

/** Why the service ends though it had started. */
class Breakdown extends Error {}

async function main(): Promise<void> {
  const [, , role = 'api'] = process.argv;
  if (!isRole(role)) throw new ConfigError(`Unknown argument ${role}: it must be worker, migrate, or none.`);
  const config = loadConfig(process.env);
  if (role === 'worker' && config.databaseUrl === undefined) {
    throw new ConfigError('Wrong setting DATABASE_URL: a worker needs it, and the one of the API processes.');
  }
  // Several processes write one log.
  const isOneOfSeveral = role === 'api' && config.apiProcesses > 1;
  const log = isOneOfSeveral ? withPid(createLog(config.logLevel)) : createLog(config.logLevel);
  const cleanups: Cleanup[] = [];
  const undo = undoOnce(cleanups, log);
  const stopping = new AbortController();
  let fail: (reason: unknown) => void;
  const failure = new Promise<never>((_resolve, reject) => (fail = reject));
  failure.catch(() => undefined);
  const context = { config, log, cleanups, signal: stopping.signal, fail: fail! };
  const begin = () => (role === 'migrate' ? migrate(context) : start(role, context));
  const starting = isApiProcess ? startApiProcess(context) : begin();
  let state: 'starting' | 'working' | 'failed' = 'starting';
  const stop = once(async (reason: string) => {
    // It ends already, and is to say why.
    if (state === 'failed') return;
    const deadline = Date.now() + stopMilliseconds(config);
    log.info({ reason }, 'stopping');
    stopping.abort();
    // Half a start cannot be undone: what it is about to open would be left behind. It ends by itself now, unless what
    // it waits for does not answer.
    const patience = promisedStopMilliseconds - stopReserveMilliseconds;
    await Promise.race([starting.catch(() => undefined), sleep(patience)]);
    await undo(deadline);
    // Whoever waits for a migration must not take it for done.
    process.exit(role === 'migrate' ? 1 : 0);
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop(signal));

  try {
    await starting;
    if (role === 'migrate') return await undo(Date.now() + promisedStopMilliseconds);
    state = 'working';
    await failure;
  } catch (error) {
    if (stopping.signal.aborted) return;
    const hasStarted = state === 'working';
    state = 'failed';
    if (hasStarted) log.fatal({ err: error }, 'the service ends');
    await undo(Date.now() + promisedStopMilliseconds);
    throw hasStarted ? new Breakdown(`The service cannot go on: ${messageOf(error)}`) : error;
  }
}

/** How long a stop may take, from the signal on: more than promised only if requests in flight may take that long. */
function stopMilliseconds({ shutdownSeconds }: Config): number {
  return Math.max(promisedStopMilliseconds, shutdownSeconds * 1000 + stopReserveMilliseconds);
}

function once(action: (reason: string) => Promise<void>): (reason: string) => Promise<void> {
  let started: Promise<void> | undefined;
  return (reason) => (started ??= action(reason));
}

main().catch(async (error: unknown) => {
  const isWhole = error instanceof ConfigError || error instanceof Breakdown;
  const message = isWhole ? error.message : `The service cannot start: ${messageOf(error)}`;
  if (isApiProcess) await tellFailure(message);
  else process.stderr.write(`${message}\n`);
  process.exit(1);
});

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig, readFormerSettings, type Config } from './config';
import { ConfigError } from './base/settings';
import { createLog, linesTogether } from './base/log';
import { disposeOnce, type Cleanup } from './operation/process/cleanups';
import { migrate } from './operation/process/migrate';
import { start } from './operation/process/start';
import { promisedStopMilliseconds, stopReserveMilliseconds } from './base/shutdown';

/** `migrate` migrates the schema and exits; see `Role` for the others. */
const roles = ['api', 'worker', 'migrate'] as const;

const isRole = (text: string): text is (typeof roles)[number] => roles.some((role) => role === text);

async function main(): Promise<void> {
  const [, , role = 'api', ...args] = process.argv;
  if (!isRole(role)) throw new ConfigError(`Unknown argument ${role}: it must be worker, migrate, or none.`);
  const config = loadConfig(process.env);
  if (role === 'worker' && config.databaseUrl === undefined) {
    throw new ConfigError('Wrong setting DATABASE_URL: a worker needs it, and the one of the API processes.');
  }
  const log = createLog(config.logLevel, linesTogether());
  const formerSettings = readFormerSettings(process.env);
  if (Object.keys(formerSettings).length > 0)
    log.warn({ settings: formerSettings }, 'former settings are set');
  const cleanups: Cleanup[] = [];
  const dispose = disposeOnce(cleanups, log);
  const stopping = new AbortController();
  const context = { config, log, cleanups, signal: stopping.signal };
  const starting = role === 'migrate' ? migrate(args, context) : start(role, context);
  let hasFailed = false;
  const stop = once(async (reason: string) => {
    // The failure path reports the reason.
    if (hasFailed) return;
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
    if (role === 'migrate') await dispose(Date.now() + promisedStopMilliseconds);
  } catch (error) {
    if (stopping.signal.aborted) return;
    hasFailed = true;
    await dispose(Date.now() + promisedStopMilliseconds);
    throw error;
  }
}

/** Time from the signal to the exit; longer than promised only with a long `SHUTDOWN_SECONDS`. */
function stopMilliseconds({ shutdownSeconds }: Config): number {
  return Math.max(promisedStopMilliseconds, shutdownSeconds * 1000 + stopReserveMilliseconds);
}

function once(action: (reason: string) => Promise<void>): (reason: string) => Promise<void> {
  let started: Promise<void> | undefined;
  return (reason) => (started ??= action(reason));
}

main().catch((error: unknown) => {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(
    error instanceof ConfigError ? `${message}\n` : `The service cannot start: ${message}\n`,
  );
  process.exit(1);
});

import { isIP } from 'node:net';
import { constants } from 'node:os';
import { basename, relative, sep } from 'node:path';
import { readLocalKey } from '../../base/local-key';
import { exitCodes, Failure, UsageFailure } from './failures';
import { shellWord } from './printable';
import type { ProgressView } from './progress-view';
import { Service, type ServiceAddress } from './service';

export interface GlobalOptions {
  url?: string;
  key?: string;
  json?: boolean;
  retries: number;
  timeout?: number;
}

/** Context of a command that does not use the service. */
export interface LocalSession {
  view: ProgressView;
  json: boolean;
  /** Aborts the command. Absent: a signal ends the process. */
  signal?: AbortSignal;
}

export interface Session extends LocalSession {
  service: Service;
  /** The invocation to show in messages: `npm run --silent feed --`. */
  invocation: string;
}

/** Executes a command. @returns the exit code. @throws Failure */
export type Work = (session: Session) => Promise<number>;

/** Executes a command that does not use the service, and needs neither address nor key. @throws Failure */
export type LocalWork = (session: LocalSession) => Promise<number>;

/** Opens a session, which signals and `--timeout` abort. @throws UsageFailure */
export function openSession(options: GlobalOptions, view: ProgressView, env: NodeJS.ProcessEnv): Session {
  const signal = abortSignalOf(options);
  const service = new Service(findAddress(options, env), signal, (text) => view.note(text));
  return { service, view, signal, json: options.json ?? false, invocation: invocationOf(env) };
}

/** Returns how the command was started: by npm, or as the downloaded file. */
export function invocationOf(env: NodeJS.ProcessEnv, script = process.argv[1] ?? ''): string {
  if (env.npm_lifecycle_event === 'feed') return 'npm run --silent feed --';
  const isInstalled = basename(script) === 'partner-feed' || script.split(sep).includes('node_modules');
  return isInstalled ? 'npx partner-feed' : `node ${shellWord(relative('.', script))}`;
}

/** Opens a session of a command that does not use the service. Signals end the process, and restore the terminal. */
export function openLocalSession({ json = false }: GlobalOptions, view: ProgressView): LocalSession {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      view.clear();
      process.exit(128 + constants.signals[signal]);
    });
  }
  return { view, json };
}

/** A signal that aborts the command; its reason is a `Failure`. */
function abortSignalOf({ timeout }: GlobalOptions): AbortSignal {
  const end = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => end.abort(new Failure(128 + constants.signals[signal], 'Interrupted.')));
  }
  if (timeout !== undefined) {
    const reason = new Failure(exitCodes.timedOut, `Timed out after ${timeout} s.`);
    setTimeout(() => end.abort(reason), timeout * 1000).unref();
  }
  return end.signal;
}

function findAddress(options: GlobalOptions, env: NodeJS.ProcessEnv): ServiceAddress {
  const wrong = (problem: string) => new UsageFailure(`${problem}\nHelp: ${invocationOf(env)} --help`);
  const url = parseUrl(options.url ?? (env.CATALOG_URL || 'http://127.0.0.1:8080'));
  if (!url)
    throw wrong('Wrong URL of the service: it must be http://HOST or https://HOST, with a port or path.');
  const key = options.key ?? (env.CATALOG_API_KEY || localKeyFor(url, env));
  if (!key) throw wrong('Missing API key: set CATALOG_API_KEY.');
  // Other characters are invalid in a header. The message does not contain the key.
  if (!/^[\x21-\x7e]+$/.test(key)) throw wrong('Wrong API key: it has an invalid character.');
  return { url, key, retries: options.retries };
}

function parseUrl(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url && !url.username && !url.password && !url.search && !url.hash;
  return isPlain && (url.protocol === 'http:' || url.protocol === 'https:') ? url : undefined;
}

/** Finds the generated key of a service on this machine. It is never sent to another machine. */
function localKeyFor({ hostname }: URL, env: NodeJS.ProcessEnv): string | undefined {
  const isLoopback =
    hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'));
  if (!isLoopback) return undefined;
  try {
    return readLocalKey(env.DATA_DIR || '.data');
  } catch (error) {
    throw new UsageFailure(`The API key in DATA_DIR cannot be read: ${(error as Error).message}.`);
  }
}

import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readLocalKey } from '../keys/local-key';
import { exitCodes, UsageFailure } from './failures';
import type { ServiceAddress } from './service';

export const usage = `Usage:
  npm run --silent feed -- upload FILE --partner NAME [options]   store a CSV file, load it, say what became of it
  npm run --silent feed -- follow JOB [options]                   follow a run to its end, or say how it has ended
  npm run --silent feed -- cancel JOB [options]                   stop a run: nothing of it is applied

FILE is - for standard input: gunzip -c feed.csv.gz | npm run --silent feed -- upload - --partner NAME

Options:
  --url URL          address of the service; else CATALOG_URL, else http://127.0.0.1:8080
  --key KEY          API key; better in CATALOG_API_KEY, because others can see a command line. Without either, for a
                     service on this machine, the key that it has generated in DATA_DIR (.data)
  --issues N         show the first N issues, 0 to 1000; 10 by default
  --json             print the job as JSON instead, as the service tells it
  --no-run           of upload: store the file only
  --strict           of upload and follow: exit code ${exitCodes.rowsSkipped} when rows were skipped
  --retries N        send a request again up to N times, 0 to 100, when there is no answer or no room; 4 by default
  --timeout SECONDS  give up after so long; a run goes on
  --help             this text

The result goes to standard output, progress and problems to standard error.

Exit codes:
  ${exitCodes.done}  done; rows may have been skipped
  ${exitCodes.refused}  the service refused, or the run failed; of follow: nobody has asked for one; of cancel: it was over before
  ${exitCodes.usage}  wrong command line or setting, or FILE cannot be read
  ${exitCodes.rowsSkipped}  with --strict: loaded, but rows were skipped
  ${exitCodes.unavailable}  the service was not reached, or had no room, after all retries
  ${exitCodes.timedOut}  --timeout is over
  130, 143  ended by Ctrl-C or SIGTERM; a run goes on
`;

/** What the command line asks for. */
export type Command =
  | { name: 'help' }
  | ({ name: 'upload'; file: string; partnerName: string; run: boolean } & CommandOptions)
  | ({ name: 'follow' | 'cancel'; jobId: string } & CommandOptions);

export interface CommandOptions {
  address: ServiceAddress;
  issuesShown: number;
  json: boolean;
  strict: boolean;
  timeoutSeconds: number | undefined;
}

const options = {
  help: { type: 'boolean', short: 'h', default: false },
  issues: { type: 'string', default: '10' },
  json: { type: 'boolean', default: false },
  key: { type: 'string' },
  'no-run': { type: 'boolean' },
  partner: { type: 'string' },
  retries: { type: 'string', default: '4' },
  strict: { type: 'boolean' },
  timeout: { type: 'string' },
  url: { type: 'string' },
} as const;

/** @throws UsageFailure */
export function parseCommand(args: string[], env: NodeJS.ProcessEnv): Command {
  const { values, positionals } = readArguments(args);
  if (values.help) return { name: 'help' };
  const [name, subject, ...more] = positionals;
  if (name !== 'upload' && name !== 'follow' && name !== 'cancel')
    throw wrong(name === undefined ? 'What is to be done?' : `Unknown command: ${name}`);
  for (const [option, commands] of Object.entries(commandsOfOptions)) {
    if (values[option as keyof typeof values] !== undefined && !commands.includes(name))
      throw wrong(`--${option} belongs to ${commands.join(' and ')}.`);
  }
  if (!subject) throw wrong(name === 'upload' ? 'Which FILE?' : 'Which JOB?');
  if (more.length > 0) throw wrong(`Too many arguments: ${more.join(' ')}`);
  const common = {
    address: addressOf(values, env),
    issuesShown: wholeNumber('issues', values.issues, 0, 1000),
    json: values.json,
    strict: values.strict ?? false,
    timeoutSeconds:
      values.timeout === undefined ? undefined : wholeNumber('timeout', values.timeout, 1, 1_000_000),
  };
  if (name !== 'upload') return { name, jobId: subject, ...common };
  if (values.partner === undefined) throw wrong('Whose feed is it? --partner NAME');
  return {
    name,
    file: subject === '-' ? subject : resolve(callersFolder(env), subject),
    partnerName: values.partner,
    run: !values['no-run'],
    ...common,
  };
}

const commandsOfOptions: Record<string, string[]> = {
  partner: ['upload'],
  'no-run': ['upload'],
  strict: ['upload', 'follow'],
};

function readArguments(args: string[]) {
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw wrong((error as Error).message);
  }
}

const wrong = (problem: string) =>
  new UsageFailure(`${problem}\nWhat it takes: npm run --silent feed -- --help`);

function wholeNumber(option: string, text: string, min: number, max: number): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= min && number <= max) return number;
  throw wrong(`--${option} is a whole number from ${min} to ${max}.`);
}

/** npm starts scripts in the folder of the project, and says where it was called. */
function callersFolder(env: NodeJS.ProcessEnv): string {
  return (env.npm_lifecycle_event === 'feed' && env.INIT_CWD) || '.';
}

function addressOf(
  values: { url?: string; key?: string; retries: string },
  env: NodeJS.ProcessEnv,
): ServiceAddress {
  const url = parseUrl(values.url ?? (env.CATALOG_URL || 'http://127.0.0.1:8080'));
  const key = values.key ?? (env.CATALOG_API_KEY || localKeyFor(url, env));
  if (!key) throw wrong('There is no API key: set CATALOG_API_KEY.');
  // Nothing else can stand in a header; the key itself is in no message.
  if (!/^[\x21-\x7e]+$/.test(key)) throw wrong('The API key has a character that no key has.');
  return { url, key, retries: wholeNumber('retries', values.retries, 0, 100) };
}

/** An address that can be shown in messages, and to which a path can be added. */
function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url && !url.username && !url.password && !url.search && !url.hash;
  if (isPlain && (url.protocol === 'http:' || url.protocol === 'https:')) return url;
  throw wrong('The address of the service is http://HOST or https://HOST, with a port or a path perhaps.');
}

/** The key that a service on this machine has generated; it is nobody else's business. */
function localKeyFor({ hostname }: URL, env: NodeJS.ProcessEnv): string | undefined {
  const isLoopback =
    hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'));
  if (!isLoopback) return undefined;
  try {
    return readLocalKey(env.DATA_DIR || '.data');
  } catch (error) {
    throw wrong(`The API key in DATA_DIR cannot be read: ${(error as Error).message}.`);
  }
}

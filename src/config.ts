import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import Ajv, { type ErrorObject } from 'ajv';
import { Client } from 'pg';
import { isActiveCurrency } from './currency';

/** Where raw files are kept when it is an S3 store. */
export interface S3Config {
  bucket: string;
  /** Address of an S3-compatible store; absent for AWS itself. */
  endpoint?: string;
  /** Absent: the SDK's own chain (environment, profile) decides. */
  region?: string;
  forcePathStyle: boolean;
  requestChecksumCalculation: 'WHEN_REQUIRED' | 'WHEN_SUPPORTED';
}

/** The settings of one process, read from the environment. Units are in the names. */
export interface Config {
  host: string;
  port: number;
  /** Keys that callers may use; empty means that one is generated and kept in `dataDir`. */
  apiKeys: string[];
  /** Absent: an embedded PostgreSQL below `dataDir`. */
  databaseUrl?: string;
  /** Absent: files below `dataDir`. */
  s3?: S3Config;
  /** Absolute path. */
  dataDir: string;
  uploadBytesMax: number;
  defaultCurrency: string;
  shutdownSeconds: number;
  /** Whether the document and the page that shows it are served. */
  servicePages: boolean;
  logLevel: string;
}

/** Fixed limits of the service. Each is a promise of the document or protects memory; the reason stands beside it. */
export const limits = {
  /** A JSON body beyond this is 413: the largest order allowed (1,000 items) needs a tenth of it. */
  jsonBodyBytes: 1024 * 1024,
  /** A JSON value nested deeper than this is not an order, and could exhaust the stack of whoever walks it. */
  jsonDepth: 32,
  /** What a multipart body may hold besides the file: headers, the name and ignored parts. */
  multipartOverheadBytes: 1024 * 1024,
  /** A form field is cut here; a partner name needs at most 255 characters of 4 bytes. */
  formFieldBytes: 64 * 1024,
  /** More parts than this are not a form of ours. */
  formParts: 100,
  /** How far back the headers of a multipart part can lie when it begins: they have at most 16 KiB, chunks come in 64. */
  partHeaderWindowBytes: 192 * 1024,
  /** The header row must end within this; it is held in memory while the upload is inspected. */
  headerRowBytes: 256 * 1024,
  /**
   * How much of a file an inspection looks at: whether a header row of the largest size ends is seen in the byte after it,
   * also when up to three bytes of a character that is cut are left out.
   */
  inspectBytes: 256 * 1024 + 4,
  /** How many of the first cleaned rows, and of the issues, an inspection shows. */
  inspectRows: 10,
  inspectIssues: 100,
  /**
   * A record beyond this breaks the feed: it is held in memory, with an array of its fields, and is most likely a quote
   * left open. The largest that can be loaded, each value of its longest and every character a doubled quote or one of
   * four bytes, has a good half of it.
   */
  recordBytes: 512 * 1024,
  /** Row issues kept in full per run, errors before warnings; counts are exact beyond it. */
  issuesKept: 10_000,
  /** How many of the first rows with a code a job shows. */
  issueFirstRows: 3,
  /** A stored offending value is shortened to this many characters. */
  issueValueCharacters: 200,
  /** Staged rows are handed to PostgreSQL in texts of about this length: few writes, little memory. */
  copyBatchCharacters: 64 * 1024,
  /** Runs and plans that one process works on at a time; more of them wait. They share one worker thread. */
  concurrentRuns: 4,
  /** Downloads of rejects at a time, on the same thread; most of their time goes into waiting for the client. */
  concurrentRejects: 8,
  /**
   * Memory that PostgreSQL may take per sort or hash of a run: the sort keys of a million products fit. With its default
   * of 4 MB, a first load of a million rows took 27 s instead of 20.
   */
  etlWorkMemMegabytes: 64,
  /**
   * Ceiling of the young generation of the thread that runs the ETL. Rows die young: with 8 MB the thread spends a fifth
   * of its time collecting garbage, with 16 MB a tenth, and more costs memory.
   */
  etlYoungGenerationMegabytes: 16,
  /** Ceiling of the old generation of that thread: a record of the largest size still fits several times. */
  etlOldGenerationMegabytes: 96,
  /** The thread ends, and gives back its memory, when there was nothing to run for this long. */
  etlThreadIdleMilliseconds: 60_000,
  /** At shutdown, how long a request that was cut has to remove what it has stored. */
  cutRequestMilliseconds: 1_000,
  /** Connections of the pool that serves requests; PostgreSQL allows 100 by default, for all processes. */
  databaseConnections: 20,
  /** How long a request waits for a connection from the pool before it is 503. */
  databaseAcquireMilliseconds: 5_000,
  /** How long opening a connection may take. */
  databaseConnectMilliseconds: 5_000,
  /**
   * How long a request waits for one statement before it is 503: ten times the slowest that was measured (a million
   * products sorted without an index). Without it, a frozen server keeps whoever has a connection to it for ever.
   */
  databaseQueryMilliseconds: 10_000,
  /** The same for a statement over all rows of a feed, as the download of its rejected rows needs: 1 GiB takes minutes. */
  databaseBulkMilliseconds: 30 * 60 * 1000,
  /** How often a start asks whether another process has ended its migration. */
  migrationLockPollMilliseconds: 200,
  /** How long the next start waits for a dead owner of the embedded server to be noticed. */
  databaseOwnerWaitMilliseconds: 5_000,
  /** How long it waits for parts of a killed server that are still amid a statement. */
  databaseRestWaitMilliseconds: 60_000,
  /** From the signal to the end of all processes: what the service promises. */
  stopMilliseconds: 30_000,
  /** How much of that is left for the embedded server to stop when requests in flight have taken all of their time. */
  stopReserveMilliseconds: 5_000,
  /** What is kept of it for a server that does not stop in order: an immediate stop, its death, and the end of ours. */
  databaseForcedStopMilliseconds: 3_000,
  /** How long an immediate stop may take; it only ends processes. */
  databaseImmediateStopSeconds: 1,
  /** A cluster that was being created and has not changed for this long was left by a killed process. */
  abandonedClusterMilliseconds: 10 * 60 * 1000,
  /** How often each process looks for runs whose process has died. */
  interruptedRunsMilliseconds: 5_000,
  /** How long the answer to a run whose thread has died waits until its job can be marked as failed. */
  deadRunWaitMilliseconds: 5_000,
  /** A folder with a longer path is too long for the address of a Unix socket (107 bytes with the socket's own name). */
  socketFolderBytes: 85,
  /** How often a server looks whether the client of a run is still there. */
  clientCheckMilliseconds: 1_000,
  /** At shutdown, how long connections may take to be closed. */
  closeMilliseconds: 500,
  /** `GET /health` promises an answer within two seconds; this leaves time to send it, also on a busy machine. */
  healthCheckMilliseconds: 1_000,
  /** An S3 connection that is not open by then is tried again. */
  s3ConnectMilliseconds: 5_000,
  /** An S3 connection that is silent for this long is given up. The SDK has no limit by default. */
  s3IdleMilliseconds: 60_000,
  /** Attempts per S3 request, the first one included. */
  s3Attempts: 3,
  /** Part size of a streaming upload, the smallest that S3 allows; two parts are in flight. */
  s3PartBytes: 5 * 1024 * 1024,
  s3PartsInFlight: 2,
  /** A file name in an object's key is cut to this many bytes: a local file system allows 255. */
  keyFileNameBytes: 200,
  /** A partner's slug in an object's key is cut to this many characters, for the same reason. */
  keySlugCharacters: 200,
  /** How much of a raw file is read from disk at once. */
  objectReadBytes: 256 * 1024,
  /** A local file that was being written and has not grown for this long was left by a killed process. */
  abandonedUploadMilliseconds: 24 * 3600 * 1000,
  /**
   * How long a client may send nothing amid a request before it is given up. An upload as such may take any time; one
   * that stands still holds a connection, a part of memory and a file.
   */
  requestIdleMilliseconds: 60_000,
  /** An object that no row names is removed when it is older: an upload has its object before its row. */
  orphanObjectMilliseconds: 24 * 3600 * 1000,
  /** Keys that are looked up in the database at once, as many as S3 lists at once. */
  objectsPerLookUp: 1_000,
  /**
   * How long a connection may wait for its next request. Clients and load balancers give theirs up after a minute at
   * most; whoever closes first must be they, or a request is lost on the way.
   */
  keepAliveMilliseconds: 65_000,
  /** What a client is told to wait after a 503. */
  retryAfterSeconds: 5,
  /** A client that is refused may finish sending for this long, so that it gets to read why. */
  refusedBodyDrainMilliseconds: 10_000,
} as const;

/** A setting is wrong. The message has one line per wrong setting, each of which names it. */
export class ConfigError extends Error {}

const settingsSchema = {
  type: 'object',
  properties: {
    HOST: { type: 'string', default: '127.0.0.1' },
    PORT: { type: 'integer', minimum: 0, maximum: 65535, default: 8080 },
    API_KEYS: { type: 'string', pattern: '[^\\s,]' },
    DATABASE_URL: { type: 'string', format: 'postgres-url' },
    S3_BUCKET: { type: 'string' },
    S3_ENDPOINT: { type: 'string', format: 'http-url' },
    S3_REGION: { type: 'string' },
    S3_FORCE_PATH_STYLE: { type: 'boolean' },
    S3_REQUEST_CHECKSUM_CALCULATION: { enum: ['WHEN_REQUIRED', 'WHEN_SUPPORTED'], default: 'WHEN_REQUIRED' },
    DATA_DIR: { type: 'string', default: '.data' },
    MAX_UPLOAD_BYTES: { type: 'integer', minimum: 1, maximum: 5 * 1024 ** 3, default: 1024 ** 3 },
    DEFAULT_CURRENCY: { type: 'string', format: 'currency', default: 'USD' },
    SHUTDOWN_SECONDS: { type: 'integer', minimum: 0, maximum: 3600, default: 25 },
    SERVICE_PAGES: { enum: ['on', 'off'], default: 'on' },
    LOG_LEVEL: { enum: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], default: 'info' },
  },
  dependencies: {
    S3_ENDPOINT: ['S3_BUCKET'],
    S3_REGION: ['S3_BUCKET'],
    S3_FORCE_PATH_STYLE: ['S3_BUCKET'],
    DATABASE_URL: ['API_KEYS'],
  },
} as const;

interface Settings {
  HOST: string;
  PORT: number;
  API_KEYS?: string;
  DATABASE_URL?: string;
  S3_BUCKET?: string;
  S3_ENDPOINT?: string;
  S3_REGION?: string;
  S3_FORCE_PATH_STYLE?: boolean;
  S3_REQUEST_CHECKSUM_CALCULATION: S3Config['requestChecksumCalculation'];
  DATA_DIR: string;
  MAX_UPLOAD_BYTES: number;
  DEFAULT_CURRENCY: string;
  SHUTDOWN_SECONDS: number;
  SERVICE_PAGES: 'on' | 'off';
  LOG_LEVEL: string;
}

const isSettings = (() => {
  const ajv = new Ajv({ allErrors: true, coerceTypes: true, useDefaults: true, strict: false });
  ajv.addFormat('currency', isActiveCurrency);
  ajv.addFormat('http-url', (text) => isUrl(text, ['http:', 'https:']));
  ajv.addFormat('postgres-url', isPostgresUrl);
  return ajv.compile<Settings>(settingsSchema);
})();

function isUrl(text: string, protocols: string[]): boolean {
  return URL.canParse(text) && protocols.includes(new URL(text).protocol);
}

/** Whether the driver can make something of it; an address of a socket is one too, and no URL. */
function isPostgresUrl(text: string): boolean {
  try {
    return /^postgres(ql)?:\/\/\S+$/.test(text) && Boolean(new Client({ connectionString: text }));
  } catch {
    return false;
  }
}

/**
 * Reads the settings from `env`; an empty variable counts as unset.
 * @throws ConfigError that names every wrong setting.
 */
export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const given: Record<string, string> = {};
  for (const name of Object.keys(settingsSchema.properties)) {
    const value = env[name]?.trim();
    if (value) given[name] = value;
  }
  const settings: unknown = structuredClone(given);
  if (!isSettings(settings)) {
    const lines = (isSettings.errors as ErrorObject<string, ErrorParams>[]).map((error) =>
      describe(error, given),
    );
    throw new ConfigError([...new Set(lines)].join('\n'));
  }
  return {
    host: settings.HOST,
    port: settings.PORT,
    apiKeys: (settings.API_KEYS ?? '')
      .split(',')
      .map((key) => key.trim())
      .filter(Boolean),
    databaseUrl: settings.DATABASE_URL,
    s3: settings.S3_BUCKET ? s3Config(settings, settings.S3_BUCKET, env) : undefined,
    dataDir: resolve(settings.DATA_DIR),
    uploadBytesMax: settings.MAX_UPLOAD_BYTES,
    defaultCurrency: settings.DEFAULT_CURRENCY,
    shutdownSeconds: settings.SHUTDOWN_SECONDS,
    servicePages: settings.SERVICE_PAGES === 'on',
    logLevel: settings.LOG_LEVEL,
  };
}

function s3Config(settings: Settings, bucket: string, env: NodeJS.ProcessEnv): S3Config {
  return {
    bucket,
    endpoint: settings.S3_ENDPOINT,
    // An S3-compatible store rarely cares about the region, but the SDK refuses to sign without one.
    region: settings.S3_REGION ?? (settings.S3_ENDPOINT && !env.AWS_REGION ? 'us-east-1' : undefined),
    forcePathStyle: settings.S3_FORCE_PATH_STYLE ?? settings.S3_ENDPOINT !== undefined,
    requestChecksumCalculation: settings.S3_REQUEST_CHECKSUM_CALCULATION,
  };
}

/** What the validator tells of an error, by keyword. */
interface ErrorParams {
  property: string;
  allowedValues: string[];
}

function describe(
  error: ErrorObject<string, ErrorParams>,
  given: Record<string, string | undefined>,
): string {
  const name = error.instancePath.slice(1);
  switch (error.keyword) {
    case 'dependencies':
      return error.params.property === 'DATABASE_URL'
        ? 'Wrong setting API_KEYS: it must hold at least one key when DATABASE_URL is set.'
        : `Wrong setting S3_BUCKET: it must be set when ${error.params.property} is set.`;
    case 'enum':
      return `Wrong setting ${name}: it must be one of ${error.params.allowedValues.join(', ')}.`;
    case 'pattern':
    case 'format':
      return `Wrong setting ${name}: ${expectedForms[name]}.`;
    default:
      return `Wrong setting ${name}: it ${error.message}, and is ${JSON.stringify(given[name])}.`;
  }
}

const expectedForms: Record<string, string> = {
  API_KEYS: 'it must be a comma-separated list of keys',
  DATABASE_URL: 'it must be an address such as postgresql://user:password@host:5432/database',
  S3_ENDPOINT: 'it must be an address such as https://s3.example.org',
  DEFAULT_CURRENCY: 'it must be an active ISO 4217 code such as USD',
};

/**
 * Creates the data folder if it is missing and anything will be kept there.
 * @throws ConfigError when that is not possible.
 */
export function ensureDataDir(config: Config): void {
  if (config.databaseUrl && config.s3) return;
  try {
    mkdirSync(config.dataDir, { recursive: true, mode: 0o755 });
  } catch (error) {
    throw new ConfigError(
      `Wrong setting DATA_DIR: ${config.dataDir} cannot be created (${(error as Error).message}).`,
    );
  }
}

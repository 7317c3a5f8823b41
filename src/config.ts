import { existsSync, mkdirSync, mkdtempSync, rmdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
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

/** So many requests of one API key in so many seconds, from the first of them on. */
export interface RateLimit {
  requests: number;
  seconds: number;
}

/** A copy of the database that PostgreSQL keeps up to date, for reads. */
export interface ReplicaConfig {
  url: string;
  /** Connections to it that serve requests. */
  connections: number;
  /** While it is further behind than that, it is not read from. */
  lagSeconds: number;
}

/** The settings of one process, read from the environment. Units are in the names. */
export interface Config {
  host: string;
  port: number;
  /** Processes that answer requests, on the same port. */
  apiProcesses: number;
  /** Keys that callers may use besides those of the database. */
  apiKeys: string[];
  /** Absent: an embedded PostgreSQL below `dataDir`. */
  databaseUrl?: string;
  /** Absent: everything is read from the database itself. */
  replica?: ReplicaConfig;
  /** Absent: files below `dataDir`. */
  s3?: S3Config;
  /** Absolute path. */
  dataDir: string;
  uploadBytesMax: number;
  defaultCurrency: string;
  shutdownSeconds: number;
  /** Of each API key, in all processes that share the port; absent: none. */
  rateLimit?: RateLimit;
  /** How much of it may go on in this process at a time. */
  connectionsMax: number;
  concurrentUploads: number;
  concurrentDownloads: number;
  concurrentRuns: number;
  /** Of these, of one partner; those of the queue come one after the other in any case. */
  concurrentRunsOfPartner: number;
  /** Connections to the database that serve requests; runs have others. */
  databaseConnections: number;
  /** Whether they keep prepared statements, which some poolers cannot. */
  preparesStatements: boolean;
  /** Whether a start brings the schema up to date; else it waits until somebody has. */
  migratesOnStart: boolean;
  /** Whether a process that serves requests works on queued runs too. */
  worksOnQueue: boolean;
  /** Whether webhooks may go to private addresses, and without TLS. */
  webhookPrivateAddresses: boolean;
  /** Whether the document and the page that shows it are served. */
  servicePages: boolean;
  logLevel: string;
  /** Where operators find metrics and probes; absent: nowhere. */
  metrics?: { host: string; port: number };
}

/** A setting is wrong. The message has one line per wrong setting, each of which names it. */
export class ConfigError extends Error {}

const settingsSchema = {
  type: 'object',
  properties: {
    HOST: { type: 'string', default: '127.0.0.1' },
    PORT: { type: 'integer', minimum: 0, maximum: 65535, default: 8080 },
    API_PROCESSES: { type: 'integer', minimum: 1, maximum: 32, default: 1 },
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
    RATE_LIMIT_REQUESTS: { type: 'integer', minimum: 1, maximum: 1_000_000 },
    RATE_LIMIT_SECONDS: { type: 'integer', minimum: 1, maximum: 3600 },
    MAX_CONNECTIONS: { type: 'integer', minimum: 1, maximum: 65535, default: 1000 },
    MAX_CONCURRENT_UPLOADS: { type: 'integer', minimum: 1, maximum: 100, default: 4 },
    MAX_CONCURRENT_DOWNLOADS: { type: 'integer', minimum: 1, maximum: 1000, default: 16 },
    MAX_CONCURRENT_RUNS: { type: 'integer', minimum: 1, maximum: 6, default: 4 },
    MAX_CONCURRENT_RUNS_PER_PARTNER: { type: 'integer', minimum: 1, maximum: 6, default: 2 },
    DATABASE_CONNECTIONS: { type: 'integer', minimum: 2, maximum: 200, default: 20 },
    DATABASE_PREPARED_STATEMENTS: { enum: ['on', 'off'] },
    MIGRATE_ON_START: { enum: ['on', 'off'], default: 'on' },
    DATABASE_REPLICA_URL: { type: 'string', format: 'postgres-url' },
    DATABASE_REPLICA_CONNECTIONS: { type: 'integer', minimum: 2, maximum: 200 },
    DATABASE_REPLICA_LAG_SECONDS: { type: 'integer', minimum: 2, maximum: 3600 },
    QUEUE_WORKER: { enum: ['on', 'off'], default: 'on' },
    WEBHOOK_PRIVATE_ADDRESSES: { enum: ['on', 'off'], default: 'off' },
    SHUTDOWN_SECONDS: { type: 'integer', minimum: 0, maximum: 3600, default: 25 },
    SERVICE_PAGES: { enum: ['on', 'off'], default: 'on' },
    LOG_LEVEL: { enum: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], default: 'info' },
    METRICS_PORT: { type: 'integer', minimum: 0, maximum: 65535 },
    METRICS_HOST: { type: 'string' },
  },
  dependencies: {
    DATABASE_REPLICA_URL: ['DATABASE_URL'],
    DATABASE_REPLICA_CONNECTIONS: ['DATABASE_REPLICA_URL'],
    DATABASE_REPLICA_LAG_SECONDS: ['DATABASE_REPLICA_URL'],
    METRICS_HOST: ['METRICS_PORT'],
    S3_ENDPOINT: ['S3_BUCKET'],
    S3_REGION: ['S3_BUCKET'],
    S3_FORCE_PATH_STYLE: ['S3_BUCKET'],
    RATE_LIMIT_SECONDS: ['RATE_LIMIT_REQUESTS'],
  },
} as const;

interface Settings {
  HOST: string;
  PORT: number;
  API_PROCESSES: number;
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
  RATE_LIMIT_REQUESTS?: number;
  RATE_LIMIT_SECONDS?: number;
  MAX_CONNECTIONS: number;
  MAX_CONCURRENT_UPLOADS: number;
  MAX_CONCURRENT_DOWNLOADS: number;
  MAX_CONCURRENT_RUNS: number;
  MAX_CONCURRENT_RUNS_PER_PARTNER: number;
  DATABASE_CONNECTIONS: number;
  DATABASE_PREPARED_STATEMENTS?: 'on' | 'off';
  MIGRATE_ON_START: 'on' | 'off';
  DATABASE_REPLICA_URL?: string;
  DATABASE_REPLICA_CONNECTIONS?: number;
  DATABASE_REPLICA_LAG_SECONDS?: number;
  QUEUE_WORKER: 'on' | 'off';
  WEBHOOK_PRIVATE_ADDRESSES: 'on' | 'off';
  SHUTDOWN_SECONDS: number;
  SERVICE_PAGES: 'on' | 'off';
  LOG_LEVEL: string;
  METRICS_PORT?: number;
  METRICS_HOST?: string;
}

/** The names of all settings. */
export const settingNames = Object.keys(settingsSchema.properties);

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
  for (const name of settingNames) {
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
  const { METRICS_PORT: metricsPort } = settings;
  // With 0, each gets a free one.
  if (metricsPort && metricsPort === settings.PORT) {
    throw new ConfigError('Wrong setting METRICS_PORT: it must differ from PORT.');
  }
  return {
    host: settings.HOST,
    port: settings.PORT,
    apiProcesses: settings.API_PROCESSES,
    apiKeys: (settings.API_KEYS ?? '')
      .split(',')
      .map((key) => key.trim())
      .filter(Boolean),
    databaseUrl: settings.DATABASE_URL,
    replica: settings.DATABASE_REPLICA_URL
      ? {
          url: settings.DATABASE_REPLICA_URL,
          connections: settings.DATABASE_REPLICA_CONNECTIONS ?? settings.DATABASE_CONNECTIONS,
          lagSeconds: settings.DATABASE_REPLICA_LAG_SECONDS ?? 10,
        }
      : undefined,
    s3: settings.S3_BUCKET ? s3Config(settings, settings.S3_BUCKET, env) : undefined,
    dataDir: resolve(settings.DATA_DIR),
    uploadBytesMax: settings.MAX_UPLOAD_BYTES,
    defaultCurrency: settings.DEFAULT_CURRENCY,
    shutdownSeconds: settings.SHUTDOWN_SECONDS,
    rateLimit: settings.RATE_LIMIT_REQUESTS
      ? { requests: settings.RATE_LIMIT_REQUESTS, seconds: settings.RATE_LIMIT_SECONDS ?? 60 }
      : undefined,
    connectionsMax: settings.MAX_CONNECTIONS,
    concurrentUploads: settings.MAX_CONCURRENT_UPLOADS,
    concurrentDownloads: settings.MAX_CONCURRENT_DOWNLOADS,
    concurrentRuns: settings.MAX_CONCURRENT_RUNS,
    concurrentRunsOfPartner: settings.MAX_CONCURRENT_RUNS_PER_PARTNER,
    databaseConnections: settings.DATABASE_CONNECTIONS,
    // Nothing stands before the embedded server.
    preparesStatements:
      (settings.DATABASE_PREPARED_STATEMENTS ?? (settings.DATABASE_URL ? 'off' : 'on')) === 'on',
    // Nobody else migrates the embedded server.
    migratesOnStart: settings.MIGRATE_ON_START === 'on' || !settings.DATABASE_URL,
    worksOnQueue: settings.QUEUE_WORKER === 'on',
    webhookPrivateAddresses: settings.WEBHOOK_PRIVATE_ADDRESSES === 'on',
    servicePages: settings.SERVICE_PAGES === 'on',
    logLevel: settings.LOG_LEVEL,
    metrics:
      metricsPort === undefined
        ? undefined
        : { host: settings.METRICS_HOST ?? '127.0.0.1', port: metricsPort },
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
  missingProperty: string;
  allowedValues: string[];
}

function describe(
  error: ErrorObject<string, ErrorParams>,
  given: Record<string, string | undefined>,
): string {
  const name = error.instancePath.slice(1);
  switch (error.keyword) {
    case 'dependencies':
      return `Wrong setting ${error.params.missingProperty}: it must be set when ${error.params.property} is set.`;
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
  DATABASE_REPLICA_URL: 'it must be an address such as postgresql://user:password@host:5432/database',
  S3_ENDPOINT: 'it must be an address such as https://s3.example.org',
  DEFAULT_CURRENCY: 'it must be an active ISO 4217 code such as USD',
};

/**
 * Creates the data folder if it is missing and anything will be kept there.
 * @throws ConfigError when that is not possible, or nothing can be created in it.
 */
export function ensureDataDir(config: Config): void {
  if (config.databaseUrl && config.s3) return;
  try {
    createFolder(config.dataDir);
    rmdirSync(mkdtempSync(join(config.dataDir, '.probe-')));
  } catch (error) {
    throw new ConfigError(
      `Wrong setting DATA_DIR: ${config.dataDir} cannot be used (${(error as Error).message}).`,
    );
  }
}

/** Not with the option `recursive`: Node 20 then never returns where a file system takes no folders, as /proc does. */
function createFolder(path: string): void {
  if (!existsSync(path)) {
    createFolder(dirname(path));
    mkdirSync(path, { mode: 0o755 });
  }
}

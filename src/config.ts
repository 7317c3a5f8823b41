import { resolve } from 'node:path';
import { isActiveCurrency } from './feed-format/currency';
import { isPostgresUrl, readDatabaseUrl } from './base/database-url';
import { isSecretsKeyList } from './base/secret-box';
import { formerSettings, removedSettings, replacedSettings, settings } from './base/setting-groups';
import { ConfigError, settingsReader, type SettingValues } from './base/settings';

export const settingNames = Object.keys(settings);

const readableSettings = { ...settings, ...replacedSettings };

type Values = SettingValues<typeof readableSettings>;

const readSettings = settingsReader(readableSettings, removedSettings, {
  currency: isActiveCurrency,
  'http-url': (value) => isUrl(value, ['http:', 'https:']),
  'postgres-url': isPostgresUrl,
  'proxy-url': isProxyUrl,
  'secrets-keys': isSecretsKeyList,
});

const preparing = { on: true, off: false, unset: 'if kept' } as const;

/**
 * Default maximum of concurrent uploads.
 * With S3, a large file takes 18 MB of memory, for parts of 5 MiB that are collected and sent, and any other 4 MB: 90 MB in all. In
 * `DATA_DIR` each takes 1 MB; an `Idempotency-Key` occupies a connection to the database meanwhile.
 */
export const concurrentUploadsDefault = { s3: 8, dataDir: 16 };

export type Config = ReturnType<typeof loadConfig>;

/** Reads the settings from `env`; an empty variable counts as unset. @throws ConfigError with every wrong setting */
export function loadConfig(env: NodeJS.ProcessEnv) {
  const values = readSettings(env);
  const { METRICS_PORT: metricsPort } = values;
  // With 0, each gets a free port.
  if (metricsPort && metricsPort === values.PORT) {
    throw new ConfigError('Wrong setting METRICS_PORT: it must differ from PORT.');
  }
  const databaseUrlOf = (name: 'DATABASE_URL' | 'DATABASE_REPLICA_URL') =>
    values[name] && readDatabaseUrl(`Wrong setting ${name}`, values[name], env);
  const [databaseUrl, replicaUrl] = [databaseUrlOf('DATABASE_URL'), databaseUrlOf('DATABASE_REPLICA_URL')];
  const apiKeys = (values.API_KEYS ?? '')
    .split(',')
    .map((key) => key.trim())
    .filter(Boolean);
  // Headers can contain a tab and characters beyond ASCII.
  const unsendable = apiKeys.findIndex((key) => /(?![\t\u0080-\u009f])\p{Cc}/u.test(key));
  if (unsendable !== -1) {
    throw new ConfigError(
      `Wrong setting API_KEYS: number ${unsendable + 1} contains a control character or line break, which no request can send.`,
    );
  }
  return {
    host: values.HOST,
    port: values.PORT,
    apiKeys,
    secretsKey: values.SECRETS_KEY,
    databaseUrl,
    replica: replicaUrl
      ? {
          url: replicaUrl,
          connections: values.DATABASE_CONNECTIONS,
          lagSeconds: values.DATABASE_REPLICA_LAG_SECONDS,
        }
      : undefined,
    s3: values.S3_BUCKET ? s3Config(values, values.S3_BUCKET, env) : undefined,
    dataDir: resolve(values.DATA_DIR),
    uploadBytesMax: values.MAX_UPLOAD_BYTES,
    defaultCurrency: values.DEFAULT_CURRENCY,
    shutdownSeconds: values.SHUTDOWN_SECONDS,
    rateLimit: values.RATE_LIMIT_REQUESTS ? { requests: values.RATE_LIMIT_REQUESTS } : undefined,
    connectionsMax: values.MAX_CONNECTIONS,
    concurrentUploads:
      values.MAX_CONCURRENT_UPLOADS ?? concurrentUploadsDefault[values.S3_BUCKET ? 's3' : 'dataDir'],
    concurrentRuns: values.MAX_CONCURRENT_RUNS,
    databaseConnections: values.DATABASE_CONNECTIONS,
    preparesStatements: preparing[values.DATABASE_PREPARED_STATEMENTS ?? 'unset'],
    // Only this process migrates the embedded server.
    migratesOnStart: values.MIGRATE_ON_START === 'on' || !databaseUrl,
    worksOnQueue: values.QUEUE_WORKER === 'on',
    // WEBHOOK_PRIVATE_ADDRESSES and SOURCE_PRIVATE_ADDRESSES, of release 1.2.0, allow only webhooks of operators, and sources.
    webhookPrivateAddresses: (values.PRIVATE_ADDRESSES ?? values.WEBHOOK_PRIVATE_ADDRESSES) === 'on',
    partnerWebhookPrivateAddresses: values.PRIVATE_ADDRESSES === 'on',
    sourcePrivateAddresses: (values.PRIVATE_ADDRESSES ?? values.SOURCE_PRIVATE_ADDRESSES) === 'on',
    outboundProxy: values.OUTBOUND_PROXY === undefined ? undefined : new URL(values.OUTBOUND_PROXY),
    partnerStaleDays: values.PARTNER_STALE_DAYS,
    retention: {
      rowIssueDays: values.ROW_ISSUE_RETENTION_DAYS,
      rawFileDays: values.RAW_FILE_RETENTION_DAYS,
      historyDays: values.HISTORY_RETENTION_DAYS,
    },
    servicePages: values.SERVICE_PAGES === 'on',
    logLevel: values.LOG_LEVEL,
    metrics: metricsPort === undefined ? undefined : { host: values.METRICS_HOST, port: metricsPort },
  };
}

/** Returns the set variables that are former or replaced settings, by name, with what applies instead. */
export function readFormerSettings(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(Object.entries(formerSettings).filter(([name]) => env[name]?.trim()));
}

function s3Config(values: Values, bucket: string, env: NodeJS.ProcessEnv) {
  return {
    bucket,
    endpoint: values.S3_ENDPOINT,
    // The SDK requires a region, which S3-compatible stores rarely use.
    region: values.S3_REGION ?? (values.S3_ENDPOINT && !env.AWS_REGION ? 'us-east-1' : undefined),
    forcePathStyle: values.S3_FORCE_PATH_STYLE ?? values.S3_ENDPOINT !== undefined,
    requestChecksumCalculation: values.S3_REQUEST_CHECKSUM_CALCULATION,
  };
}

function isUrl(value: string, protocols: string[]): boolean {
  return URL.canParse(value) && protocols.includes(new URL(value).protocol);
}

/** Returns whether the value is the address of a proxy: without path, and with credentials that can be decoded. */
function isProxyUrl(value: string): boolean {
  if (!isUrl(value, ['http:', 'https:'])) return false;
  const { pathname, search, hash, username, password } = new URL(value);
  if (pathname !== '/' || search || hash) return false;
  try {
    return Boolean(decodeURIComponent(`${username}:${password}`));
  } catch {
    return false;
  }
}

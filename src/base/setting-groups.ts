import type { Settings } from './settings';

const integer = (minimum: number, maximum: number) => ({ type: 'integer', minimum, maximum }) as const;
const text = { type: 'string' } as const;
const onOff = { enum: ['on', 'off'] } as const;
const postgresUrl = {
  type: 'string',
  format: 'postgres-url',
  expected: 'it must be an address such as postgresql://user:password@host:5432/database',
} as const;

const network = {
  HOST: { ...text, default: '127.0.0.1', description: 'Address on which the API listens.' },
  PORT: { ...integer(0, 65535), default: 8080, description: 'Port of the API; 0 takes a free one.' },
  SERVICE_PAGES: {
    ...onOff,
    default: 'on',
    description:
      'With `off`, `/`, `/console`, `/docs`, `/openapi.yaml`, `/openapi.json`, `/openapi-3.1.json` and `/cli` are unknown routes.',
  },
  SHUTDOWN_SECONDS: {
    ...integer(0, 3600),
    default: 25,
    description:
      'How long requests in progress may take after SIGTERM. Above 25, a stop can take more than 30 seconds.',
  },
} as const satisfies Settings;

const keys = {
  API_KEYS: {
    ...text,
    pattern: '[^\\s,]',
    unset: 'a generated key, with the embedded database',
    description: 'Comma-separated API keys of at least 16 characters, for a small installation.',
    expected: 'it must be a comma-separated list of keys',
    page: 'how-to/manage-api-keys.md',
  },
  SECRETS_KEY: {
    ...text,
    format: 'secrets-keys',
    unset:
      'a generated key, with the embedded database; else sources can have no secrets, and partners no webhooks',
    description:
      'Key that encrypts the secrets of sources and of webhooks of partners: 32 bytes in Base64. Of several, separated by commas, the first one encrypts, and all decrypt.',
    expected:
      'it must be 32 bytes in Base64, as `openssl rand -base64 32` prints them, or several, separated by commas',
    page: 'how-to/fetch-feeds.md',
  },
} as const satisfies Settings;

const database = {
  DATABASE_URL: {
    ...postgresUrl,
    unset: 'an embedded PostgreSQL in `DATA_DIR`',
    description: 'Address of a PostgreSQL 15 or later with encoding UTF8.',
    page: 'how-to/connect-to-postgresql.md',
  },
  DATABASE_CONNECTIONS: {
    ...integer(2, 200),
    default: 20,
    description: 'Maximum number of connections that serve requests, per process. Runs have others.',
    page: 'scaling.md#connections-to-postgresql',
  },
  DATABASE_PREPARED_STATEMENTS: {
    ...onOff,
    unset: '`on` where they are kept, which each new connection finds out',
    description:
      'Whether statements are prepared, which saves PostgreSQL a third to a half of the work of a small request.',
    page: 'scaling.md#prepared-statements',
  },
  MIGRATE_ON_START: {
    ...onOff,
    default: 'on',
    description:
      'With `off`, a start waits until `npm run migrate` has changed the schema. The embedded database is always migrated.',
    page: 'how-to/deploy.md',
  },
  DATABASE_REPLICA_URL: {
    ...postgresUrl,
    unset: 'all reads use the primary',
    description: 'Address of a streaming replica, which serves the catalog and analytics.',
    requires: 'DATABASE_URL',
    page: 'scaling.md#read-from-a-replica',
  },
  DATABASE_REPLICA_LAG_SECONDS: {
    ...integer(2, 3600),
    default: 10,
    description: 'Maximum lag of the replica; with more, reads use the primary.',
    requires: 'DATABASE_REPLICA_URL',
  },
} as const satisfies Settings;

const storage = {
  DATA_DIR: {
    ...text,
    default: '.data',
    description: 'Folder of the embedded database, of raw files without S3, and of the generated key.',
    page: 'how-to/manage-data.md',
  },
  S3_BUCKET: {
    ...text,
    unset: 'raw files are kept in `DATA_DIR`',
    description: "Bucket of raw files. The AWS SDK's credential chain has the credentials.",
  },
  S3_ENDPOINT: {
    ...text,
    format: 'http-url',
    unset: 'AWS',
    description: 'Address of an S3-compatible store.',
    requires: 'S3_BUCKET',
    expected: 'it must be an address such as https://s3.example.org',
  },
  S3_REGION: {
    ...text,
    unset: 'as the AWS SDK finds it, else `us-east-1` with `S3_ENDPOINT`',
    description: 'Region of the bucket.',
    requires: 'S3_BUCKET',
  },
  S3_FORCE_PATH_STYLE: {
    type: 'boolean',
    unset: '`true` with `S3_ENDPOINT`, else `false`',
    description: 'Whether requests name the bucket in the path instead of the host.',
    requires: 'S3_BUCKET',
  },
  S3_REQUEST_CHECKSUM_CALCULATION: {
    enum: ['WHEN_REQUIRED', 'WHEN_SUPPORTED'],
    default: 'WHEN_REQUIRED',
    description: "Use `WHEN_SUPPORTED` for stores that understand the AWS SDK's checksum trailers.",
  },
} as const satisfies Settings;

const capacity = {
  MAX_UPLOAD_BYTES: {
    ...integer(1, 5 * 1024 ** 3),
    default: 1024 ** 3,
    description: 'Maximum size of an uploaded file.',
  },
  MAX_CONNECTIONS: {
    ...integer(1, 65535),
    default: 1000,
    description: 'Maximum number of client connections, per process.',
  },
  MAX_CONCURRENT_UPLOADS: {
    ...integer(1, 100),
    unset: '16; 8 with `S3_BUCKET`',
    description:
      'Maximum number of uploads and inspections in progress, per process; half of them may be large files. Others wait.',
  },
  MAX_CONCURRENT_RUNS: {
    ...integer(1, 6),
    default: 4,
    description: 'Maximum number of runs and plans in progress, per process. They share one thread.',
  },
  RATE_LIMIT_REQUESTS: {
    ...integer(1, 1_000_000),
    unset: 'no limit',
    description:
      'Maximum number of requests of one API key per minute, per process. The minute begins with the first request.',
  },
} as const satisfies Settings;

const retention = {
  ROW_ISSUE_RETENTION_DAYS: {
    ...integer(1, 36_500),
    default: 90,
    description: 'For how many days after the end of their run row issues are kept, at least.',
    page: 'how-to/manage-data.md#how-long-data-are-kept',
  },
  RAW_FILE_RETENTION_DAYS: {
    ...integer(1, 36_500),
    unset: 'raw files are kept for ever',
    description:
      'For how many days after upload and last run raw files are kept, at least. The last loaded file of a partner is always kept.',
    page: 'how-to/manage-data.md#how-long-data-are-kept',
  },
  HISTORY_RETENTION_DAYS: {
    ...integer(1, 36_500),
    default: 400,
    description:
      'For how many days after their end earlier versions of products are kept, at least. Versions that the last load of a collection ended are always kept.',
    page: 'how-to/manage-data.md#how-long-data-are-kept',
  },
} as const satisfies Settings;

const behavior = {
  DEFAULT_CURRENCY: {
    ...text,
    format: 'currency',
    default: 'USD',
    description: 'Currency of an ordered product that has none.',
    expected: 'it must be an active ISO 4217 code such as USD',
  },
  QUEUE_WORKER: {
    ...onOff,
    default: 'on',
    description: 'With `off`, the API processes leave queued runs, webhooks and sources to workers.',
    page: 'scaling.md#run-workers',
  },
  PRIVATE_ADDRESSES: {
    ...onOff,
    unset: '`off`',
    description:
      'With `on`, webhooks may go to private addresses (webhooks of the operator also without TLS), and feeds may be fetched from them: for closed networks.',
    page: 'how-to/fetch-feeds.md',
  },
  OUTBOUND_PROXY: {
    ...text,
    format: 'proxy-url',
    unset: 'direct connections',
    description:
      'HTTP proxy through which webhooks are sent and feeds are fetched; it must refuse private addresses. PostgreSQL and S3 are always reached directly.',
    expected: 'it must be an address such as http://user:password@proxy.example.org:3128, with http or https',
    page: 'how-to/deploy.md#what-must-be-reachable',
  },
  PARTNER_STALE_DAYS: {
    ...integer(1, 36_500),
    unset: 'only `stale_after_days` of sources counts',
    description: 'Days without a completed feed after which a partner is stale.',
    page: 'how-to/fetch-feeds.md',
  },
} as const satisfies Settings;

const observability = {
  LOG_LEVEL: {
    enum: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    default: 'info',
    description: 'Lowest level that is logged, as JSON on standard output.',
    page: 'reference/metrics-and-logs.md#logs',
  },
  METRICS_PORT: {
    ...integer(0, 65535),
    unset: 'no metrics and probes',
    description: 'Port of metrics and probes. It must differ from `PORT`.',
    page: 'reference/metrics-and-logs.md',
  },
  METRICS_HOST: {
    ...text,
    default: '127.0.0.1',
    description: 'Address on which metrics and probes listen.',
    requires: 'METRICS_PORT',
  },
} as const satisfies Settings;

/** All settings by topic, the source of the reference page and `.env.example`. */
export const settingGroups = {
  'Network and shutdown': network,
  'API keys': keys,
  Database: database,
  'Data and raw files': storage,
  Capacity: capacity,
  Retention: retention,
  Behavior: behavior,
  'Logs and metrics': observability,
} as const;

/** All settings, by name. */
export const settings = {
  ...network,
  ...keys,
  ...database,
  ...storage,
  ...capacity,
  ...retention,
  ...behavior,
  ...observability,
};

/** Removed settings that prevent the start when they are set, by name, with what to do instead. */
export const removedSettings = {
  API_PROCESSES: 'start several processes behind a balancer (docs/scaling.md#run-several-api-processes)',
} as const;

/** Replaced settings. Each still applies to its part, unless the new one is set. */
export const replacedSettings = {
  WEBHOOK_PRIVATE_ADDRESSES: {
    ...onOff,
    description: '`PRIVATE_ADDRESSES`; without it, this still counts for webhooks of the operator.',
  },
  SOURCE_PRIVATE_ADDRESSES: {
    ...onOff,
    description: '`PRIVATE_ADDRESSES`; without it, this still counts for sources.',
  },
} as const satisfies Settings;

/** Settings that became constants or were replaced, by name, with what applies instead. A warning names the ones that are set. */
export const formerSettings: Readonly<Record<string, string>> = {
  DATABASE_REPLICA_CONNECTIONS: 'The replica has as many connections as `DATABASE_CONNECTIONS` says.',
  MAX_CONCURRENT_DOWNLOADS: 'The limit is always 16.',
  MAX_CONCURRENT_RUNS_PER_PARTNER: 'The limit is always 2.',
  RATE_LIMIT_SECONDS: '`RATE_LIMIT_REQUESTS` counts per minute.',
  ...Object.fromEntries(
    Object.entries(replacedSettings).map(([name, { description }]) => [name, description]),
  ),
};

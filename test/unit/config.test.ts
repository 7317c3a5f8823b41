import { existsSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { loadConfig, readFormerSettings, settingNames } from '../../src/config';
import { rateLimitSeconds } from '../../src/http/rate-limit';
import { concurrentRunsOfPartnerMax } from '../../src/runs/execution/worker';
import {
  formerSettings,
  removedSettings,
  replacedSettings,
  settingGroups,
} from '../../src/base/setting-groups';
import { concurrentDownloadsMax } from '../../src/base/concurrency/transfer-limit';
import { ConfigError } from '../../src/base/settings';
import type { Setting } from '../../src/base/settings';

type Env = Record<string, string>;
const mebibyte = 1024 * 1024;

/** The errors of the settings, one per line. */
function problems(env: Env): string[] {
  try {
    loadConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n');
    throw error;
  }
  return [];
}

/** The settings named by the lines. */
function named(lines: string[]): string[] {
  return lines.map((line) => /^Wrong setting ([A-Z0-9_]+): .*\S.*\.$/.exec(line)?.[1] ?? line).sort();
}

describe('loadConfig', () => {
  it('requires nothing: everything has a default', () => {
    expect(loadConfig({})).toEqual({
      host: '127.0.0.1',
      port: 8080,
      apiKeys: [],
      databaseUrl: undefined,
      replica: undefined,
      s3: undefined,
      dataDir: resolve('.data'),
      uploadBytesMax: 1024 * mebibyte,
      defaultCurrency: 'USD',
      shutdownSeconds: 25,
      rateLimit: undefined,
      connectionsMax: 1000,
      concurrentUploads: 16,
      concurrentRuns: 4,
      databaseConnections: 20,
      preparesStatements: 'if kept',
      migratesOnStart: true,
      worksOnQueue: true,
      webhookPrivateAddresses: false,
      retention: { rowIssueDays: 90, rawFileDays: undefined, historyDays: 400 },
      secretsKey: undefined,
      servicePages: true,
      partnerWebhookPrivateAddresses: false,
      sourcePrivateAddresses: false,
      outboundProxy: undefined,
      logLevel: 'info',
      metrics: undefined,
    });
  });

  it('ignores variables that are not its own', () => {
    expect(loadConfig({ HOME: '/root', port: 'abc', POST: 'abc' })).toEqual(loadConfig({}));
  });

  describe('reads', () => {
    const database = 'postgresql://user:secret@db.example.org:5433/catalog';

    it.each<[string, Env, object]>([
      ['HOST', { HOST: '0.0.0.0' }, { host: '0.0.0.0' }],
      ['PORT', { PORT: '3000' }, { port: 3000 }],
      ['PORT, any free one', { PORT: '0' }, { port: 0 }],
      ['PORT, the highest', { PORT: '65535' }, { port: 65535 }],
      ['API_KEYS, one', { API_KEYS: 'one' }, { apiKeys: ['one'] }],
      [
        'API_KEYS, several, with blanks',
        { API_KEYS: ' one, two,,three ,' },
        { apiKeys: ['one', 'two', 'three'] },
      ],
      ['DATABASE_URL', { DATABASE_URL: database, API_KEYS: 'k' }, { databaseUrl: database }],
      [
        'DATABASE_URL with the other scheme',
        { DATABASE_URL: 'postgres://u@h/d', API_KEYS: 'k' },
        { databaseUrl: 'postgres://u@h/d' },
      ],
      [
        'DATABASE_URL of a socket',
        { DATABASE_URL: 'postgresql://postgres@/db?host=/var/run/postgresql', API_KEYS: 'k' },
        { databaseUrl: 'postgresql://postgres@/db?host=/var/run/postgresql' },
      ],
      [
        'DATABASE_REPLICA_URL, as many connections as to the database',
        { DATABASE_URL: database, DATABASE_REPLICA_URL: 'postgres://u@r/d', DATABASE_CONNECTIONS: '7' },
        { databaseUrl: database, replica: { url: 'postgres://u@r/d', connections: 7, lagSeconds: 10 } },
      ],
      [
        'DATABASE_REPLICA_LAG_SECONDS',
        { DATABASE_URL: database, DATABASE_REPLICA_URL: database, DATABASE_REPLICA_LAG_SECONDS: '2' },
        { replica: { url: database, connections: 20, lagSeconds: 2 } },
      ],
      ['DATA_DIR, absolute', { DATA_DIR: '/srv/catalog data' }, { dataDir: '/srv/catalog data' }],
      ['DATA_DIR, relative', { DATA_DIR: 'data/here' }, { dataDir: resolve('data/here') }],
      ['MAX_UPLOAD_BYTES', { MAX_UPLOAD_BYTES: '1048576' }, { uploadBytesMax: mebibyte }],
      ['DEFAULT_CURRENCY', { DEFAULT_CURRENCY: 'EUR' }, { defaultCurrency: 'EUR' }],
      ['SHUTDOWN_SECONDS', { SHUTDOWN_SECONDS: '3' }, { shutdownSeconds: 3 }],
      ['SHUTDOWN_SECONDS of none', { SHUTDOWN_SECONDS: '0' }, { shutdownSeconds: 0 }],
      ['RATE_LIMIT_REQUESTS', { RATE_LIMIT_REQUESTS: '600' }, { rateLimit: { requests: 600 } }],
      ['MAX_CONNECTIONS', { MAX_CONNECTIONS: '5000' }, { connectionsMax: 5000 }],
      ['MAX_CONCURRENT_UPLOADS', { MAX_CONCURRENT_UPLOADS: '2' }, { concurrentUploads: 2 }],
      ['MAX_CONCURRENT_RUNS', { MAX_CONCURRENT_RUNS: '1' }, { concurrentRuns: 1 }],
      ['DATABASE_CONNECTIONS', { DATABASE_CONNECTIONS: '50' }, { databaseConnections: 50 }],
      [
        'DATABASE_PREPARED_STATEMENTS, on',
        { DATABASE_URL: database, DATABASE_PREPARED_STATEMENTS: 'on' },
        { preparesStatements: true },
      ],
      [
        'DATABASE_PREPARED_STATEMENTS, off',
        { DATABASE_PREPARED_STATEMENTS: 'off' },
        { preparesStatements: false },
      ],
      ['MIGRATE_ON_START, on', { DATABASE_URL: database, MIGRATE_ON_START: 'on' }, { migratesOnStart: true }],
      [
        'MIGRATE_ON_START, off',
        { DATABASE_URL: database, MIGRATE_ON_START: 'off' },
        { migratesOnStart: false },
      ],
      [
        'MIGRATE_ON_START, off, for the embedded server, which only the service migrates',
        { MIGRATE_ON_START: 'off' },
        { migratesOnStart: true },
      ],
      ['QUEUE_WORKER, on', { QUEUE_WORKER: 'on' }, { worksOnQueue: true }],
      ['QUEUE_WORKER, off', { QUEUE_WORKER: 'off' }, { worksOnQueue: false }],
      [
        'PRIVATE_ADDRESSES, on',
        { PRIVATE_ADDRESSES: 'on' },
        {
          webhookPrivateAddresses: true,
          partnerWebhookPrivateAddresses: true,
          sourcePrivateAddresses: true,
        },
      ],
      [
        'PRIVATE_ADDRESSES, off',
        { PRIVATE_ADDRESSES: 'off' },
        { webhookPrivateAddresses: false, sourcePrivateAddresses: false },
      ],
      [
        'WEBHOOK_PRIVATE_ADDRESSES, which allows sources and webhooks of partners nothing',
        { WEBHOOK_PRIVATE_ADDRESSES: 'on' },
        {
          webhookPrivateAddresses: true,
          partnerWebhookPrivateAddresses: false,
          sourcePrivateAddresses: false,
        },
      ],
      [
        'PRIVATE_ADDRESSES, off, beside a setting that it replaces',
        { PRIVATE_ADDRESSES: 'off', WEBHOOK_PRIVATE_ADDRESSES: 'on', SOURCE_PRIVATE_ADDRESSES: 'on' },
        { webhookPrivateAddresses: false, sourcePrivateAddresses: false },
      ],
      [
        'OUTBOUND_PROXY',
        { OUTBOUND_PROXY: 'http://user:p%40ss@proxy.example.org:3128' },
        { outboundProxy: new URL('http://user:p%40ss@proxy.example.org:3128') },
      ],
      [
        'OUTBOUND_PROXY over TLS',
        { OUTBOUND_PROXY: 'https://proxy.example.org' },
        { outboundProxy: new URL('https://proxy.example.org') },
      ],
      [
        'SOURCE_PRIVATE_ADDRESSES, which allows webhooks nothing',
        { SOURCE_PRIVATE_ADDRESSES: 'on' },
        { webhookPrivateAddresses: false, sourcePrivateAddresses: true },
      ],
      [
        'the days of retention',
        { ROW_ISSUE_RETENTION_DAYS: '1', RAW_FILE_RETENTION_DAYS: '400', HISTORY_RETENTION_DAYS: '7' },
        { retention: { rowIssueDays: 1, rawFileDays: 400, historyDays: 7 } },
      ],
      ['SERVICE_PAGES, on', { SERVICE_PAGES: 'on' }, { servicePages: true }],
      ['SERVICE_PAGES, off', { SERVICE_PAGES: 'off' }, { servicePages: false }],
      ['LOG_LEVEL', { LOG_LEVEL: 'debug' }, { logLevel: 'debug' }],
      ['METRICS_PORT', { METRICS_PORT: '9464' }, { metrics: { host: '127.0.0.1', port: 9464 } }],
      [
        'METRICS_PORT, which is no public one',
        { METRICS_PORT: '0', PORT: '0', HOST: '0.0.0.0' },
        { metrics: { host: '127.0.0.1', port: 0 } },
      ],
      [
        'METRICS_HOST',
        { METRICS_PORT: '9464', METRICS_HOST: '10.0.0.2', HOST: '10.0.0.1' },
        { host: '10.0.0.1', metrics: { host: '10.0.0.2', port: 9464 } },
      ],
    ])('%s', (_what, env, expected) => {
      expect(loadConfig(env)).toMatchObject(expected);
    });

    it('the folder as an absolute path, from any path', () => {
      expect(isAbsolute(loadConfig({ DATA_DIR: './x/../y' }).dataDir)).toBe(true);
    });

    it('surrounding white space as absent', () => {
      expect(loadConfig({ PORT: ' 3000\n', DEFAULT_CURRENCY: ' EUR ' })).toMatchObject({
        port: 3000,
        defaultCurrency: 'EUR',
      });
    });
  });

  describe('reads the S3 settings', () => {
    const endpoint = 'https://s3.example.org:9000';

    it.each<[string, Env, object]>([
      [
        'a bucket at AWS, whose region the SDK finds',
        { S3_BUCKET: 'feeds' },
        { bucket: 'feeds', endpoint: undefined, region: undefined, forcePathStyle: false },
      ],
      ['a region', { S3_BUCKET: 'feeds', S3_REGION: 'eu-central-1' }, { region: 'eu-central-1' }],
      [
        'another store, which needs paths and no region',
        { S3_BUCKET: 'feeds', S3_ENDPOINT: endpoint },
        { endpoint, region: 'us-east-1', forcePathStyle: true },
      ],
      [
        'another store with a region from the environment of the SDK',
        { S3_BUCKET: 'feeds', S3_ENDPOINT: endpoint, AWS_REGION: 'eu-west-1' },
        { region: undefined },
      ],
      ['path style', { S3_BUCKET: 'feeds', S3_FORCE_PATH_STYLE: 'true' }, { forcePathStyle: true }],
      [
        'host style',
        { S3_BUCKET: 'feeds', S3_ENDPOINT: endpoint, S3_FORCE_PATH_STYLE: 'false' },
        { forcePathStyle: false },
      ],
      [
        'checksums',
        { S3_BUCKET: 'feeds', S3_REQUEST_CHECKSUM_CALCULATION: 'WHEN_SUPPORTED' },
        { requestChecksumCalculation: 'WHEN_SUPPORTED' },
      ],
    ])('%s', (_what, env, expected) => {
      expect(loadConfig(env).s3).toMatchObject(expected);
    });
  });

  it.each([...settingNames, ...Object.keys(removedSettings)])(
    'treats an empty or blank %s as unset',
    (name) => {
      expect(loadConfig({ [name]: '' })).toEqual(loadConfig({}));
      expect(loadConfig({ [name]: ' \t' })).toEqual(loadConfig({}));
    },
  );

  describe('rejects, with one line that names the setting,', () => {
    it.each([
      ['PORT', 'abc'],
      ['PORT', '-1'],
      ['PORT', '65536'],
      ['PORT', '80.5'],
      ['PORT', '8080 8081'],
      ['PORT', '80\n81'],
      ['API_KEYS', ','],
      ['API_KEYS', ' , ,'],
      ['API_KEYS', 'a-key-of-a-line\nanother-key-of-a-line'],
      ['API_KEYS', 'a-key,another-key\u007f'],
      ['MAX_UPLOAD_BYTES', '0'],
      ['MAX_UPLOAD_BYTES', '-5'],
      ['MAX_UPLOAD_BYTES', '1GB'],
      ['MAX_UPLOAD_BYTES', '99999999999999999999'],
      ['DEFAULT_CURRENCY', 'usd'],
      ['DEFAULT_CURRENCY', 'EURO'],
      ['DEFAULT_CURRENCY', 'DEM'],
      ['DEFAULT_CURRENCY', '$'],
      ['SHUTDOWN_SECONDS', '-1'],
      ['SHUTDOWN_SECONDS', '1.5'],
      ['SHUTDOWN_SECONDS', 'soon'],
      ['RATE_LIMIT_REQUESTS', '0'],
      ['RATE_LIMIT_REQUESTS', '1000001'],
      ['MAX_CONNECTIONS', '0'],
      ['MAX_CONNECTIONS', '65536'],
      ['MAX_CONCURRENT_UPLOADS', '0'],
      ['MAX_CONCURRENT_UPLOADS', '101'],
      ['MAX_CONCURRENT_RUNS', '0'],
      ['MAX_CONCURRENT_RUNS', '7'],
      ['DATABASE_CONNECTIONS', '1'],
      ['DATABASE_CONNECTIONS', '201'],
      ['DATABASE_PREPARED_STATEMENTS', 'yes'],
      ['MIGRATE_ON_START', 'no'],
      ['QUEUE_WORKER', 'no'],
      ['PRIVATE_ADDRESSES', 'yes'],
      ['OUTBOUND_PROXY', 'proxy.example.org:3128'],
      ['OUTBOUND_PROXY', 'socks5://proxy.example.org'],
      ['OUTBOUND_PROXY', 'http://'],
      ['OUTBOUND_PROXY', 'http://proxy.example.org/path'],
      ['OUTBOUND_PROXY', 'http://proxy.example.org?a=b'],
      ['OUTBOUND_PROXY', 'http://user:100%25%@proxy.example.org'],
      ['WEBHOOK_PRIVATE_ADDRESSES', 'yes'],
      ['SERVICE_PAGES', 'no'],
      ['SERVICE_PAGES', 'OFF'],
      ['LOG_LEVEL', 'loud'],
      ['LOG_LEVEL', 'INFO!'],
      ['METRICS_PORT', 'abc'],
      ['METRICS_PORT', '65536'],
      ['METRICS_PORT', '8080'],
    ])('%s=%j', (name, value) => {
      expect(named(problems({ [name]: value }))).toEqual([name]);
    });

    it.each([
      'localhost',
      'localhost:5432/db',
      'mysql://user@host/db',
      'http://host/db',
      'postgresql:host',
      'postgresql://user@host/a database',
    ])('DATABASE_URL=%j', (value) => {
      expect(named(problems({ DATABASE_URL: value, API_KEYS: 'k' }))).toEqual(['DATABASE_URL']);
    });

    it.each(['DATABASE_URL', 'DATABASE_REPLICA_URL'])('TLS parameters of %s', (name) => {
      const urls = { DATABASE_URL: 'postgres://u@h/d', DATABASE_REPLICA_URL: 'postgres://u@r/d' };
      const wrong = { ...urls, [name]: 'postgres://u@h/d?sslmode=prefer' };
      const byVariable = { DATABASE_URL: 'postgres://u@h/d', PGSSLMODE: 'prefer' };

      expect(named(problems({ ...wrong, API_KEYS: 'k' }))).toEqual([name]);
      expect(named(problems({ ...byVariable, API_KEYS: 'k' }))).toEqual(['DATABASE_URL']);
    });

    it.each([
      ['S3_ENDPOINT', 'minio:9000'],
      ['S3_ENDPOINT', 'ftp://minio'],
      ['S3_ENDPOINT', 'https://'],
      ['S3_ENDPOINT', 'http://minio:99999'],
      ['S3_FORCE_PATH_STYLE', 'yes'],
      ['S3_FORCE_PATH_STYLE', '1'],
      ['S3_REQUEST_CHECKSUM_CALCULATION', 'NEVER'],
    ])('%s=%j', (name, value) => {
      expect(named(problems({ S3_BUCKET: 'feeds', [name]: value }))).toEqual([name]);
    });

    it.each([
      ['S3_ENDPOINT', 'https://s3.example.org'],
      ['S3_REGION', 'eu-central-1'],
      ['S3_FORCE_PATH_STYLE', 'true'],
    ])('%s without S3_BUCKET: files would be stored in the wrong place', (name, value) => {
      expect(named(problems({ [name]: value }))).toEqual(['S3_BUCKET']);
      expect(problems({ [name]: value })[0]).toContain(name);
    });
  });

  it('rejects METRICS_PORT if it equals PORT, and METRICS_HOST without it', () => {
    expect(named(problems({ PORT: '9464', METRICS_PORT: '9464' }))).toEqual(['METRICS_PORT']);
    expect(named(problems({ METRICS_HOST: '10.0.0.1' }))).toEqual(['METRICS_PORT']);
    expect(problems({ PORT: '0', METRICS_PORT: '0' })).toEqual([]);
  });

  it('rejects a replica without a database, and settings of a replica that is not set', () => {
    const url = 'postgresql://user@host/db';
    expect(named(problems({ DATABASE_REPLICA_URL: url }))).toEqual(['DATABASE_URL']);
    const lag = 'DATABASE_REPLICA_LAG_SECONDS';
    expect(named(problems({ DATABASE_URL: url, [lag]: '2' }))).toEqual(['DATABASE_REPLICA_URL']);
    expect(named(problems({ DATABASE_URL: url, DATABASE_REPLICA_URL: url, [lag]: '1' }))).toEqual([lag]);
    expect(named(problems({ DATABASE_URL: url, DATABASE_REPLICA_URL: 'nothing' }))).toEqual([
      'DATABASE_REPLICA_URL',
    ]);
  });

  it.each(['4', '1', 'abc'])('rejects the removed API_PROCESSES=%j, with instructions', (value) => {
    expect(problems({ API_PROCESSES: value })).toEqual([
      'Wrong setting API_PROCESSES: it has been removed; ' +
        'start several processes behind a balancer (docs/scaling.md#run-several-api-processes).',
    ]);
  });

  it('lists all errors, one per line', () => {
    const wrong = {
      PORT: 'abc',
      LOG_LEVEL: 'loud',
      DEFAULT_CURRENCY: 'X',
      SHUTDOWN_SECONDS: '-1',
      API_PROCESSES: '4',
    };

    const lines = problems({ ...wrong, S3_ENDPOINT: 'nowhere', DATABASE_URL: 'nothing' });

    expect(named(lines)).toEqual([...Object.keys(wrong), 'S3_ENDPOINT', 'S3_BUCKET', 'DATABASE_URL'].sort());
  });

  it('reports the expected value', () => {
    expect(problems({ LOG_LEVEL: 'loud' })[0]).toContain('warn');
    expect(problems({ PORT: '70000' })[0]).toContain('65535');
    expect(problems({ DATABASE_URL: 'db', API_KEYS: 'k' })[0]).toContain('postgresql://');
  });

  it('contains no secret', () => {
    const secret = 'correct-horse';

    const lines = problems({ DATABASE_URL: `mysql://user:${secret}@host/db`, API_KEYS: secret, PORT: 'abc' });

    expect(lines.join('\n')).not.toContain(secret);
    expect(lines).toHaveLength(2);
  });
});

describe('the former settings', () => {
  it.each(Object.keys(formerSettings))('%s is not a setting, and is named when it is set', (name) => {
    expect(settingNames).not.toContain(name);
    expect(readFormerSettings({ [name]: 'off', PORT: '80' })).toEqual({ [name]: formerSettings[name] });
    expect(readFormerSettings({ [name]: ' ' })).toEqual({});
  });

  it.each(Object.keys(formerSettings).filter((name) => !(name in replacedSettings)))(
    '%s has no effect with any value',
    (name) => expect(loadConfig({ [name]: '3' })).toEqual(loadConfig({})),
  );

  it('have the constants of the page on settings', () => {
    expect(formerSettings.MAX_CONCURRENT_DOWNLOADS).toContain(` ${concurrentDownloadsMax}.`);
    expect(formerSettings.MAX_CONCURRENT_RUNS_PER_PARTNER).toContain(` ${concurrentRunsOfPartnerMax}.`);
    expect(rateLimitSeconds).toBe(60);
  });
});

describe('the removed settings', () => {
  it.each(Object.entries(removedSettings))(
    '%s is not a setting, and its message names pages that exist',
    (name, instead) => {
      expect(settingNames).not.toContain(name);
      for (const [path] of instead.matchAll(/docs\/[\w/-]+\.md/g)) {
        expect(existsSync(join(__dirname, '../..', path))).toBe(true);
      }
    },
  );
});

describe('the table of settings', () => {
  const settings = Object.values(settingGroups).flatMap((group) => Object.entries<Setting>(group));

  it('names each setting once', () => {
    expect(settings.map(([name]) => name)).toEqual(settingNames);
  });

  it.each(settings)('describes %s, and its default or what applies without a value', (_name, setting) => {
    expect(setting.description).toMatch(/^[^a-z].*\.$/);
    expect([setting.default, setting.unset].filter((value) => value !== undefined)).toHaveLength(1);
  });

  it('has no default that would be rejected as a value', () => {
    const defaults = settings.flatMap(([name, { default: value }]) =>
      value === undefined ? [] : [[name, String(value)]],
    );
    const address = 'postgresql://user@host/db';
    const required = { DATABASE_URL: address, DATABASE_REPLICA_URL: address, RATE_LIMIT_REQUESTS: '1' };

    expect(problems({ ...required, METRICS_PORT: '9464', ...Object.fromEntries(defaults) } as Env)).toEqual(
      [],
    );
  });
});

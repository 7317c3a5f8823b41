import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../../src/base/db/database';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../src/base/embedded-postgres/server';
import { migrateToLatest } from '../../src/operation/database/migrate';
import { takeCitus } from './citus';
import { templateDatabase, type Shared } from './databases';
import { makeFolder, removeLeftFolders } from './harness';
import { startPgBouncer, type PgBouncer } from './pgbouncer';
import { startS3Server, type S3Server } from './s3';

/** Shared by the whole test run: one PostgreSQL with a migrated template database, and one S3 server. */
export interface Global {
  folder: string;
  postgres: Pick<EmbeddedPostgres, 'stop'>;
  pooler?: PgBouncer;
  s3: S3Server;
}

export default async function setUp(): Promise<void> {
  buildOnce();
  removeLeftFolders();
  const folder = makeFolder();
  const { CITUS_URL } = process.env;
  const citus = CITUS_URL ? await takeCitus(CITUS_URL, templateDatabase) : undefined;
  const postgres =
    citus ??
    (await startEmbeddedPostgres(folder, {
      fsync: 'off',
      full_page_writes: 'off',
      max_connections: '200',
      shared_buffers: '256MB',
    }));
  const template = { ...postgres.address, database: templateDatabase };
  const admin = openDatabase(postgres.address, { applicationName: 'set-up', connectionsMax: 1 });
  await admin.raw(`create database ${templateDatabase} template template0 encoding 'UTF8' locale 'C'`);
  await admin.destroy();
  const db = openDatabase(template, { applicationName: 'set-up', connectionsMax: 2 });
  await citus?.prepare(db);
  await migrateToLatest(db);
  await citus?.distribute(db);
  await db.destroy();
  await citus?.release(templateDatabase);

  const s3 = await startS3Server(join(folder, 's3'));
  // Every service of the tests then connects to PostgreSQL through it (`make test-pooled`).
  const { TEST_POOLER } = process.env;
  const pooler =
    TEST_POOLER === undefined
      ? undefined
      : await startPgBouncer(postgres.address, 20, { keptStatements: Number(TEST_POOLER) });
  const shared: Shared = {
    folder,
    address: postgres.address,
    ...(pooler && { pooler: pooler.address }),
    s3Endpoint: s3.endpoint,
    s3Bucket: s3.bucket,
  };
  process.env.CATALOG_TEST_SHARED = JSON.stringify(shared);
  process.env.CATALOG_TEST_COVERAGE = join(folder, 'coverage');
  mkdirSync(process.env.CATALOG_TEST_COVERAGE);
  process.env.AWS_ACCESS_KEY_ID = s3.accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = s3.secretAccessKey;
  (globalThis as { catalogTest?: Global }).catalogTest = { folder, postgres, pooler, s3 };
}

/** Builds the console, which every service serves, and the service for tests of processes, if there is no build yet. */
function buildOnce(): void {
  const project = join(__dirname, '..', '..');
  const built = [
    'dist/console/console.js',
    'dist/console/console.css',
    'dist/console/workbook-worker.js',
    'dist/cli/partner-feed.cjs',
    'dist/src/main.js',
  ];
  if (built.every((file) => existsSync(join(project, file)))) return;
  process.stderr.write('Building the service once: `make dist/.built` builds it again after a change.\n');
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: project, stdio: 'inherit' });
}

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { openDatabase, type Database, type DatabaseAddress } from '../../../src/base/db/database';
import { migrateToLatest, missingMigrations } from '../../../src/operation/database/migrate';
import { createEmptyDatabase, createTestDatabase, databaseUrl } from '../../support/databases';
import { eventually, project } from '../../support/harness';
import { spawnService, startService } from '../../support/process';
import { testKey } from '../../support/service';

async function within<T>(address: DatabaseAddress, work: (db: Database) => Promise<T>): Promise<T> {
  const db = openDatabase(address, { applicationName: 'test', connectionsMax: 2 });
  try {
    return await work(db);
  } finally {
    await db.destroy();
  }
}

const missing = (address: DatabaseAddress) => within(address, missingMigrations);

/** Holds the migration lock. @returns a function that releases it */
async function holdMigrationLock(address: DatabaseAddress): Promise<() => Promise<void>> {
  const db = openDatabase(address, { applicationName: 'test', connectionsMax: 1 });
  const lock = await db.transaction();
  await lock.raw('select pg_advisory_xact_lock(?)', [0x70636174]);
  return async () => {
    await lock.rollback();
    await db.destroy();
  };
}

describe('the argument migrate', () => {
  it('migrates the schema without serving and exits with 0, also a second time', async () => {
    const address = await createEmptyDatabase();
    const env = { DATABASE_URL: databaseUrl(address), METRICS_PORT: '0' };

    const first = await spawnService({ role: 'migrate', env }).exit;

    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout).toContain('schema is up to date');
    expect(first.stdout).not.toContain('url');
    expect(await missing(address)).toEqual([]);
    expect(await spawnService({ role: 'migrate', env }).exit).toMatchObject({ code: 0 });
  });

  it('exits with 1 and one line with the reason when the database cannot be used', async () => {
    const address = await createEmptyDatabase('LATIN1');
    const env = { DATABASE_URL: databaseUrl(address) };

    const { code, stderr } = await spawnService({ role: 'migrate', env }).exit;

    expect(code).toBe(1);
    expect(stderr).toMatch(/^Wrong setting DATABASE_URL: .*must have the encoding UTF8.*\n$/);
  });

  it('exits with 1 when it is stopped before the end', async () => {
    const address = await createEmptyDatabase();
    const letGo = await holdMigrationLock(address);
    const service = spawnService({ role: 'migrate', env: { DATABASE_URL: databaseUrl(address) } });
    const db = openDatabase(address, { applicationName: 'test', connectionsMax: 1 });
    const asking = db('pg_stat_activity').where({
      application_name: 'migration',
      datname: address.database!,
    });
    await eventually('it asks for the lock', async () => (await asking.clone()).length > 0, 60);
    await db.destroy();

    const { code } = await service.stop();

    expect(code).toBe(1);
    await letGo();
    expect(await missing(address)).not.toEqual([]);
  });

  it('migrates the embedded server too', async () => {
    const service = spawnService({ role: 'migrate' });

    expect(await service.exit).toMatchObject({ code: 0, stderr: '' });
    expect((await startService({ env: { DATA_DIR: service.dataDir } })).url).toBeDefined();
  });
});

describe('a database that a newer version has migrated', () => {
  /** Migrates the schema like a newer version. @returns the settings of a service */
  async function migrateFurther(sql: string, migratesOnStart: string): Promise<Record<string, string>> {
    const { address, db } = await createTestDatabase();
    await db('schema_migrations').insert({ name: '29990101000000_newer', batch: 9 });
    await db.raw(sql);
    return {
      DATABASE_URL: databaseUrl(address),
      API_KEYS: testKey,
      MIGRATE_ON_START: migratesOnStart,
    };
  }
  const listKeys = (env: Record<string, string>) =>
    promisify(execFile)(process.execPath, ['dist/src/operation/admin/main.js', 'keys', 'list'], {
      cwd: project,
      env: { PATH: process.env.PATH, ...env },
    });

  it.each(['on', 'off'])(
    'is served after expand steps only, with a warning: MIGRATE_ON_START=%s',
    async (migratesOnStart) => {
      const env = await migrateFurther('alter table partners add column note text', migratesOnStart);

      const service = await startService({ env });

      expect((await service.api.loadFeed('sku,product_name\nTENT-2,Tent\n')).job.status).toBe('completed');
      const lines = service.stdout.split('\n').filter((line) => line.includes('schema is newer'));
      expect(lines).toHaveLength(1);
      expect(JSON.parse(lines[0]!)).toMatchObject({
        msg: 'schema is newer than this version',
        migrations: ['29990101000000_newer'],
      });
      expect((await listKeys(env)).stdout).toContain('NAME');
    },
  );

  it.each(['on', 'off'])(
    'is rejected after a contract step with one line that names the required version: MIGRATE_ON_START=%s',
    async (migratesOnStart) => {
      const env = await migrateFurther(
        "update schema_compatibility set compatible_from = '99.1.0'",
        migratesOnStart,
      );
      const line =
        /^The database has the schema of a newer version: start version 99\.1\.0 of the service or later; this is [\d.]+\.\n$/;

      const { code, stderr } = await spawnService({ env }).exit;

      expect(code).toBe(1);
      expect(stderr).toMatch(line);
      await expect(listKeys(env)).rejects.toMatchObject({ code: 1, stderr: expect.stringMatching(line) });
    },
  );
});

describe('MIGRATE_ON_START=off', () => {
  it('waits, alive and not ready, until another process has migrated', async () => {
    const address = await createEmptyDatabase();
    const env = { DATABASE_URL: databaseUrl(address), API_KEYS: testKey };
    const service = spawnService({ env: { ...env, MIGRATE_ON_START: 'off', METRICS_PORT: '0' } });
    await eventually(
      'it says that it waits',
      () => service.stdout.includes('waiting for npm run migrate'),
      30,
    );

    expect((await fetch(`${service.operatorUrl!}/livez`)).status).toBe(200);
    const ready = await fetch(`${service.operatorUrl!}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([503, { status: 'starting' }]);
    expect(service.url).toBeUndefined();
    expect(await missing(address)).not.toEqual([]);

    await within(address, (db) => migrateToLatest(db));
    await service.listens();
    expect((await service.api.get('/products')).status).toBe(200);
  });

  it('can be stopped while it waits', async () => {
    const env = { DATABASE_URL: databaseUrl(await createEmptyDatabase()), MIGRATE_ON_START: 'off' };
    const service = spawnService({ role: 'worker', env });
    await eventually(
      'it says that it waits',
      () => service.stdout.includes('waiting for npm run migrate'),
      30,
    );

    expect(await service.stop()).toMatchObject({ code: 0, stderr: '' });
  });

  it('makes the command for keys reject an old schema', async () => {
    const address = await createEmptyDatabase();
    const env = { PATH: process.env.PATH, DATABASE_URL: databaseUrl(address), MIGRATE_ON_START: 'off' };
    const list = () =>
      promisify(execFile)(process.execPath, ['dist/src/operation/admin/main.js', 'keys', 'list'], {
        cwd: project,
        env,
      });

    await expect(list()).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^The schema is not up to date \(.+\): npm run migrate\.\n$/),
    });
    await within(address, (db) => migrateToLatest(db));
    expect((await list()).stdout).toContain('NAME');
  });
});

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { contract, migrations } from '../../../migrations';
import { openDatabase } from '../../../src/base/db/database';
import { migrateToLatest } from '../../../src/operation/database/migrate';
import type { ApiClient } from '../../support/api-client';
import { createEmptyDatabase, databaseUrl } from '../../support/databases';
import { afterFile, eventually, createTestFolder, project } from '../../support/harness';
import { findBrokenHistory } from '../../support/history-invariants';
import { startService, spawnService, type ServiceProcess } from '../../support/process';
import { testKey } from '../../support/service';

/** The folders of this version and of the last release, both built. */
const roots = { 'this version': project, 'the last release': process.env.LAST_RELEASE! };
type Version = keyof typeof roots;
const [present, last]: Version[] = ['this version', 'the last release'];

const feedOf = (price: number, ...skus: string[]) =>
  ['sku,product_name,price,currency', ...skus.map((sku) => `${sku},Thing ${sku},${price},EUR`)].join('\n');

const start = (version: Version, env: Record<string, string>) => startService({ root: roots[version], env });

/** The responses that clients get for all data: equal in both versions. */
async function everything(api: ApiClient): Promise<unknown[]> {
  const paths = ['/products?limit=100', '/orders?limit=100', '/analytics/sales-by-partner'];
  return Promise.all(paths.map(async (path) => (await api.get(path)).body as unknown));
}

/** Changes data in all ways: a synchronous run, a queued run, a run of an unchanged feed, and an order. */
async function work({ api }: ServiceProcess, partnerName: string, price: number): Promise<void> {
  const { job } = await api.loadFeed(feedOf(price, 'A', 'B'), partnerName);
  expect(job.status).toBe('completed');
  const queued = await api.uploadFeed(feedOf(price + 1, 'A', 'B', 'C'), partnerName);
  expect((await api.post(`/jobs/${queued.jobId}/run`, undefined, { prefer: 'respond-async' })).status).toBe(
    202,
  );
  await eventually(
    'the queued run has completed',
    async () => (await api.get(`/jobs/${queued.jobId}`)).body.status === 'completed',
    60,
  );
  const { job: again } = await api.loadFeed(feedOf(price + 1, 'A', 'B', 'C'), partnerName);
  expect(again.summary).toMatchObject({ unchanged: 3 });
  const { body } = await api.get(`/products?partner_name=${encodeURIComponent(partnerName)}`);
  expect(body.items.map(({ price }: { price: number }) => price)).toEqual([price + 1, price + 1, price + 1]);
  const items = [{ product_id: body.items[0].product_id as string, quantity: 2 }];
  expect((await api.post('/orders', { partner_name: partnerName, items })).status).toBe(201);
}

describe('the last release', () => {
  it('serves on the newest schema, and this version after it, with all data', async () => {
    const env = { DATA_DIR: `${createTestFolder()}/data` };
    let seen: unknown;
    for (const [at, version] of [last, present, last, present].entries()) {
      const service = await start(version!, env);
      if (at > 0) expect(await everything(service.api)).toEqual(seen);

      await work(service, 'Acme Outdoor', 10 * at);
      await work(service, `Partner ${at}`, 5);

      seen = await everything(service.api);
      expect(await service.stop()).toMatchObject({ code: 0, stderr: '' });
    }
  });

  it('starts on a schema that this version has made', async () => {
    const env = {
      DATABASE_URL: databaseUrl(await createEmptyDatabase()),
      API_KEYS: testKey,
    };
    await spawnService({ role: 'migrate', env }).exit;

    for (const migratesOnStart of ['on', 'off']) {
      const service = await start(last!, { ...env, MIGRATE_ON_START: migratesOnStart });
      await work(service, `Partner ${migratesOnStart}`, 5);
      await service.stop();
    }
    const keys = await promisify(execFile)(process.execPath, ['dist/src/manage-keys.js', 'list'], {
      cwd: roots[last!],
      env: { PATH: process.env.PATH, ...env },
    });
    expect(keys.stdout).toContain('NAME');
  });

  it('works beside this version on one database', async () => {
    const env = {
      DATABASE_URL: databaseUrl(await createEmptyDatabase()),
      API_KEYS: testKey,
      DATA_DIR: `${createTestFolder()}/data`,
    };
    const older = await start(last!, env);
    const newer = await start(present!, env);

    await Promise.all([work(older, 'Older', 5), work(newer, 'Newer', 5)]);

    const feed = await older.api.uploadFeed(feedOf(7, 'A'), 'Both');
    expect((await newer.api.post(`/jobs/${feed.jobId}/run`)).body).toMatchObject({ status: 'completed' });
    expect(await everything(older.api)).toEqual(await everything(newer.api));
  });

  it('works beside this version under load, on the same jobs, and hands its queue over', async () => {
    const address = await createEmptyDatabase();
    const env = {
      DATABASE_URL: databaseUrl(address),
      API_KEYS: testKey,
      DATA_DIR: `${createTestFolder()}/data`,
    };
    const older = await start(last!, env);
    const newer = await start(present!, env);
    const apis = [older.api, newer.api];
    const db = openDatabase(address, { applicationName: 'test', connectionsMax: 2 });
    afterFile(() => db.destroy());
    const partners = ['Acme', 'Birch', 'Cedar', 'Dune'];
    const jobs: string[] = [];
    for (const name of partners)
      for (const price of [5, 6]) {
        jobs.push((await older.api.uploadFeed(feedOf(price, 'A', 'B'), name)).jobId);
      }

    // Each sends to one version, then to the other: runs, queued runs and cancellations of the same jobs.
    const ask = async (client: number) => {
      for (let turn = 0; turn < 24; turn++) {
        const api = apis[(client + turn) % 2]!;
        const jobId = jobs[(client * 7 + turn * 3) % jobs.length]!;
        const prefer = turn % 3 === 0 ? { prefer: 'respond-async' } : undefined;
        const path = `/jobs/${jobId}/${turn % 8 === 7 ? 'cancel' : 'run'}`;
        const { status, body } = await api.post(path, undefined, prefer);
        expect({ path, body, isExpected: [200, 202, 409].includes(status) }).toMatchObject({
          isExpected: true,
        });
      }
    };
    await Promise.all([0, 1, 2, 3, 4, 5].map(ask));
    const queued = await Promise.all(
      jobs.map((jobId) => older.api.post(`/jobs/${jobId}/run`, undefined, { prefer: 'respond-async' })),
    );
    expect(queued.map(({ status }) => status)).not.toContain(500);
    expect(await older.stop()).toMatchObject({ code: 0 });

    await eventually(
      'no run is queued or in progress',
      async () => {
        const pending = await db('runs').whereIn('status', ['queued', 'running']);
        expect(pending).toEqual([]);
      },
      60,
    );
    for (const jobId of jobs) {
      const { body } = await newer.api.post(`/jobs/${jobId}/run`);
      expect(body).toMatchObject({ status: 'completed' });
    }
    expect(await findBrokenHistory(db)).toEqual([]);
    expect(await newer.stop()).toMatchObject({ code: 0 });
    const again = await start(last!, env);
    for (const jobId of jobs) expect((await again.api.get(`/jobs/${jobId}`)).body.status).toBe('completed');
    await again.stop();
  });

  it('rejects a schema from which a contract step has removed something, and names the required version', async () => {
    const address = await createEmptyDatabase();
    const db = openDatabase(address, { applicationName: 'test', connectionsMax: 2 });
    const step = { up: () => Promise.resolve(), down: () => Promise.resolve() };
    await migrateToLatest(db, undefined, {
      version: '99.2.0',
      migrations: { ...migrations, '29990101000000_step': contract(step, '99.1.0') },
    });
    await db.destroy();

    const { code, stderr } = await spawnService({
      root: roots[last!],
      env: { DATABASE_URL: databaseUrl(address), API_KEYS: testKey },
    }).exit;

    expect(code).toBe(1);
    expect(stderr).toContain('version 99.1.0 of the service, or later');
  });
});

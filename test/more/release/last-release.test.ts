import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { contract, migrations } from '../../../migrations';
import { openDatabase } from '../../../src/db/database';
import { migrateToLatest } from '../../../src/db/migrate';
import type { ApiClient } from '../../support/api-client';
import { createEmptyDatabase, databaseUrl } from '../../support/databases';
import { eventually, createTestFolder, project } from '../../support/harness';
import { startService, spawnService, type ServiceProcess } from '../../support/process';
import { testKey } from '../../support/service';

/** The folders of this version and of the last release, both built. */
const roots = { 'this version': project, 'the last release': process.env.LAST_RELEASE! };
type Version = keyof typeof roots;
const [present, last]: Version[] = ['this version', 'the last release'];

const feedOf = (price: number, ...skus: string[]) =>
  ['sku,product_name,price,currency', ...skus.map((sku) => `${sku},Thing ${sku},${price},EUR`)].join('\n');

const start = (version: Version, env: Record<string, string>) => startService({ root: roots[version], env });

/** What clients see of all data: the same in both versions. */
async function everything(api: ApiClient): Promise<unknown[]> {
  const paths = ['/products?limit=100', '/orders?limit=100', '/analytics/sales-by-partner'];
  return Promise.all(paths.map(async (path) => (await api.get(path)).body as unknown));
}

/** Does all that changes data: a run at once, a queued run, a run of what is unchanged, and an order. */
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

  it('rejects a schema from which a contract step has removed something, and says which version is needed', async () => {
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

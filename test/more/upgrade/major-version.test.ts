import { execFile } from 'node:child_process';
import { chownSync, cpSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { serverAccount } from '../../../src/base/embedded-postgres/files';
import { runAdmin } from '../../support/commands';
import { afterFile, createTestFolder } from '../../support/harness';
import { startService } from '../../support/process';

const run = promisify(execFile);
const key = 'a-key-of-the-older-server';
const csv = 'sku,product_name,price,currency\nA,Tent,5,EUR\nB,Lamp,NA,EUR\n';

/** The programs of another major version of PostgreSQL, installed from Debian. */
const debian = '/usr/lib/postgresql';
const older = (existsSync(debian) ? readdirSync(debian) : [])
  .filter((version) => Number(version) >= 15 && Number(version) < 18)
  .map((version) => join(debian, version, 'bin'))
  .find((bin) => existsSync(join(bin, 'initdb')));
if (!older)
  process.stderr.write('LEFT OUT: the copy between major versions (Debian: apt-get install postgresql).\n');

/** Starts a server of the older version with an empty database. @returns the address of the database */
async function startOlderServer(): Promise<string> {
  const folder = createTestFolder();
  const cluster = join(folder, 'older');
  const account = await serverAccount(cluster);
  mkdirSync(cluster, { mode: 0o700 });
  if (account) chownSync(cluster, account.uid, account.gid);
  const options = { ...account, cwd: '/' };
  const args = [
    '--username',
    'postgres',
    '--auth',
    'trust',
    '--encoding',
    'UTF8',
    '--locale',
    'C',
    '--no-sync',
  ];
  await run(join(older!, 'initdb'), ['--pgdata', cluster, ...args], options);
  const control = (...what: string[]) =>
    run(join(older!, 'pg_ctl'), ['--pgdata', cluster, '--wait', '--silent', ...what], options);
  afterFile(async () => {
    await control('stop', '--mode', 'immediate');
  });
  const settings = `-c listen_addresses= -c unix_socket_directories=${cluster} -c fsync=off`;
  await control('start', '--log', join(cluster, 'start.log'), '--options', settings);
  const client = new Client({ host: cluster, user: 'postgres', database: 'postgres' });
  await client.connect();
  await client.query('create database catalog');
  await client.end();
  return `postgresql://postgres@/catalog?host=${encodeURIComponent(cluster)}`;
}

(older ? describe : describe.skip)('a new major version of PostgreSQL', () => {
  it('gets all data by a copy from the older server, and the service continues on it', async () => {
    const from = await startOlderServer();
    const before = await startService({ env: { DATABASE_URL: from, API_KEYS: key } });
    const { jobId, feedId } = await before.api.loadFeed(csv);
    await before.api.loadFeed(csv.replace('5,', '6,'));
    const items = [{ product_id: 'PR00001', quantity: 2 }];
    await before.api.post('/orders', { partner_name: 'Acme Outdoor', items });

    const dataDir = join(createTestFolder(), 'data');
    await (await startService({ env: { DATA_DIR: dataDir } })).stop();
    expect(await runAdmin({ DATA_DIR: dataDir }, 'database', 'copy', from)).toMatchObject({
      code: 0,
      stderr: '',
    });
    const pages = [
      '/products',
      '/products/PR00001/history',
      '/products/PR00001/prices',
      '/orders',
      '/analytics/sales-by-partner',
      `/jobs/${jobId}/issues`,
      '/partners',
      '/products?q=tent',
    ];
    const answers = await Promise.all(pages.map(async (page) => (await before.api.get(page)).body));
    await before.stop();
    cpSync(join(before.dataDir, 'objects'), join(dataDir, 'objects'), { recursive: true });
    const after = await startService({ env: { DATA_DIR: dataDir } });

    for (const [at, page] of pages.entries()) {
      expect([page, (await after.api.get(page)).body]).toEqual([page, answers[at]]);
    }
    expect((await after.api.get(`/feeds/${feedId}/raw`)).status).toBe(200);
    expect((await after.api.loadFeed(csv.replace('5,', '7,'))).feedId).toBe('FD00003');
    await after.api.post('/orders', { partner_name: 'Acme Outdoor', items });
    const { body } = await after.api.get('/analytics/sales-by-partner');
    expect(body.results).toMatchObject([{ units_sold: 4, total_sales: '26.00' }]);
    expect(await runAdmin({ DATA_DIR: dataDir }, 'sales', 'verify')).toMatchObject({ code: 0 });
  });
});

import { databaseUrl } from '../../support/databases';
import type { ApiClient, ApiResponse } from '../../support/api-client';
import { eventually } from '../../support/harness';
import { spawnService, startService, type ServiceProcess } from '../../support/process';
import { startReplicatedPostgres, type ReplicatedPostgres } from '../../support/replicas';
import { testKey } from '../../support/service';

const noCache = { 'cache-control': 'no-cache' };
/** Requests that may read from a replica. */
const paths = [
  '/products',
  '/products/PR00001',
  '/products/by-feed/FD00001',
  '/analytics/sales-by-partner',
  '/analytics/sales-over-time?grain=daily',
  '/analytics/revenue-share',
];
const order = { partner_name: 'Acme Outdoor', items: [{ product_id: 'PR00001', quantity: 1 }] };
const feedOf = (...skus: string[]) =>
  ['sku,product_name,price,currency', ...skus.map((sku) => `${sku},Thing ${sku},10,EUR`)].join('\n');

let postgres: ReplicatedPostgres;

beforeAll(async () => {
  postgres = await startReplicatedPostgres();
});

/** The settings of a service whose database has a replica. */
const settings = (more: Record<string, string> = {}) => ({
  DATABASE_URL: databaseUrl(postgres.primary.address),
  DATABASE_REPLICA_URL: databaseUrl(postgres.replica.address),
  API_KEYS: testKey,
  METRICS_PORT: '0',
  // Each service has a store of its own: none must claim the runs of another.
  QUEUE_WORKER: 'off',
  ...more,
});

/** The service's report on its replica: whether it is in use, and its lag. */
async function replicaMetrics({
  operatorUrl,
}: ServiceProcess): Promise<{ used: boolean; lagSeconds: number }> {
  const text = await (await fetch(`${operatorUrl}/metrics`)).text();
  const value = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)![1]);
  return {
    used: value('catalog_db_replica_used') === 1,
    lagSeconds: value('catalog_db_replica_lag_seconds'),
  };
}

const isUsed = (service: ServiceProcess, used = true) =>
  eventually('the replica is used, or not', async () => (await replicaMetrics(service)).used === used, 60);

async function readAll(api: ApiClient, headers: Record<string, string> = {}): Promise<ApiResponse[]> {
  return Promise.all(paths.map((path) => api.get(path, headers)));
}

/** The skus of the first page, newest first. */
const skus = ({ body }: ApiResponse) => body.items.map(({ sku }: { sku: string }) => sku) as string[];

describe('a service whose database has a replica', () => {
  let service: ServiceProcess;
  let api: ApiClient;

  beforeAll(async () => {
    service = await startService({ env: settings({ DATABASE_REPLICA_LAG_SECONDS: '600' }) });
    api = service.api;
    await api.loadFeed(feedOf('A', 'B'));
    await api.post('/orders', order);
    await postgres.caughtUp();
    await isUsed(service);
  });

  it('reads catalog and sales from it, and from the primary with Cache-Control: no-cache', async () => {
    const before = await readAll(api);
    expect(before.map(({ status }) => status)).toEqual(paths.map(() => 200));
    await postgres.pauseReplay();
    try {
      await api.loadFeed(feedOf('A', 'C').replaceAll(',10,', ',11,'));
      await api.post('/orders', order);

      const old = await readAll(api);
      const own = await readAll(api, noCache);

      expect(old.map(({ body }) => body)).toEqual(before.map(({ body }) => body));
      paths.forEach((path, at) =>
        expect({ path, body: own[at]!.body }).not.toEqual({ path, body: old[at]!.body }),
      );
      expect(skus(own[0]!)).toEqual(['C', 'B', 'A']);
      expect((await api.get('/products', { 'cache-control': 'max-age=0' })).body).toEqual(own[0]!.body);
      const isBehind = async () => (await replicaMetrics(service)).lagSeconds > 1;
      await eventually('the metrics show the lag', isBehind);
    } finally {
      await postgres.resumeReplay();
    }
    await postgres.caughtUp();
    expect(skus(await api.get('/products'))).toEqual(['C', 'B', 'A']);
  });

  it('finds and pages from a product that is not replicated yet', async () => {
    await postgres.pauseReplay();
    try {
      const { feedId } = await api.loadFeed(feedOf('X', 'Y', 'Z'), 'Birch & Sons');
      const ofFeed = `/products/by-feed/${feedId}?limit=2`;
      for (const list of ['/products?limit=2', '/products?limit=2&sort_by=product_id&order=desc', ofFeed]) {
        const page = await api.get(list, noCache);
        const cursor = page.body.next_cursor as string;

        const next = await api.get(`${list}&cursor=${cursor}`);

        expect((await api.get(`/products/${cursor}`)).body.sku).toBe(skus(page)[1]);
        expect(skus(next)[0]).toBe(list === ofFeed ? 'Z' : 'X');
        expect(next.body).toEqual((await api.get(`${list}&cursor=${cursor}`, noCache)).body);
      }
    } finally {
      await postgres.resumeReplay();
    }
    await postgres.caughtUp();
  });

  it('serves every read while the replica freezes, dies and restarts', async () => {
    let isOver = false;
    const seen = new Set<number>();
    const readOn = async () => {
      while (!isOver) for (const { status } of await readAll(api)) seen.add(status);
    };
    const reading = Promise.all([readOn(), readOn()]);

    try {
      postgres.replica.signal('SIGSTOP');
      await isUsed(service, false);
      expect((await api.get('/health')).body).toEqual({ status: 'ok', database: 'connected' });
      expect((await fetch(`${service.operatorUrl}/readyz`)).status).toBe(200);
      postgres.replica.signal('SIGCONT');
      await isUsed(service);
      postgres.replica.signal('SIGKILL');
      await isUsed(service, false);
      await postgres.replica.start();
      await isUsed(service);
    } finally {
      isOver = true;
      await reading;
    }

    expect([...seen]).toEqual([200]);
    expect(service.stdout).toContain('"replica disabled, reading from primary"');
  });
});

describe('a service whose replica', () => {
  it('is unreachable starts, is ready, and reads from the primary', async () => {
    const nowhere = databaseUrl({ ...postgres.replica.address, port: 1 });
    const service = await startService({ env: settings({ DATABASE_REPLICA_URL: nowhere }) });

    for (const { status } of await readAll(service.api)) expect(status).toBe(200);
    expect((await fetch(`${service.operatorUrl}/readyz`)).status).toBe(200);
    await eventually('the log says so', () => service.stdout.includes('"reason":"it does not answer"'));
    expect((await service.stop()).code).toBe(0);
  });

  it('is frozen can shut down', async () => {
    const service = await spawnService({ env: settings() }).listens();
    await isUsed(service);
    await readAll(service.api);
    postgres.replica.signal('SIGSTOP');
    try {
      expect((await service.stop()).code).toBe(0);
    } finally {
      postgres.replica.signal('SIGCONT');
    }
  });
});

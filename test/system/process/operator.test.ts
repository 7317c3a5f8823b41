import { administer, createEmptyDatabase, databaseUrl } from '../../support/databases';
import { closedPort } from '../../support/network';
import { putSource } from '../../support/source-requests';
import { eventually } from '../../support/harness';
import { HeldProducts } from '../../support/runs-in-flight';
import { startService, type ServiceProcess } from '../../support/process';
import { sendRaw } from '../../support/requests';
import { expectSecurityHeaders } from '../../support/contract';
import { openDatabase, type DatabaseAddress } from '../../../src/base/db/database';
import { sendTo, startReceiver } from '../../support/webhooks';

const key = 's3cret-of-a-partner';
const wrongKey = 'wr0ng-key-of-a-caller';
const csv = 'sku,product_name\nTENT-2,Two-person tent\nLAMP-1,\n';

let address: DatabaseAddress;
let service: ServiceProcess;
beforeAll(async () => {
  address = await createEmptyDatabase();
  service = await startService({
    env: {
      DATABASE_URL: databaseUrl(address),
      API_KEYS: key,
      METRICS_PORT: '0',
      LOG_LEVEL: 'trace',
      PRIVATE_ADDRESSES: 'on',
    },
  });
});

const ask = (path: string, init?: RequestInit, of = service) => fetch(of.operatorUrl! + path, init);

/** The samples of a metric, by their labels. */
async function samples(name: string, of = service): Promise<Record<string, number>> {
  const text = await (await ask('/metrics', undefined, of)).text();
  const line = /^(\w+)(?:\{(.*)\})? (\S+)$/;
  const found = text
    .split('\n')
    .map((each) => line.exec(each))
    .filter((match) => match?.[1] === name);
  return Object.fromEntries(found.map((match) => [match![2] ?? '', Number(match![3])]));
}

describe('GET /metrics', () => {
  it('counts requests by operation, status and outcome, with all unknown routes as one operation', async () => {
    await service.api.get('/orders');
    await service.api.withKey(wrongKey).get('/orders');
    for (let n = 0; n < 5; n++) await service.api.send('PUT', `/unknown/${n}`);
    await sendRaw(service.url!, { method: 'GET', path: '/health', headers: { x: 'x'.repeat(20_000) } });

    await eventually('all are counted', async () => {
      expect(await samples('http_request_duration_seconds_count')).toMatchObject({
        'operation="listOrders",status="200",outcome="ok"': 1,
        'operation="listOrders",status="401",outcome="refused"': 1,
        'operation="none",status="404",outcome="refused"': 5,
      });
      expect(await samples('http_refused_before_request_total')).toEqual({ 'status="431"': 1 });
    });
  });

  it('counts rows, runs and bytes of uploads', async () => {
    const { jobId } = await service.api.loadFeed(csv);
    await service.api.post(`/jobs/${jobId}/run`);
    const broken = await service.api.uploadFeed(`${csv}"never closed`);
    await service.api.post(`/jobs/${broken.jobId}/run`);

    expect(await samples('catalog_etl_rows_total')).toEqual({
      'outcome="inserted"': 1,
      'outcome="updated"': 0,
      'outcome="unchanged"': 1,
      'outcome="skipped"': 3,
    });
    expect(await samples('catalog_etl_run_duration_seconds_count')).toEqual({
      'outcome="completed"': 2,
      'outcome="failed"': 1,
      'outcome="unavailable"': 0,
    });
    const uploaded = (await samples('catalog_upload_bytes_total'))['outcome="ok"']!;
    expect(uploaded).toBeGreaterThan(2 * csv.length);
    expect(uploaded).toBeLessThan(5_000);
  });

  it('shows the pools of requests and runs, the event loop and the process', async () => {
    const held = await HeldProducts.of(address);
    const { answer } = await held.run(service.api, await service.api.uploadFeed(csv, 'Held Partner'));

    // The thread reports its own every second.
    await eventually('the run shows', async () => {
      const connections = await samples('catalog_db_pool_connections');
      expect(connections['pool="etl",state="used"']).toBe(1);
      expect(connections['pool="api",state="free"']).toBeGreaterThan(0);
    });
    expect(await samples('catalog_etl_tasks')).toEqual({ 'state="working"': 1, 'state="waiting"': 0 });
    expect(await samples('catalog_db_pool_waiting')).toEqual({
      'pool="api"': 0,
      'pool="upload_keys"': 0,
      'pool="etl"': 0,
    });
    expect((await samples('nodejs_eventloop_lag_p99_seconds'))['']).toBeGreaterThan(0);
    expect((await samples('process_resident_memory_bytes'))['']).toBeGreaterThan(10_000_000);
    await held.release();
    expect((await answer)?.status).toBe(200);
  });
});

describe('GET /metrics, of the backlog', () => {
  it('has the queue, the webhook deliveries and the lags of the sales roll-up and the search', async () => {
    for (const name of [
      'catalog_queue_runs',
      'catalog_queue_oldest_run_seconds',
      'catalog_webhook_deliveries_waiting',
      'catalog_sales_rollup_lag_seconds',
      'catalog_search_lag_seconds',
    ]) {
      await eventually(`${name} is measured`, async () => (await samples(name))[''] === 0);
    }
  });

  it('counts webhook deliveries by outcome', async () => {
    const receiver = await startReceiver();
    // The first event is refused at every attempt, so that it waits however long the second takes.
    const partnerOfNewest = () => (receiver.events().at(-1)!.data as { partner_name: string }).partner_name;
    receiver.answer = () => ({ status: partnerOfNewest() === 'Fails' ? 500 : 204 });
    const db = openDatabase(address, { applicationName: 'test', connectionsMax: 1 });
    await sendTo(db, receiver.url);
    await service.api.uploadFeed(csv, 'Fails');
    await eventually('the attempt has failed', async () => {
      return (await samples('catalog_webhook_deliveries_total'))['outcome="failed"']! >= 1;
    });

    await service.api.uploadFeed(csv, 'Succeeds');

    await eventually(
      'one is delivered, the other waits for its next attempt',
      async () => {
        expect(await samples('catalog_webhook_deliveries_total')).toEqual({
          'outcome="delivered"': 1,
          'outcome="failed"': expect.any(Number),
          'outcome="discarded"': 0,
        });
        expect((await samples('catalog_webhook_deliveries_waiting'))['']).toBe(1);
      },
      30,
    );
    await db('webhook_endpoints').delete();
    await db.destroy();
  });
});

describe('a process without object store, worker and new connections to the database', () => {
  it('is ready, serves the catalog, and reports missing dependencies and waiting work', async () => {
    const own = await createEmptyDatabase();
    const api = await startService({
      env: {
        DATABASE_URL: databaseUrl(own),
        API_KEYS: key,
        METRICS_PORT: '0',
        QUEUE_WORKER: 'off',
        S3_BUCKET: 'catalog',
        S3_ENDPOINT: `http://127.0.0.1:${await closedPort()}`,
      },
    });
    const gauge = async (name: string) => (await samples(name, api))[''];
    const served = async () => [
      (await ask('/readyz', undefined, api)).status,
      (await api.api.get('/products')).status,
      (await api.api.get('/orders')).status,
    ];

    await eventually(
      'the object store is missed',
      async () => (await gauge('catalog_object_store_up')) === 0,
    );
    await eventually('the database is there', async () => (await gauge('catalog_database_up')) === 1);
    expect(await served()).toEqual([200, 200, 200]);

    const db = openDatabase(own, { applicationName: 'test', connectionsMax: 1 });
    const hourAgo = db.raw("now() - interval '1 hour'");
    const schedule = { cron: '0 0 1 1 *', time_zone: 'UTC' };
    await putSource(api.api, 'Acme', 'yearly', { url: 'https://feeds.acme.example/a.csv', schedule });
    await db('sources').update({ next_slot_at: hourAgo });
    await sendTo(db, 'https://acme.example/events');
    const [endpoint] = await db('webhook_endpoints');
    await db('webhook_deliveries').insert({
      webhook_endpoint_id: endpoint.webhook_endpoint_id,
      message_id: 'msg',
      event_type: 'order.created',
      happened_at: hourAgo,
      content: '{}',
      next_attempt_at: hourAgo,
    });
    await db.destroy();
    for (const name of ['catalog_source_oldest_fetch_seconds', 'catalog_webhook_oldest_delivery_seconds'])
      await eventually(`${name} has the age`, async () => Number(await gauge(name)) > 3_500);

    await administer(`alter database ${own.database} allow_connections false`);
    await eventually('no connection is left', async () => (await gauge('catalog_database_up')) === 0);
    expect(await served()).toEqual([200, 200, 200]);
    await administer(`alter database ${own.database} allow_connections true`);
  });
});

describe('the port of operators', () => {
  it('reports that the process is alive and ready, without caching', async () => {
    for (const [path, body] of [
      ['/livez', { status: 'alive' }],
      ['/readyz', { status: 'ready' }],
      ['/readyz?verbose', { status: 'ready' }],
    ] as const) {
      const response = await ask(path);
      expect({ path, status: response.status, body: await response.json() }).toEqual({
        path,
        status: 200,
        body,
      });
      expectSecurityHeaders(response.headers);
    }
    const { headers } = await ask('/metrics');
    expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expectSecurityHeaders(headers);
  });

  it('has no other page or method, and the port of the API has none of these', async () => {
    for (const path of ['/', '/health', '/products', '/metrics/', '/livez/x']) {
      expect((await ask(path)).status).toBe(404);
    }
    const post = await ask('/metrics', { method: 'POST', body: 'x' });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect((await ask('/readyz', { method: 'HEAD' })).status).toBe(200);
    for (const path of ['/metrics', '/livez', '/readyz'])
      expect((await service.api.get(path)).status).toBe(404);
  });
});

describe('the log', () => {
  it('never contains a key, in any place of a request', async () => {
    const form = () => {
      const body = new FormData();
      body.set('partner_name', key);
      body.set('file', new Blob([csv.replace('Two', key)]), `${key}.csv`);
      return body;
    };
    for (const secret of [key, wrongKey]) {
      const api = service.api.withKey(secret);
      for (const path of [
        '/orders',
        `/orders?api_key=${secret}`,
        `/feeds/${secret}`,
        `/jobs/${secret}/issues`,
      ]) {
        await api.get(path, { authorization: `Bearer ${secret}`, cookie: `key=${secret}`, referer: secret });
      }
      for (const path of [
        `/${secret}`,
        `/%zz/${secret}`,
        `/products/${secret}/${secret}`,
        `/docs?key=${secret}`,
      ]) {
        await api.send('POST', path);
        await api.get(path);
      }
      await api.post('/orders', { partner_name: secret, items: [{ product_id: secret, quantity: 1 }] });
      await api.post('/orders', { items: secret });
      await api.send('POST', '/orders', {
        headers: { 'content-type': 'application/json' },
        body: `{"${secret}`,
      });
      await api.send('POST', '/feeds/upload', { body: form() });
      for (const bytes of ['x'.repeat(20_000), '\0']) {
        const headers = { 'x-api-key': secret, 'x-large': bytes };
        await sendRaw(service.url!, { method: 'GET', path: `/orders?key=${secret}`, headers }).catch(
          () => undefined,
        );
      }
    }
    // Only lines of runs name the partner.
    await service.api.upload({ csv, partnerName: key });
    await service.api.get('/orders', { 'x-request-id': 'the-last-one' });

    await eventually('all is logged', () => service.stdout.includes('the-last-one'));
    expect(service.stdout).toContain('"outcome":"refused"');
    for (const secret of [key, wrongKey]) expect(service.stdout).not.toContain(secret);
  });
});

describe('while the service stops', () => {
  it('it is alive, not ready, and serves metrics until its last request has ended', async () => {
    const held = await HeldProducts.of(address);
    const { answer } = await held.run(
      service.api,
      await service.api.uploadFeed(csv, 'Partner of the Last Run'),
    );
    expect((await ask('/readyz')).status).toBe(200);

    service.kill('SIGTERM');

    await eventually('it is draining', async () => {
      const response = await ask('/readyz');
      expect({ status: response.status, body: await response.json() }).toEqual({
        status: 503,
        body: { status: 'draining' },
      });
    });
    expect((await ask('/livez')).status).toBe(200);
    expect(await samples('catalog_etl_tasks')).toMatchObject({ 'state="working"': 1 });
    await held.release();
    expect((await answer)?.status).toBe(200);
    const { code, stdout, stderr } = await service.exit;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('"reason":"SIGTERM"');
    for (const secret of [key, wrongKey]) expect(stdout + stderr).not.toContain(secret);
  });
});

import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiResponse } from '../../support/api-client';
import { closedPort, silentServer } from '../../support/network';
import { createTestDatabase, databaseUrl, shared } from '../../support/databases';
import { HeldProducts } from '../../support/runs-in-flight';
import { eventually } from '../../support/harness';
import {
  databaseProcesses,
  signalDatabase,
  startService,
  startUsedService,
  type ServiceProcess,
} from '../../support/process';
import { openTestS3Store } from '../../support/s3';
import { testKey } from '../../support/service';
import { TestServer } from '../../support/replicas';
import { databaseTimeouts } from '../../../src/base/db/transaction';

const csv = 'sku,product_name,price,currency\nTENT-2,Two-person tent,189.90,EUR\n';
const ok = { status: 'ok', database: 'connected' };
const unreachable = { status: 'error', database: 'unreachable' };

/** The settings of a service without local state: database and bucket are external. */
async function external(): Promise<Record<string, string>> {
  const { address } = await createTestDatabase();
  return {
    DATABASE_URL: databaseUrl(address),
    API_KEYS: `key-${randomUUID()},second-key-of-this-test`,
    S3_BUCKET: shared().s3Bucket,
    S3_ENDPOINT: shared().s3Endpoint,
  };
}

/** The first of the keys that the service was given. */
const firstKey = (env: Record<string, string>) => env.API_KEYS!.split(',')[0]!;
const apiOf = (service: ServiceProcess, env: Record<string, string>) => service.api.withKey(firstKey(env));

/** A partner that no other test uses: all share one bucket. */
const newPartner = () => `Partner ${randomUUID()}`;

describe('with DATABASE_URL, S3 settings and API_KEYS', () => {
  it.concurrent('an upload is stored in the bucket, run, and queried; no key is printed', async () => {
    const env = await external();
    const service = await startService({ env });
    const api = apiOf(service, env);
    const partnerName = newPartner();

    const { feedId, job } = await api.loadFeed(csv, partnerName);

    expect(job).toMatchObject({ status: 'completed', summary: { inserted: 1 } });
    const { body: products } = await api.withKey('second-key-of-this-test').get('/products');
    expect(products).toMatchObject({
      count: 1,
      items: [{ sku: 'TENT-2', price: 189.9, partner_name: partnerName }],
    });
    const { body: feed } = await api.get(`/feeds/${feedId}`);
    expect(feed).toMatchObject({ status: 'processed', raw_file_bucket: shared().s3Bucket });
    const object = await openTestS3Store().get(feed.raw_file_object_key);
    expect((await object.toArray()).join('')).toBe(csv);
    expect((await api.get('/health')).body).toEqual(ok);

    const { code, stdout, stderr } = await service.stop();
    expect(code).toBe(0);
    for (const secret of [firstKey(env), 'second-key-of-this-test', env.DATABASE_URL!, 'API key']) {
      expect(stdout + stderr).not.toContain(secret);
    }
    expect(existsSync(join(service.dataDir, 'postgres'))).toBe(false);
    expect(existsSync(join(service.dataDir, 'api-key'))).toBe(false);
  });
});

describe('an object store that never responds', () => {
  it.concurrent('does not delay a start', async () => {
    const env = await external();
    env.S3_ENDPOINT = `http://127.0.0.1:${await silentServer()}`;

    const service = await startService({ env });

    expect(service.stdout).toContain('"msg":"object store does not respond"');
    expect(service.stdout).not.toContain('object store not reachable');
    expect((await apiOf(service, env).get('/health')).body).toEqual(ok);
    expect((await service.stop()).code).toBe(0);
  });
});

describe('an object store that is down', () => {
  it.concurrent('does not prevent a start; an upload gets 503 and leaves no feed', async () => {
    const env = await external();
    env.S3_ENDPOINT = `http://127.0.0.1:${await closedPort()}`;

    const api = apiOf(await startService({ env }), env);

    expect((await api.get('/health')).body).toEqual(ok);
    const { status, headers, body } = await api.upload({ csv, partnerName: newPartner() });
    expect(status).toBe(503);
    expect(headers.get('retry-after')).toMatch(/^\d+$/);
    expect(body).toEqual({ detail: 'Service temporarily unavailable' });
    expect((await api.get('/feeds/FD00001')).status).toBe(404);
  });
});

describe('a frozen PostgreSQL', () => {
  it.concurrent(
    'is unreachable within seconds, makes requests with a connection 503, is used again later, and prevents no shutdown',
    async () => {
      const service = await startUsedService({ SHUTDOWN_SECONDS: '1' });
      const { api, dataDir } = service;
      await api.loadFeed(csv);
      const order = { partner_name: 'Acme', items: [{ product_id: 'PR00001', quantity: 1 }] };
      const asking = [
        () => api.get('/products'),
        () => api.get('/jobs/JV00001'),
        () => api.post('/orders', order),
        () => api.upload({ csv, partnerName: 'Acme' }),
      ];
      // As many connections as requests.
      expect((await Promise.all(asking.map((ask) => ask()))).map(({ status }) => status)).toEqual([
        200, 200, 201, 201,
      ]);
      expect((await api.get('/health')).body).toEqual(ok);

      signalDatabase(dataDir, 'SIGSTOP');
      const asked = performance.now();
      const health = await api.get('/health');
      const seconds = (performance.now() - asked) / 1000;
      const answers = await Promise.all(asking.map((ask) => ask()));
      signalDatabase(dataDir, 'SIGCONT');

      expect({ status: health.status, body: health.body as unknown }).toEqual({
        status: 200,
        body: unreachable,
      });
      // The promise is two seconds; a busy machine gets more here, but a wait for the database would last longer.
      expect(seconds).toBeLessThan(6);
      for (const { status, body } of answers) {
        expect({ status, body }).toEqual({
          status: 503,
          body: { detail: 'Service temporarily unavailable' },
        });
      }
      await eventually('it is reachable again', async () => (await api.get('/health')).body.status === 'ok');
      for (const ask of asking) expect([200, 201]).toContain((await ask()).status);

      signalDatabase(dataDir, 'SIGSTOP');
      service.kill('SIGTERM');
      await eventually('it has stopped', () => !service.isRunning, 30);
      expect((await service.exit).code).toBe(0);
      // A killed process takes a moment to exit.
      await eventually('nothing of it is left', () => databaseProcesses(dataDir).length === 0);
    },
  );
});

describe('a PostgreSQL with a blocked statement', () => {
  it.concurrent('does not abort a run, which may wait longer than a request', async () => {
    const { address } = await createTestDatabase();
    const service = await startService({ env: { DATABASE_URL: databaseUrl(address), API_KEYS: testKey } });
    const feed = await service.api.uploadFeed(csv);
    const held = await HeldProducts.of(address);
    const { answer } = await held.run(service.api, feed);

    await sleep(databaseTimeouts.queryMilliseconds + 1_000);
    await held.release();

    expect((await answer)?.body).toMatchObject({ status: 'completed', summary: { inserted: 1 } });
  });
});

// For the embedded one, see restarted-postgres.test.ts.
describe('an external PostgreSQL that is killed', () => {
  it.concurrent('makes requests that need it 503, and the service can still shut down', async () => {
    const server = await TestServer.create();
    await server.start();
    await server.ask(`create database ${server.address.database}`, 'postgres');
    const service = await startService({
      env: { DATABASE_URL: databaseUrl(server.address), API_KEYS: `key-${randomUUID()}` },
    });
    const { api } = service;
    await api.loadFeed(csv);

    server.signal('SIGKILL');
    await eventually('it is unreachable', async () => (await api.get('/health')).body.status === 'error');

    const form = () => api.upload({ csv, partnerName: 'Acme' });
    const order = { partner_name: 'Acme', items: [{ product_id: 'PR00001', quantity: 1 }] };
    const asking: [string, () => Promise<ApiResponse>][] = [
      ['GET /products', () => api.get('/products')],
      ['GET /products/PR00001', () => api.get('/products/PR00001')],
      ['GET /feeds/FD00001', () => api.get('/feeds/FD00001')],
      ['GET /jobs/JV00001', () => api.get('/jobs/JV00001')],
      ['GET /orders', () => api.get('/orders')],
      ['GET /analytics/revenue-share', () => api.get('/analytics/revenue-share')],
      ['POST /orders', () => api.post('/orders', order)],
      ['POST /jobs/JV00001/run', () => api.post('/jobs/JV00001/run')],
      ['POST /feeds/upload', form],
    ];
    for (const [what, ask] of asking) {
      const { status, body, headers } = await ask();
      expect({ what, status, body }).toEqual({
        what,
        status: 503,
        body: { detail: 'Service temporarily unavailable' },
      });
      expect(headers.get('retry-after')).toMatch(/^\d+$/);
    }
    expect((await api.get('/health')).body).toEqual(unreachable);
    expect(service.isRunning).toBe(true);
    expect((await service.stop()).code).toBe(0);
  });
});

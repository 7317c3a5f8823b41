import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { DatabaseAddress } from '../../../src/base/db/database';
import { afterFile, eventually } from '../../support/harness';
import type { ApiClient } from '../../support/api-client';
import { createEmptyDatabase, databaseUrl } from '../../support/databases';
import { HeldProducts } from '../../support/runs-in-flight';
import {
  clusterOf,
  databaseProcesses,
  embeddedAddress,
  postmasters,
  spawnService,
  startService,
  startUsedService,
  type ServiceProcess,
} from '../../support/process';
import { testKey } from '../../support/service';
import { ownerKey } from '../../../src/base/storage/object-key';

const csv = 'sku,product_name\nTENT-2,Two-person tent\n';

/** A session of the test; it may be cut. */
async function openSession(address: DatabaseAddress): Promise<Client> {
  const client = new Client({ ...address, application_name: 'test session' });
  client.on('error', () => undefined);
  await client.connect();
  afterFile(() => client.end().catch(() => undefined));
  return client;
}

/** Freezes the server process of a new session. @returns its process id */
async function freezeSession({ dataDir }: ServiceProcess): Promise<number> {
  const client = await openSession(embeddedAddress(dataDir));
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  process.kill(rows[0]!.pid, 'SIGSTOP');
  return rows[0]!.pid;
}

function serverLog({ dataDir }: ServiceProcess): string {
  const folder = join(clusterOf(dataDir), 'log');
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('');
}

/** Whether a new connection is accepted. */
function isListening(service: ServiceProcess): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(service.url!).port), '127.0.0.1');
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}

/** Sends the beginning of an upload, enough for the file store to create a file, and stalls. */
function startUpload({ url, key }: ServiceProcess): void {
  const upload = request(`${url}/feeds/upload`, {
    method: 'POST',
    agent: false,
    headers: { 'x-api-key': key, 'content-type': 'multipart/form-data; boundary=b' },
  });
  // The service aborts it.
  upload.on('error', () => undefined).on('response', (response) => response.resume());
  upload.write('--b\r\nContent-Disposition: form-data; name="partner_name"\r\n\r\nAcme\r\n');
  upload.write('--b\r\nContent-Disposition: form-data; name="file"; filename="feed.csv"\r\n\r\n');
  upload.write(`sku,product_name\n${'TENT-2,Two-person tent\n'.repeat(20_000)}`);
}

/** The names of all stored files, also unfinished ones, but for the identity of the store. */
function objectFiles({ dataDir }: ServiceProcess): string[] {
  return readdirSync(join(dataDir, 'objects'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .filter((name) => name !== ownerKey);
}

const jobOf = async (api: ApiClient, jobId: string) => (await api.get(`/jobs/${jobId}`)).body;

describe('the service stops with exit code 0 and leaves no process', () => {
  it.concurrent.each<[string, (service: ServiceProcess) => void]>([
    ['SIGTERM', (service) => service.kill('SIGTERM')],
    [
      'Ctrl-C, pressed twice in a terminal, which reaches all processes of its own',
      (service) => {
        service.killGroup('SIGINT');
        service.killGroup('SIGINT');
      },
    ],
  ])('on %s', async (_what, kill) => {
    const service = await startUsedService();
    await service.api.loadFeed(csv);
    expect(databaseProcesses(service.dataDir)).not.toEqual([]);

    kill(service);

    expect(await service.exit).toMatchObject({ code: 0, signal: null, stderr: '' });
    expect(databaseProcesses(service.dataDir)).toEqual([]);
  });

  it.concurrent('on SIGTERM while it starts', async () => {
    const service = spawnService();
    await eventually('it creates its database', () => databaseProcesses(service.dataDir).length > 0);

    const { code } = await service.stop('SIGTERM');

    expect(code).toBe(0);
    expect(databaseProcesses(service.dataDir)).toEqual([]);
  });

  it.concurrent('on SIGTERM while it waits for a migration by another process', async () => {
    const address = await createEmptyDatabase();
    const [other, observer] = await Promise.all([openSession(address), openSession(address)]);
    await other.query("begin; select pg_advisory_xact_lock(x'70636174'::int)");
    const service = spawnService({ env: { DATABASE_URL: databaseUrl(address), API_KEYS: testKey } });
    await eventually('it waits', async () => {
      const { rowCount } = await observer.query(
        "select from pg_stat_activity where datname = current_database() and application_name = 'migration'",
      );
      return rowCount === 1;
    });

    const { code, stderr } = await service.stop('SIGTERM');

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it.concurrent('on SIGTERM while it waits for remaining processes of a killed server', async () => {
    const killed = await startUsedService();
    const rest = await freezeSession(killed);
    const servers = postmasters(killed.dataDir);
    killed.kill('SIGKILL');
    for (const pid of servers) process.kill(pid, 'SIGKILL');
    await killed.exit;
    const service = spawnService({ env: { DATA_DIR: killed.dataDir } });
    const startLog = join(clusterOf(killed.dataDir), 'start.log');
    await eventually(
      'it waits',
      () => existsSync(startLog) && readFileSync(startLog, 'utf8').includes('still in use'),
    );

    const { code, stderr } = await service.stop('SIGTERM');

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(postmasters(killed.dataDir)).toEqual([]);
    process.kill(rest, 'SIGKILL');
  });
});

describe('the embedded PostgreSQL', () => {
  it.concurrent('is stopped in fast mode, also when that takes seconds', async () => {
    const service = await startUsedService();
    await service.api.loadFeed(csv);
    const session = await freezeSession(service);

    service.kill('SIGTERM');
    await sleep(5_000);
    expect(service.isRunning).toBe(true);
    process.kill(session, 'SIGCONT');

    expect((await service.exit).code).toBe(0);
    expect(databaseProcesses(service.dataDir)).toEqual([]);
    expect(serverLog(service)).toMatch(/received fast shutdown request[^]*database system is shut down/);
    expect(serverLog(service)).not.toContain('immediate shutdown');
  });
});

describe('a run in progress', () => {
  it.concurrent('is finished before the service stops, which rejects new work', async () => {
    const service = await startUsedService();
    const feed = await service.api.uploadFeed(csv);
    const held = await HeldProducts.of(embeddedAddress(service.dataDir));
    const { answer } = await held.run(service.api, feed);

    service.kill('SIGTERM');

    await eventually('no connection is taken', async () => !(await isListening(service)));
    expect(service.isRunning).toBe(true);
    await held.release();
    const response = await answer;
    expect(response?.status).toBe(200);
    expect(response?.body).toMatchObject({ status: 'completed', summary: { inserted: 1 } });
    // Its client connects elsewhere.
    expect(response?.headers.get('connection')).toBe('close');
    expect((await service.exit).code).toBe(0);
    expect(databaseProcesses(service.dataDir)).toEqual([]);
  });

  it.concurrent(
    'is aborted after SHUTDOWN_SECONDS; the next start shows the job as failed, and it can be run',
    async () => {
      const service = await startUsedService({ SHUTDOWN_SECONDS: '1' });
      const feed = await service.api.uploadFeed(csv);
      const held = await HeldProducts.of(embeddedAddress(service.dataDir));
      await held.run(service.api, feed);
      const signalled = performance.now();

      const { code } = await service.stop('SIGTERM');

      expect(code).toBe(0);
      const seconds = (performance.now() - signalled) / 1000;
      expect(seconds).toBeGreaterThan(0.9);
      expect(seconds).toBeLessThan(30);
      expect(databaseProcesses(service.dataDir)).toEqual([]);

      const { api } = await startService({ env: { DATA_DIR: service.dataDir } });
      const summary = 'Products processed: 0. Inserted: 0. Updated: 0. Unchanged: 0. Skipped: 0.';
      const message = `ETL processing failed: The run was interrupted. Run the job again. ${summary}`;
      expect(await jobOf(api, feed.jobId)).toMatchObject({ status: 'failed', message, result: summary });
      const { body: feedNow } = await api.get(`/feeds/${feed.feedId}`);
      expect(feedNow).toMatchObject({
        status: 'failed',
        validation_status: 'failed',
        validation_message: message,
      });
      expect((await api.get('/products')).body.count).toBe(0);
      const { body: again } = await api.post(`/jobs/${feed.jobId}/run`);
      expect(again).toMatchObject({ status: 'completed', summary: { inserted: 1 } });
    },
  );
});

describe('an upload in progress', () => {
  it.concurrent('is aborted after SHUTDOWN_SECONDS and leaves nothing', async () => {
    const service = await startUsedService({ SHUTDOWN_SECONDS: '1' });
    startUpload(service);
    await eventually('the file is being stored', () => objectFiles(service).length > 0);

    const { code } = await service.stop('SIGTERM');

    expect(code).toBe(0);
    expect(objectFiles(service)).toEqual([]);
    expect(databaseProcesses(service.dataDir)).toEqual([]);
  });
});

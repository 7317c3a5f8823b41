import { readFileSync } from 'node:fs';
import { Client } from 'pg';
import type { ApiResponse } from '../../support/api-client';
import { eventually } from '../../support/harness';
import { HeldProducts } from '../../support/runs-in-flight';
import {
  databaseProcesses,
  embeddedAddress,
  postmasters,
  startUsedService,
  type ServiceProcess,
} from '../../support/process';

const csv = 'sku,product_name,price,currency\nTENT-2,Two-person tent,10,EUR\n';
const order = { partner_name: 'Acme', items: [{ product_id: 'PR00001', quantity: 1 }] };

function killPostmaster({ dataDir }: ServiceProcess): number {
  const [pid, ...others] = postmasters(dataDir);
  expect(others).toEqual([]);
  process.kill(pid!, 'SIGKILL');
  return pid!;
}

/** Waits until a new server serves requests, and checks that there are never two. */
async function servedAgain(service: ServiceProcess, killed: number): Promise<void> {
  await eventually(
    'another server serves requests',
    async () => {
      const servers = postmasters(service.dataDir).filter((pid) => pid !== killed);
      expect(servers.length).toBeLessThan(2);
      return servers.length === 1 && (await service.api.get('/products')).status === 200;
    },
    60,
  );
}

/** Creates an order as soon as the service accepts one. */
function orderWhenServed({ api }: ServiceProcess): Promise<ApiResponse> {
  return eventually(
    'orders are taken',
    async () => {
      const response = await api.post('/orders', order);
      return response.status === 201 && response;
    },
    60,
  );
}

async function expectStoppedWhole(service: ServiceProcess): Promise<void> {
  expect(await service.stop()).toMatchObject({ code: 0, stderr: '' });
  await eventually('no process is left', () => databaseProcesses(service.dataDir).length === 0);
}

const logLines = ({ stdout }: ServiceProcess, message: string) =>
  stdout.split('\n').filter((line) => line.includes(`"msg":"${message}"`));

describe('an embedded PostgreSQL that is killed', () => {
  it.concurrent('is restarted by the service every time, with all of its data', async () => {
    const service = await startUsedService();
    await service.api.loadFeed(csv);
    const { body: first } = await service.api.post('/orders', order);
    const areLogged = (count: number) =>
      eventually('each restart is logged', () =>
        expect(logLines(service, 'embedded PostgreSQL restarted')).toHaveLength(count),
      );

    await servedAgain(service, killPostmaster(service));

    expect((await service.api.get(`/orders/${first.order_id}`)).body).toEqual(first);
    expect((await service.api.get('/products')).body.count).toBe(1);
    expect((await orderWhenServed(service)).body.order_id).not.toBe(first.order_id);
    expect((await service.api.loadFeed(csv)).job.summary).toMatchObject({ unchanged: 1 });
    expect((await service.api.get('/health')).body.database).toBe('connected');
    expect(logLines(service, 'embedded PostgreSQL has ended, restarting it')).toHaveLength(1);
    await areLogged(1);

    await servedAgain(service, killPostmaster(service));
    // A kill during a run fails the run, which can be repeated.
    const feed = await service.api.uploadFeed(csv.replace('10', '11'));
    const held = await HeldProducts.of(embeddedAddress(service.dataDir));
    const { answer } = await held.run(service.api, feed);
    const killed = killPostmaster(service);

    expect((await answer)?.status).toBe(503);
    await servedAgain(service, killed);
    await eventually(
      'the job has failed',
      async () => (await service.api.get(`/jobs/${feed.jobId}`)).body.status === 'failed',
      30,
    );
    expect((await service.api.post(`/jobs/${feed.jobId}/run`)).body).toMatchObject({
      status: 'completed',
      summary: { updated: 1 },
    });
    await areLogged(3);
    await expectStoppedWhole(service);
  });

  it.concurrent('is not restarted while a process of the killed one remains', async () => {
    const service = await startUsedService();
    await service.api.loadFeed(csv);
    const orphan = await frozenSession(service);

    const killed = killPostmaster(service);
    await startIsRefused(service);
    // A start attempt briefly looks like a server, but a server would stay.
    await eventually('no server but the killed one is there', () =>
      expect(postmasters(service.dataDir).filter((pid) => pid !== killed && pid !== orphan)).toEqual([]),
    );
    expect((await service.api.get('/products')).status).toBe(503);
    process.kill(orphan, 'SIGCONT');

    await servedAgain(service, killed);
    await expectStoppedWhole(service);
  });

  it.concurrent('is not restarted during a shutdown, which leaves no process', async () => {
    const service = await startUsedService();
    await frozenSession(service);
    killPostmaster(service);
    await startIsRefused(service);

    await expectStoppedWhole(service);
  });
});

describe('the terminated owner session of the embedded PostgreSQL', () => {
  it('is replaced while the server keeps running', async () => {
    const service = await startUsedService();
    const servers = postmasters(service.dataDir);
    const client = new Client(embeddedAddress(service.dataDir));
    await client.connect();
    const owner = async () => {
      const { rows } = await client.query<{ pid: number }>(
        "select pid from pg_stat_activity join pg_locks using (pid) where application_name = 'owner' and locktype = 'advisory'",
      );
      return rows[0]?.pid;
    };
    const before = await owner();

    await client.query('select pg_terminate_backend($1)', [before]);
    await eventually('another session owns it', async () => {
      const now = await owner();
      return now !== undefined && now !== before;
    });
    await client.end();

    expect(postmasters(service.dataDir)).toEqual(servers);
    await expectStoppedWhole(service);
  });
});

/** Opens a session of the server and freezes its process: it does not notice the death of the server. */
async function frozenSession({ dataDir }: ServiceProcess): Promise<number> {
  const client = new Client(embeddedAddress(dataDir));
  client.on('error', () => undefined);
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const { pid } = rows[0]!;
  process.kill(pid, 'SIGSTOP');
  return pid;
}

/** Waits until PostgreSQL has refused a start because of remains of the killed server. */
async function startIsRefused({ dataDir }: ServiceProcess): Promise<void> {
  const startLog = `${embeddedAddress(dataDir).host}/start.log`;
  await eventually(
    'a start is refused',
    () => readFileSync(startLog, 'utf8').includes('is still in use'),
    30,
  );
}

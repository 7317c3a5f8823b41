import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import type { DatabaseAddress } from '../../../src/base/db/database';
import { afterFile, eventually } from '../../support/harness';
import { HeldProducts } from '../../support/runs-in-flight';
import {
  clusterOf,
  databaseProcesses,
  embeddedAddress,
  postmasters,
  signalDatabase,
  spawnService,
  startService,
  startUsedService,
  type ServiceProcess,
} from '../../support/process';

const csv = 'sku,product_name\nTENT-2,Two-person tent\n';

const startAgain = ({ dataDir }: ServiceProcess) => startService({ env: { DATA_DIR: dataDir } });

/** Kills the service and its PostgreSQL at once; the server's other processes detect its death. */
function killWithServer(service: ServiceProcess): void {
  const servers = postmasters(service.dataDir);
  service.kill('SIGKILL');
  for (const pid of servers) process.kill(pid, 'SIGKILL');
}

/** Checks that everything works, on the product that was loaded before. */
async function expectIntact({ api, dataDir }: ServiceProcess): Promise<void> {
  expect(postmasters(dataDir)).toHaveLength(1);
  expect((await api.get('/products')).body).toMatchObject({ count: 1, items: [{ product_id: 'PR00001' }] });
  const { job } = await api.loadFeed(csv);
  expect(job.summary).toMatchObject({ processed: 1, unchanged: 1 });
}

describe('after SIGKILL of the service', () => {
  it.concurrent(
    'the next start takes over the running PostgreSQL, and shows a run in progress as failed, and the job can be run again',
    async () => {
      const killed = await startUsedService();
      await killed.api.loadFeed(csv);
      const feed = await killed.api.uploadFeed(csv);
      const address = embeddedAddress(killed.dataDir);
      await noticeLostClientsLate(address);
      const held = await HeldProducts.of(address);
      await held.run(killed.api, feed);
      const [server] = postmasters(killed.dataDir);
      await killed.stop('SIGKILL');

      const next = await startAgain(killed);

      expect(postmasters(next.dataDir)).toEqual([server]);
      const job = async () => (await next.api.get(`/jobs/${feed.jobId}`)).body;
      await eventually('the job has failed', async () => (await job()).status === 'failed');
      expect((await job()).message).toContain('The run was interrupted. Run the job again.');
      await held.release();
      const { body: again } = await next.api.post(`/jobs/${feed.jobId}/run`);
      expect(again).toMatchObject({ status: 'completed', summary: { unchanged: 1 } });
      await expectIntact(next);
      expect((await next.stop()).code).toBe(0);
      expect(databaseProcesses(next.dataDir)).toEqual([]);
    },
  );
});

/** Makes the server detect the death of a statement's client as slowly as on a busy machine. */
async function noticeLostClientsLate(address: DatabaseAddress): Promise<void> {
  const client = new Client(address);
  await client.connect();
  await client.query("alter system set client_connection_check_interval = '5s'");
  await client.query('select pg_reload_conf()');
  await client.end();
}

// The next start follows at once: killed processes may still work, or be zombies.
describe('after SIGKILL of the service and its PostgreSQL', () => {
  it.concurrent(
    'the next start waits for remaining processes of the killed server, recovers the data, and shows a run in progress as failed',
    async () => {
      const killed = await startUsedService();
      await killed.api.loadFeed(csv);
      const feed = await killed.api.uploadFeed(csv);
      const address = embeddedAddress(killed.dataDir);
      const held = await HeldProducts.of(address);
      await held.run(killed.api, feed);
      const remaining = await freezeSession(address);
      killWithServer(killed);
      await killed.exit;
      const next = spawnService({ env: { DATA_DIR: killed.dataDir } });
      const startLog = join(clusterOf(killed.dataDir), 'start.log');
      await eventually(
        'it waits',
        () => existsSync(startLog) && readFileSync(startLog, 'utf8').includes('still in use'),
      );
      process.kill(remaining, 'SIGCONT');
      await next.listens();

      expect((await next.api.get(`/jobs/${feed.jobId}`)).body).toMatchObject({ status: 'failed' });
      const { body: again } = await next.api.post(`/jobs/${feed.jobId}/run`);
      expect(again).toMatchObject({ status: 'completed', summary: { unchanged: 1 } });
      await expectIntact(next);
    },
  );

  it.concurrent(
    'the next start does not confuse the killed server with another process of the same id',
    async () => {
      const killed = await startUsedService();
      await killed.api.loadFeed(csv);
      killed.kill('SIGKILL');
      signalDatabase(killed.dataDir, 'SIGKILL');
      await killed.exit;
      await giveNumberAway(killed.dataDir);

      await expectIntact(await startAgain(killed));
    },
  );
});

/** Freezes the server process of a new session. @returns its process id */
async function freezeSession(address: DatabaseAddress): Promise<number> {
  const client = new Client(address);
  // It is cut with its server.
  client.on('error', () => undefined);
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  process.kill(rows[0]!.pid, 'SIGSTOP');
  afterFile(() => client.end().catch(() => undefined));
  return rows[0]!.pid;
}

/** Changes the server's pid file as a restarted container does: process ids start at 1 again. */
async function giveNumberAway(dataDir: string): Promise<void> {
  const cluster = clusterOf(dataDir);
  const { uid, gid } = statSync(cluster);
  const other = spawn('sleep', ['300'], { ...(process.getuid?.() === 0 && { uid, gid }), stdio: 'ignore' });
  afterFile(() => void other.kill('SIGKILL'));
  await once(other, 'spawn');
  const file = join(cluster, 'postmaster.pid');
  const [, ...rest] = readFileSync(file, 'utf8').split('\n');
  writeFileSync(file, [other.pid, ...rest].join('\n'));
}

describe('after SIGKILL while the database was being created', () => {
  it.concurrent('the next start creates it, in any state that the first attempt has left', async () => {
    const killed = spawnService();
    await eventually('initdb is at work', () => databaseProcesses(killed.dataDir).length > 0);
    await killed.stop('SIGKILL');
    expect(readdirSync(killed.dataDir)).not.toContain('postgres');

    const next = await startAgain(killed);

    expect((await next.api.loadFeed(csv)).job.status).toBe('completed');
    expect(postmasters(next.dataDir)).toHaveLength(1);
  });
});

describe('a second service on the data folder of a running one', () => {
  it.concurrent('is rejected with one line, and the first keeps serving', async () => {
    const first = await startUsedService();
    await first.api.loadFeed(csv);
    const servers = postmasters(first.dataDir);
    const second = spawnService({ env: { DATA_DIR: first.dataDir } });

    const answers: number[] = [];
    const ask = async () => {
      answers.push((await first.api.get('/products')).status);
      return !second.isRunning;
    };
    await eventually('the second has ended', ask);

    const { code, stderr } = await second.exit;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^\S.*\n$/);
    expect(stderr).toContain(first.dataDir);
    expect(answers.filter((status) => status !== 200)).toEqual([]);
    expect(postmasters(first.dataDir)).toEqual(servers);
    await expectIntact(first);
  });
});

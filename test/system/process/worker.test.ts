import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { open, readFile, rm, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { openDatabase, type Database, type DatabaseAddress } from '../../../src/base/db/database';
import { largeFeedBytes } from '../../../src/runs/queue/run-target.repository';
import { afterFile, eventually, createTestFolder } from '../../support/harness';
import type { ApiClient, ApiResponse, UploadedFeed } from '../../support/api-client';
import { createEmptyDatabase, databaseUrl } from '../../support/databases';
import { HeldProducts } from '../../support/runs-in-flight';
import { spawnService, startService, type ServiceProcess } from '../../support/process';
import { testKey } from '../../support/service';
import { rawFilePath } from '../../support/stored-uploads';

const csv = 'sku,product_name\nTENT-2,Two-person tent\nLAMP-1,Head lamp\n';
const dataDir = createTestFolder();

let address: DatabaseAddress;
let db: Database;
let api: ApiClient;
beforeAll(async () => {
  address = await createEmptyDatabase();
  db = openDatabase(address, { applicationName: 'test', connectionsMax: 2 });
  afterFile(() => db.destroy());
  ({ api } = await startService({ env: { ...env(), API_KEYS: testKey, QUEUE_WORKER: 'off' } }));
});

const env = () => ({ DATABASE_URL: databaseUrl(address), DATA_DIR: dataDir });

async function startWorker(settings: Record<string, string> = {}): Promise<ServiceProcess> {
  const worker = spawnService({ role: 'worker', env: { ...env(), ...settings } });
  await eventually(
    'the worker works',
    () => {
      if (!worker.isRunning) throw new Error(`The worker has ended.\n${worker.stdout}`);
      return worker.stdout.includes('working on queued runs');
    },
    30,
  );
  return worker;
}

const queue = ({ jobId }: UploadedFeed, prefer = 'respond-async'): Promise<ApiResponse> =>
  api.post(`/jobs/${jobId}/run`, undefined, { prefer });

async function expectLoaded({ jobId, feedId }: UploadedFeed): Promise<void> {
  await eventually('the run has ended', async () => (await job(jobId)).status === 'completed', 60);
  expect((await job(jobId)).summary).toMatchObject({ processed: 2, inserted: 2, skipped: 0 });
  expect((await api.get(`/products?feed_id=${feedId}`)).body.count).toBe(2);
}

const job = async (jobId: string) => (await api.get(`/jobs/${jobId}`)).body;

/** Queues a run, and waits until a worker reads its file, which is blocked. @returns a function that unblocks the next one */
async function blockReading(feed: UploadedFeed): Promise<() => Promise<void>> {
  const path = await rawFilePath({ db, dataDir }, feed.feedId);
  const content = await readFile(path);
  await rm(path);
  await promisify(execFile)('mkfifo', [path]);
  await queue(feed);
  // Rejected (ENXIO) until the run has opened the pipe to read it.
  const pipe = await eventually('the run reads the raw file', () =>
    open(path, constants.O_WRONLY | constants.O_NONBLOCK).catch(() => false as const),
  );
  return async () => {
    await pipe.close();
    await rm(path);
    await writeFile(path, content);
  };
}

describe('beside an API process with QUEUE_WORKER=off', () => {
  describe('a worker', () => {
    let worker: ServiceProcess;
    let early: UploadedFeed;
    let unanswered: ApiResponse;
    beforeAll(async () => {
      early = await api.uploadFeed(csv, 'Elsewhere');
      unanswered = await queue(early, 'respond-async, wait=1');
      worker = await startWorker({ MAX_CONCURRENT_RUNS: '2' });
    });
    afterAll(async () => {
      expect((await worker.stop()).code).toBe(0);
    });

    it('executes runs that were queued before it started', async () => {
      expect(unanswered.status).toBe(202);
      await expectLoaded(early);
    });

    it('stops a run that is cancelled while it reads the file, and executes the next one', async () => {
      const feed = await api.uploadFeed(csv, 'Cancelled');
      const next = await api.uploadFeed(csv, 'Cancelled');
      const release = await blockReading(feed);
      await queue(next);

      const answer = api.post(`/jobs/${feed.jobId}/cancel`);
      await eventually('the run is told', async () => {
        const told = await db('runs')
          .where('job_id', Number(feed.jobId.slice(2)))
          .first();
        return told.cancel_requested === true;
      });
      await release();

      expect((await answer).body).toMatchObject({ status: 'failed', summary: { inserted: 0 } });
      await expectLoaded(next);
      expect((await job(feed.jobId)).status).toBe('failed');
    });

    it('reserves a slot for small feeds while large ones use all others', async () => {
      const blankLines = '\n'.repeat(largeFeedBytes);
      const large = await Promise.all(
        [1, 2, 3, 4].map((at) => api.uploadFeed(csv + blankLines, `Large ${at}`)),
      );
      const small = await api.uploadFeed(csv, 'Small');
      const held = await db.transaction();
      await held('partners').whereLike('partner_name', 'Large%').forUpdate().select('partner_id');
      for (const feed of large) await queue(feed);
      const states = async () =>
        (await Promise.all(large.map(({ jobId }) => job(jobId)))).map(({ status }) => status);
      await eventually('one of the large ones is at work', async () => (await states()).includes('running'));

      const { status, body } = await queue(small, 'respond-async, wait=30');

      expect([status, body.status]).toEqual([200, 'completed']);
      expect((await states()).sort()).toEqual(['queued', 'queued', 'queued', 'running']);
      await held.rollback();
      for (const feed of large) await expectLoaded(feed);
    });
  });

  it('a worker takes over from one that is killed while it reads the file, and from one whose shutdown ends before its run', async () => {
    const feeds = [await api.uploadFeed(csv, 'Killed'), await api.uploadFeed(csv, 'No time')] as const;
    const killed = await startWorker();
    const releaseFirst = await blockReading(feeds[0]);
    await killed.stop('SIGKILL');
    await releaseFirst();
    const stopped = await startWorker({ SHUTDOWN_SECONDS: '0' });
    await expectLoaded(feeds[0]);
    const held = await HeldProducts.of(address);
    await queue(feeds[1]);
    await eventually('the run waits for the products', async () => {
      return (await api.get(`/feeds/${feeds[1].feedId}`)).body.status === 'validated';
    });
    expect((await stopped.stop()).code).toBe(0);
    await held.release();
    const other = await startWorker();

    await expectLoaded(feeds[1]);

    await other.stop();
  });
});

it('clients that wait for a queued run, or follow one, get a response at shutdown', async () => {
  const service = await startService({ env: { ...env(), API_KEYS: testKey, QUEUE_WORKER: 'off' } });
  const waitsFor = await api.uploadFeed(csv, 'Waits');
  const follows = await api.uploadFeed(csv, 'Follows');
  const answer = service.api.post(`/jobs/${waitsFor.jobId}/run`, undefined, {
    prefer: 'respond-async, wait=60',
  });
  await eventually(
    'the run is queued',
    async () => (await db('runs').where('status', 'queued').first('job_id')) !== undefined,
  );
  await queue(follows);
  const response = await fetch(`${service.url}/jobs/${follows.jobId}/events`, {
    headers: { 'x-api-key': testKey },
  });
  const reader = response.body!.getReader();
  await reader.read();

  const { code } = await service.stop();

  expect(code).toBe(0);
  expect((await answer).status).toBe(202);
  while (!(await reader.read()).done);
});

it('a worker requires DATABASE_URL', async () => {
  const { code, stderr } = await spawnService({ role: 'worker' }).exit;

  expect(code).toBe(1);
  expect(stderr).toMatch(/^Wrong setting DATABASE_URL: .+\n$/);
});

it('an unknown argument is rejected', async () => {
  const { code, stderr } = await spawnService({ role: 'wroker' }).exit;

  expect(code).toBe(1);
  expect(stderr).toMatch(/^Unknown argument wroker: .+\n$/);
});

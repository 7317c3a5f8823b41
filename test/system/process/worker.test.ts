import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { open, readFile, rm, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { openDatabase, type Database, type DatabaseAddress } from '../../../src/db/database';
import { largeFeedBytes } from '../../../src/runs/queue.repository';
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

/** Makes the worker start a blocked run. @returns a function that unblocks the next one */
type Hold = (feed: UploadedFeed) => Promise<() => Promise<void>>;

const whileReading: Hold = async (feed) => {
  const path = await rawFilePath({ db, dataDir }, feed.feedId);
  const content = await readFile(path);
  await rm(path);
  await promisify(execFile)('mkfifo', [path]);
  await queue(feed);
  // Refused (ENXIO) until the run has opened the pipe to read it.
  const pipe = await eventually('the run reads the raw file', () =>
    open(path, constants.O_WRONLY | constants.O_NONBLOCK).catch(() => false as const),
  );
  return async () => {
    await pipe.close();
    await rm(path);
    await writeFile(path, content);
  };
};

const whileLoading: Hold = async (feed) => {
  const held = await HeldProducts.of(address);
  await queue(feed);
  await eventually('the run waits for the products', async () => {
    return (await api.get(`/feeds/${feed.feedId}`)).body.status === 'validated';
  });
  return () => held.release();
};

describe('workers beside an API process with QUEUE_WORKER=off', () => {
  it('execute the queued runs', async () => {
    const feed = await api.uploadFeed(csv, 'Elsewhere');
    expect((await queue(feed, 'respond-async, wait=2')).status).toBe(202);
    const worker = await startWorker();

    await expectLoaded(feed);

    const { code } = await worker.stop();
    expect(code).toBe(0);
  });

  it.each<[string, Hold]>([
    ['reads the file', whileReading],
    ['loads the products', whileLoading],
  ])('take over from a worker that is killed while it %s', async (what, hold) => {
    const feed = await api.uploadFeed(csv, what);
    const killed = await startWorker();
    const release = await hold(feed);
    await killed.stop('SIGKILL');
    await release();
    const other = await startWorker();

    await expectLoaded(feed);

    await other.stop();
  });

  it.each<[string, Hold]>([
    ['reads the file', whileReading],
    ['loads the products', whileLoading],
  ])('stop a run that is cancelled while it %s, and execute the next one', async (what, hold) => {
    const feed = await api.uploadFeed(csv, `Cancelled: ${what}`);
    const next = await api.uploadFeed(csv, `Cancelled: ${what}`);
    const worker = await startWorker();
    const release = await hold(feed);
    await queue(next);

    const answer = api.post(`/jobs/${feed.jobId}/cancel`);
    await eventually('the run is told', async () => {
      const told = await db('validation_jobs')
        .where('job_id', Number(feed.jobId.slice(2)))
        .first();
      return told.cancel_requested === true;
    });
    await release();

    expect((await answer).body).toMatchObject({ status: 'failed', summary: { inserted: 0 } });
    await expectLoaded(next);
    expect((await job(feed.jobId)).status).toBe('failed');
    await worker.stop();
  });

  it('take over from a worker whose shutdown ends before its run', async () => {
    const feed = await api.uploadFeed(csv, 'No time');
    const stopped = await startWorker({ SHUTDOWN_SECONDS: '0' });
    const release = await whileLoading(feed);
    expect((await stopped.stop()).code).toBe(0);
    await release();
    const other = await startWorker();

    await expectLoaded(feed);

    await other.stop();
  });

  it('reserve a slot for small feeds while large ones use all others', async () => {
    const blankLines = '\n'.repeat(largeFeedBytes);
    const large = await Promise.all(
      [1, 2, 3, 4].map((at) => api.uploadFeed(csv + blankLines, `Large ${at}`)),
    );
    const small = await api.uploadFeed(csv, 'Small');
    const held = await db.transaction();
    await held('partners').whereLike('partner_name', 'Large%').forUpdate().select('partner_id');
    const worker = await startWorker({ MAX_CONCURRENT_RUNS: '2' });
    for (const feed of large) await queue(feed);
    const states = async () =>
      (await Promise.all(large.map(({ jobId }) => job(jobId)))).map(({ status }) => status);
    await eventually('one of the large ones is at work', async () => (await states()).includes('running'));

    const { status, body } = await queue(small, 'respond-async, wait=30');

    expect([status, body.status]).toEqual([200, 'completed']);
    expect((await states()).sort()).toEqual(['queued', 'queued', 'queued', 'running']);
    await held.rollback();
    for (const feed of large) await expectLoaded(feed);
    await worker.stop();
  });
});

it('a client that waits for a queued run gets a response at shutdown', async () => {
  const service = await startService({ env: { ...env(), API_KEYS: testKey, QUEUE_WORKER: 'off' } });
  const feed = await api.uploadFeed(csv, 'Waits');
  const answer = service.api.post(`/jobs/${feed.jobId}/run`, undefined, { prefer: 'respond-async, wait=60' });
  await eventually(
    'the run is queued',
    async () => (await db('validation_jobs').whereNotNull('run_requested_at').first('job_id')) !== undefined,
  );

  const { code } = await service.stop();

  expect(code).toBe(0);
  expect((await answer).status).toBe(202);
});

it('a client that follows a run gets a response at shutdown', async () => {
  const service = await startService({ env: { ...env(), API_KEYS: testKey, QUEUE_WORKER: 'off' } });
  const feed = await api.uploadFeed(csv, 'Follows');
  await queue(feed);
  const response = await fetch(`${service.url}/jobs/${feed.jobId}/events`, {
    headers: { 'x-api-key': testKey },
  });
  const reader = response.body!.getReader();
  await reader.read();

  const { code } = await service.stop();

  expect(code).toBe(0);
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

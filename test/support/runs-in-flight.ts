import { Client } from 'pg';
import type { DatabaseAddress } from '../../src/base/db/database';
import { afterFile, eventually } from './harness';
import type { ApiClient, ApiResponse, UploadedFeed } from './api-client';
import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { open, readFile, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startRun } from '../../src/runs/queue/claims.repository';
import { requestRunOf } from './requested-runs';
import type { TestService } from './service';
import { rawFilePath, storedFeed } from './stored-uploads';

/** The response to a run in progress; undefined if its connection is cut. */
export interface RunInFlight {
  answer: Promise<ApiResponse | undefined>;
}

/** Locks a table until the client is closed: `exclusive` against writes, `access exclusive` also against reads. */
async function holdTable(
  address: DatabaseAddress,
  table: 'products' | 'partners',
  mode: 'exclusive' | 'access exclusive',
): Promise<Client> {
  const client = new Client({ ...address, application_name: 'test hold' });
  // Tests kill databases.
  client.on('error', () => undefined);
  await client.connect();
  await client.query(`begin; lock table ${table} in ${mode} mode`);
  return client;
}

/** Blocks the creation of orders in a database. @returns a function that releases them; called after the file at the latest */
export async function holdOrders(address: DatabaseAddress): Promise<() => Promise<void>> {
  const client = await holdTable(address, 'partners', 'access exclusive');
  const release = () => client.end().catch(() => undefined);
  afterFile(release);
  return release;
}

/** Keeps every run of a database in progress before it changes products, as long as a test needs. */
export class HeldProducts {
  private constructor(private readonly client: Client) {}

  static async of(address: DatabaseAddress): Promise<HeldProducts> {
    const held = new HeldProducts(await holdTable(address, 'products', 'exclusive'));
    afterFile(() => held.release());
    return held;
  }

  /** Runs a feed's job, and waits until it is blocked. */
  async run(api: ApiClient, { jobId }: UploadedFeed): Promise<RunInFlight> {
    const answer = api.post(`/jobs/${jobId}/run`).catch(() => undefined);
    await eventually('the run waits for the products', async () => {
      const { rowCount } = await this.client.query(
        "select from pg_locks where not granted and relation = 'products'::regclass and database = (select oid from pg_database where datname = current_database())",
      );
      return rowCount === 1;
    });
    return { answer };
  }

  /** Releases the runs. No effect if the database is gone. */
  async release(): Promise<void> {
    await this.client.end().catch(() => undefined);
  }
}

const run = promisify(execFile);

/**
 * Runs the feed's job, and holds it while it reads the raw file, a pipe, until `observe` has ended. Then the part of the file
 * that `observe` has not written is written.
 * @returns the response of the run
 */
export async function whileReading(
  service: TestService,
  feed: UploadedFeed,
  observe: (write: (content: string) => Promise<void>) => Promise<void>,
): Promise<ApiResponse> {
  const path = await rawFilePath(service, feed.feedId);
  const content = await readFile(path);
  await rm(path);
  await run('mkfifo', [path]);
  const running = start(service, feed);
  // Rejected (ENXIO) until the run has opened the pipe to read it.
  const pipe = await eventually('the run reads the raw file', () =>
    open(path, constants.O_WRONLY | constants.O_NONBLOCK).catch((error: unknown): false => {
      if ((error as NodeJS.ErrnoException).code === 'ENXIO') return false;
      throw error;
    }),
  );
  let written = 0;
  try {
    await observe(async (beginning) => {
      await writeAll(pipe, Buffer.from(beginning));
      written += Buffer.byteLength(beginning);
    });
    await writeAll(pipe, content.subarray(written));
  } finally {
    await pipe.close();
  }
  const response = await running;
  await rm(path);
  await writeFile(path, content);
  return response;
}

/** Writes to a pipe, as much at a time as it has room for. */
async function writeAll(pipe: FileHandle, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    try {
      at += (await pipe.write(bytes, at)).bytesWritten;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      await sleep(5);
    }
  }
}

/** Runs the feed's job, and locks the partner before it changes products, until `observe` has ended. @returns its response */
export async function whileLoading(
  service: TestService,
  feed: UploadedFeed,
  observe: () => Promise<void>,
): Promise<ApiResponse> {
  const { partner_id } = await storedFeed(service, feed.feedId);
  const running = await service.db.transaction(async (trx) => {
    await trx('partners').where({ partner_id }).forUpdate().select('partner_id');
    const started = start(service, feed);
    await eventually('the feed is being loaded', async () => {
      return (await storedFeed(service, feed.feedId)).status === 'validated';
    });
    await observe();
    // Not the promise itself: the transaction would wait for it.
    return { started };
  });
  return running.started;
}

/** Leaves the feed's job in the state of a process that died during a run. @param attemptsLeft - remaining attempts */
export async function leaveRunning(
  { db }: Pick<TestService, 'db'>,
  { jobId }: Pick<UploadedFeed, 'jobId'>,
  attemptsLeft = 0,
  requestedBy?: string,
): Promise<void> {
  const run = await requestRunOf(db, Number(jobId.slice(2)), { attempts: 1, requestedBy });
  await startRun(db, run);
  await db('runs').where({ job_id: run.jobId, run: run.run }).update({ attempts_left: attemptsLeft });
}

function start({ api }: TestService, { jobId }: UploadedFeed): Promise<ApiResponse> {
  const response = api.post(`/jobs/${jobId}/run`);
  // Its failure reaches the caller that awaits it; it must not hide an observation that fails first.
  response.catch(() => undefined);
  return response;
}

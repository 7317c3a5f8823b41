import { mkdirSync, openAsBlob, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { connectTo, startServiceProcess, startWorkerProcess, type WorkerProcess } from '../service-process';
import { ask } from './measure';

const headers = { 'x-api-key': 'key-of-the-benchmark' };
/** How often the database is asked how far things are: that is what times are exact to. */
const lookMilliseconds = 10;
const patienceMilliseconds = 300_000;
/** What an API process takes at a time, and more than it needs to be busy. */
const concurrentUploads = 4;
const concurrentRequests = 8;

/** A job in the queue. */
export interface QueuedJob {
  /** Its number. */
  jobId: number;
  /** When it was asked for, by the clock of this machine. */
  queuedAt: number;
}

/** An API process that leaves the queue alone, with an embedded PostgreSQL and local files, and workers beside it. */
export class Fleet {
  readonly workers: WorkerProcess[] = [];

  private constructor(
    private readonly dataDir: string,
    private readonly api: Awaited<ReturnType<typeof startServiceProcess>>,
    readonly database: Client,
  ) {}

  /** Does `work` with one in a folder of its own, which is gone afterwards. */
  static async with<T>(folder: string, work: (fleet: Fleet) => Promise<T>): Promise<T> {
    const dataDir = join(folder, 'data');
    mkdirSync(dataDir);
    const api = await startServiceProcess(dataDir, {
      API_KEYS: headers['x-api-key'],
      QUEUE_WORKER: 'off',
      MAX_CONCURRENT_UPLOADS: String(concurrentUploads),
    });
    try {
      const fleet = new Fleet(dataDir, api, await connectTo(dataDir));
      try {
        return await work(fleet);
      } finally {
        await fleet.employ(0);
        await fleet.database.end();
      }
    } finally {
      await api.stop();
      rmSync(dataDir, { recursive: true, force: true });
    }
  }

  /** Starts or stops workers until there are so many. */
  async employ(count: number): Promise<void> {
    while (this.workers.length < count) this.workers.push(await startWorkerProcess(this.dataDir));
    await Promise.all(this.workers.splice(count).map((worker) => worker.end('SIGTERM')));
  }

  /** Kills the worker that is amid a run. */
  async killWorkerAtWork(): Promise<void> {
    for (const [at, worker] of this.workers.entries()) {
      const { body } = await ask(`${worker.operatorUrl}/metrics`, {});
      if (!/^catalog_etl_tasks\{state="working"\} [1-9]/m.test(body)) continue;
      this.workers.splice(at, 1);
      await worker.end('SIGKILL');
      return;
    }
    throw new Error('no worker is amid a run');
  }

  /** @returns the number of the feed's validation job */
  async upload(partnerName: string, content: Blob): Promise<number> {
    const form = new FormData();
    form.set('partner_name', partnerName);
    form.set('file', content, 'feed.csv');
    const response = await fetch(`${this.api.url}/feeds/upload`, { method: 'POST', headers, body: form });
    if (response.status !== 201) throw new Error(await response.text());
    const { validation_job_id } = (await response.json()) as { validation_job_id: string };
    return Number(validation_job_id.slice(2));
  }

  async uploadFile(partnerName: string, file: string): Promise<number> {
    return this.upload(partnerName, await openAsBlob(file, { type: 'text/csv' }));
  }

  /** Uploads one feed for each of these partners. @returns their jobs, in that order */
  uploadAll(partnerNames: readonly string[], content: Blob): Promise<number[]> {
    return inTurns(concurrentUploads, partnerNames, (partnerName) => this.upload(partnerName, content));
  }

  /** Asks for runs of these jobs, some at a time. */
  queue(jobIds: readonly number[]): Promise<QueuedJob[]> {
    return inTurns(concurrentRequests, jobIds, async (jobId) => {
      const queuedAt = Date.now();
      const { status, body } = await ask(`${this.api.url}/jobs/JV${String(jobId).padStart(5, '0')}/run`, {
        method: 'POST',
        headers: { ...headers, prefer: 'respond-async' },
      });
      if (status !== 202) throw new Error(`run of ${jobId}: ${status} ${body}`);
      return { jobId, queuedAt };
    });
  }

  /**
   * Waits until these jobs have completed.
   * @returns the seconds from when each was asked for to its end
   * @throws Error when one fails, or they seem never to end
   */
  async completed(jobs: readonly QueuedJob[]): Promise<number[]> {
    const numbers = jobs.map(({ jobId }) => jobId);
    type Row = { job_id: number; status: string; finished_at: Date };
    for (const deadline = performance.now() + patienceMilliseconds; performance.now() < deadline;) {
      const { rows } = await this.database.query<Row>(
        'select cast(job_id as integer), status, finished_at from validation_jobs where job_id = any($1)',
        [numbers],
      );
      const failed = rows.find(({ status }) => status === 'failed');
      if (failed) throw new Error(`the run of ${failed.job_id} has failed`);
      if (rows.every(({ status }) => status === 'completed')) {
        const ends = new Map(rows.map(({ job_id, finished_at }) => [job_id, finished_at.getTime()]));
        return jobs.map(({ jobId, queuedAt }) => (ends.get(jobId)! - queuedAt) / 1000);
      }
      await sleep(lookMilliseconds);
    }
    throw new Error('the runs have not ended');
  }

  /** Waits until this condition holds of the database. @throws Error when it never seems to: it may have held too shortly */
  async until(condition: string, bindings: unknown[] = []): Promise<void> {
    for (const deadline = performance.now() + patienceMilliseconds; performance.now() < deadline;) {
      const { rows } = await this.database.query<{ holds: boolean }>(
        `select ${condition} as holds`,
        bindings,
      );
      if (rows[0]!.holds) return;
      await sleep(lookMilliseconds);
    }
    throw new Error(`never seen: ${condition}`);
  }
}

/** Does `work` for each, so many at a time. @returns what came of it, in their order */
async function inTurns<Item, T>(
  atATime: number,
  items: readonly Item[],
  work: (item: Item) => Promise<T>,
): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const workOn = async () => {
    for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at]!);
  };
  await Promise.all(Array.from({ length: atATime }, workOn));
  return results;
}

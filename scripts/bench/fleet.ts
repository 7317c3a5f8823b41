import { openAsBlob } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { startWorkerProcess, type WorkerProcess } from '../service-process';
import { feedForm, uploadFeed } from './feed-requests';
import { ask } from './measure';
import { keyHeader, withService, type Service } from './servers';

/** Polling interval, the precision of measured times. */
const lookMilliseconds = 10;
const patienceMilliseconds = 300_000;
/** Concurrent requests per API process: enough to keep it busy. */
const concurrentUploads = 4;
const concurrentRequests = 8;

export interface QueuedJob {
  jobId: number;
  /** Request time, by the clock of this machine. */
  queuedAt: number;
}

/** An API process without run slots (embedded PostgreSQL, local files) and its workers. */
export class Fleet {
  readonly workers: WorkerProcess[] = [];

  private constructor(
    private readonly api: Service,
    readonly database: Client = api.database,
  ) {}

  static with<T>(folder: string, work: (fleet: Fleet) => Promise<T>): Promise<T> {
    const settings = { QUEUE_WORKER: 'off', MAX_CONCURRENT_UPLOADS: String(concurrentUploads) };
    const employ = async (api: Service) => {
      const fleet = new Fleet(api);
      try {
        return await work(fleet);
      } finally {
        await fleet.employ(0);
      }
    };
    return withService(folder, employ, settings);
  }

  /** Starts or stops workers to reach this number. */
  async employ(count: number): Promise<void> {
    while (this.workers.length < count) this.workers.push(await startWorkerProcess(this.api.dataDir));
    await Promise.all(this.workers.splice(count).map((worker) => worker.end('SIGTERM')));
  }

  /** Kills the worker that executes a run. */
  async killWorkerAtWork(): Promise<void> {
    for (const [at, worker] of this.workers.entries()) {
      const { body } = await ask(`${worker.operatorUrl}/metrics`, {});
      if (!/^catalog_etl_tasks\{state="working"\} [1-9]/m.test(body)) continue;
      this.workers.splice(at, 1);
      await worker.end('SIGKILL');
      return;
    }
    throw new Error('no worker executes a run');
  }

  async upload(partnerName: string, content: Blob): Promise<number> {
    return Number((await uploadFeed(this.api.url, feedForm(partnerName, content))).jobId.slice(2));
  }

  async uploadFile(partnerName: string, file: string): Promise<number> {
    return this.upload(partnerName, await openAsBlob(file, { type: 'text/csv' }));
  }

  /** Uploads one feed per partner. @returns their jobs, in that order */
  uploadAll(partnerNames: readonly string[], content: Blob): Promise<number[]> {
    return inTurns(concurrentUploads, partnerNames, (partnerName) => this.upload(partnerName, content));
  }

  queue(jobIds: readonly number[]): Promise<QueuedJob[]> {
    return inTurns(concurrentRequests, jobIds, async (jobId) => {
      const queuedAt = Date.now();
      const { status, body } = await ask(`${this.api.url}/jobs/JV${String(jobId).padStart(5, '0')}/run`, {
        method: 'POST',
        headers: { ...keyHeader, prefer: 'respond-async' },
      });
      if (status !== 202) throw new Error(`run of ${jobId}: ${status} ${body}`);
      return { jobId, queuedAt };
    });
  }

  /**
   * Waits until these jobs have completed.
   * @returns seconds from each request to the end of its run
   * @throws Error if a run fails, or on timeout
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
      if (failed) throw new Error(`run of ${failed.job_id} failed`);
      if (rows.every(({ status }) => status === 'completed')) {
        const ends = new Map(rows.map(({ job_id, finished_at }) => [job_id, finished_at.getTime()]));
        return jobs.map(({ jobId, queuedAt }) => (ends.get(jobId)! - queuedAt) / 1000);
      }
      await sleep(lookMilliseconds);
    }
    throw new Error('timeout waiting for the runs');
  }

  /** Waits until a condition holds in the database. @throws Error on timeout: a short-lived condition can be missed */
  async until(condition: string, bindings: unknown[] = []): Promise<void> {
    for (const deadline = performance.now() + patienceMilliseconds; performance.now() < deadline;) {
      const { rows } = await this.database.query<{ holds: boolean }>(
        `select ${condition} as holds`,
        bindings,
      );
      if (rows[0]!.holds) return;
      await sleep(lookMilliseconds);
    }
    throw new Error(`timeout waiting for: ${condition}`);
  }
}

/** Calls `work` for each element with limited concurrency. @returns the results in order */
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

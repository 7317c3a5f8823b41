import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../base/db/database';
import { parseId } from '../../base/ids';
import type { PartnerScope } from '../../base/caller';
import { findRequestedRun, type JobRunRow, type RequestedRun } from './job-runs.repository';
import { listJobVersions, listValidationJobs, type VersionedJobRow } from './jobs.repository';
import { describeValidationJob, getJob, type Job } from './jobs.service';

/** Poll interval for changed jobs: one query per process serves all waiters. */
export const jobPollMilliseconds = 200;

/** Limits of requests that wait for a change of a job. */
export const jobWaitLimits = {
  /** Maximum number of waiters per process. */
  waitersMax: 1_000,

  /** Maximum time that a response waits for the end of a run or a change of a job. */
  secondsMax: 60,
};

interface Waiter {
  jobId: number;
  version: string;
  isOver: () => boolean;
  resolve: (job: VersionedJobRow | undefined) => void;
  reject: (error: unknown) => void;
}

/**
 * Long-polling fan-out: one query per interval serves all waiters for validation jobs.
 *
 * It polls because notifications do not pass every pooler; without waiters it is idle.
 */
export class JobChanges {
  private waiters = new Set<Waiter>();
  private isPolling = false;

  constructor(private readonly db: Database) {}

  /** Tells whether the maximum number of waiters is reached. */
  isFull(): boolean {
    return this.waiters.size >= jobWaitLimits.waitersMax;
  }

  /**
   * Waits until a job no longer has this version, or until `isOver`.
   * @returns the changed job; undefined when it has not changed
   * @throws errors of the database
   */
  wait(jobId: number, version: string, isOver: () => boolean): Promise<VersionedJobRow | undefined> {
    return new Promise((resolve, reject) => {
      this.waiters.add({ jobId, version, isOver, resolve, reject });
      if (!this.isPolling) void this.poll();
    });
  }

  private async poll(): Promise<void> {
    this.isPolling = true;
    while (this.waiters.size > 0) {
      await sleep(jobPollMilliseconds);
      try {
        const changed = await this.findChanged();
        this.settle((waiter) => {
          const job = changed.get(waiter.jobId);
          const hasChanged = job !== undefined && job.version !== waiter.version;
          if (!hasChanged && !waiter.isOver()) return false;
          waiter.resolve(hasChanged ? job : undefined);
          return true;
        });
      } catch (error) {
        this.settle((waiter) => {
          waiter.reject(error);
          return true;
        });
      }
    }
    this.isPolling = false;
  }

  /** Finds the jobs whose version differs from the version of a waiter, by number. */
  private async findChanged(): Promise<ReadonlyMap<number, VersionedJobRow>> {
    const versions = await listJobVersions(this.db, new Set(Array.from(this.waiters, ({ jobId }) => jobId)));
    const changed = [...this.waiters].filter(
      ({ jobId, version }) => (versions.get(jobId) ?? version) !== version,
    );
    if (changed.length === 0) return new Map();
    const jobs = await listValidationJobs(this.db, new Set(changed.map(({ jobId }) => jobId)));
    return new Map(jobs.map((job) => [job.job_id, job]));
  }

  /** Removes the waiters that `settleOne` has settled. */
  private settle(settleOne: (waiter: Waiter) => boolean): void {
    for (const waiter of this.waiters) if (settleOne(waiter)) this.waiters.delete(waiter);
  }
}

/**
 * Yields the job now and after each change, until `isOver`. Equal jobs may follow each other.
 * @throws job_not_found; errors of the database
 */
export async function* followJob(
  db: Database,
  changes: JobChanges,
  id: string,
  scope: PartnerScope,
  isOver: () => boolean,
): AsyncGenerator<Job, void> {
  let job: Job | undefined = await getJob(db, id, scope);
  while (job) {
    yield job;
    if (job.version === null || isOver()) return;
    const row = await changes.wait(parseId('JV', id)!, job.version, isOver);
    job = row && describeValidationJob(row);
  }
}

/**
 * Yields the state of a requested run, now and after each change of its job, until `isOver`; undefined if the request was
 * withdrawn. Equal states may follow each other.
 * @throws errors of the database
 */
export async function* followRun(
  db: Database,
  changes: JobChanges,
  requested: RequestedRun,
  isOver: () => boolean,
): AsyncGenerator<JobRunRow | undefined, void> {
  const { jobId } = requested;
  do {
    // Before the run, so that no change in between is missed.
    const version = (await listJobVersions(db, [jobId])).get(jobId) ?? '';
    yield await findRequestedRun(db, requested);
    if (!isOver()) await changes.wait(jobId, version, isOver);
  } while (!isOver());
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../db/database';
import { listValidationJobs, type VersionedJobRow } from './jobs.repository';
import { listJobVersions } from './run-progress.repository';
import { parseId } from '../shared/ids';
import type { PartnerScope } from '../shared/caller';
import { describeValidationJob, getJob, type Job } from './jobs.service';

/** How often a process looks whether the jobs have changed for which somebody waits, with one statement for all. */
export const jobWatchMilliseconds = 200;

/** How many may wait for a job to change. */
export const jobWatchers = 1_000;

/** What somebody waits for. */
interface Wait {
  jobId: number;
  version: string;
  isOver: () => boolean;
  resolve: (job: VersionedJobRow | undefined) => void;
  reject: (error: unknown) => void;
}

/**
 * Gives those who wait for a validation job what has become of it: however many they are, the database is asked which jobs
 * have changed, and for those, and not at all when nobody waits. Asked, since what it could tell by itself does not come
 * through every pooler.
 */
export class JobWatch {
  private waits = new Set<Wait>();
  private isLooking = false;

  constructor(private readonly db: Database) {}

  /** Whether as many wait as may. */
  isFull(): boolean {
    return this.waits.size >= jobWatchers;
  }

  /**
   * Waits until a job is no longer of this version, or `isOver` says that nobody wants to know.
   * @returns the job then; undefined when it has not changed
   * @throws whatever the database throws
   */
  change(jobId: number, version: string, isOver: () => boolean): Promise<VersionedJobRow | undefined> {
    return new Promise((resolve, reject) => {
      this.waits.add({ jobId, version, isOver, resolve, reject });
      if (!this.isLooking) void this.look();
    });
  }

  private async look(): Promise<void> {
    this.isLooking = true;
    while (this.waits.size > 0) {
      await sleep(jobWatchMilliseconds);
      try {
        const changed = await this.findChanged();
        this.settle((wait) => {
          const job = changed.get(wait.jobId);
          const hasChanged = job !== undefined && job.version !== wait.version;
          if (!hasChanged && !wait.isOver()) return false;
          wait.resolve(hasChanged ? job : undefined);
          return true;
        });
      } catch (error) {
        this.settle((wait) => {
          wait.reject(error);
          return true;
        });
      }
    }
    this.isLooking = false;
  }

  /** The jobs that are no longer as somebody who waits for them knows them, by number. */
  private async findChanged(): Promise<ReadonlyMap<number, VersionedJobRow>> {
    const versions = await listJobVersions(this.db, new Set(Array.from(this.waits, ({ jobId }) => jobId)));
    const changed = [...this.waits].filter(
      ({ jobId, version }) => (versions.get(jobId) ?? version) !== version,
    );
    if (changed.length === 0) return new Map();
    const jobs = await listValidationJobs(this.db, new Set(changed.map(({ jobId }) => jobId)));
    return new Map(jobs.map((job) => [job.job_id, job]));
  }

  /** Forgets the waits that `end` has ended. */
  private settle(end: (wait: Wait) => boolean): void {
    for (const wait of this.waits) if (end(wait)) this.waits.delete(wait);
  }
}

/**
 * The job as it is, and again after each change, until `isOver` says that nobody wants to know. It can look the same: not
 * all that changes is shown.
 * @throws job_not_found; whatever the database throws
 */
export async function* followJob(
  db: Database,
  watch: JobWatch,
  id: string,
  scope: PartnerScope,
  isOver: () => boolean,
): AsyncGenerator<Job, void> {
  let job: Job | undefined = await getJob(db, id, scope);
  while (job) {
    yield job;
    if (job.version === null || isOver()) return;
    const row = await watch.change(parseId('JV', id)!, job.version, isOver);
    job = row && describeValidationJob(row);
  }
}

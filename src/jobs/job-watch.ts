import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../db/database';
import { limits } from '../limits';
import { listJobVersions } from './run-progress.repository';

/** What somebody waits for. */
interface Wait {
  jobId: number;
  version: string;
  isOver: () => boolean;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Tells those who wait for a validation job that it has changed: however many they are, the database is asked once each
 * time, and not at all when there are none. Asked, since what it could tell by itself does not come through every pooler.
 */
export class JobWatch {
  private waits = new Set<Wait>();
  private isLooking = false;

  constructor(private readonly db: Database) {}

  /** Whether as many wait as may. */
  isFull(): boolean {
    return this.waits.size >= limits.jobWatchers;
  }

  /**
   * Waits until a job is no longer of this version, or `isOver` says that nobody wants to know.
   * @throws whatever the database throws
   */
  change(jobId: number, version: string, isOver: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waits.add({ jobId, version, isOver, resolve, reject });
      if (!this.isLooking) void this.look();
    });
  }

  private async look(): Promise<void> {
    this.isLooking = true;
    while (this.waits.size > 0) {
      await sleep(limits.jobWatchMilliseconds);
      try {
        const jobIds = new Set(Array.from(this.waits, ({ jobId }) => jobId));
        const versions = await listJobVersions(this.db, jobIds);
        this.settle((wait) => {
          // One that came meanwhile has not been asked for.
          const hasChanged = jobIds.has(wait.jobId) && versions.get(wait.jobId) !== wait.version;
          if (!hasChanged && !wait.isOver()) return false;
          wait.resolve();
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

  /** Forgets the waits that `end` has ended. */
  private settle(end: (wait: Wait) => boolean): void {
    for (const wait of this.waits) if (end(wait)) this.waits.delete(wait);
  }
}

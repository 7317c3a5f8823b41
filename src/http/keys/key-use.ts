import type { Database } from '../../base/db/database';
import { startPeriodicTask } from '../../base/concurrency/periodic-task';
import type { Log } from '../../base/log';
import { recordKeyUse } from './keys.repository';

/** Interval of writing `last_used_at`: one statement for all keys. */
const flushMilliseconds = 60_000;

/** Collects uses of database keys, for `last_used_at`. */
export class KeyUse {
  private used = new Set<number>();

  constructor(private readonly db: Database) {}

  /** Records a use in memory. */
  readonly note = (keyId: number): void => {
    this.used.add(keyId);
  };

  /** Writes the uses since the last flush. After an error, the next flush writes them. */
  async flush(): Promise<void> {
    const { used } = this;
    if (used.size === 0) return;
    this.used = new Set();
    try {
      await recordKeyUse(this.db, [...used]);
    } catch (error) {
      for (const keyId of used) this.used.add(keyId);
      throw error;
    }
  }

  /** Flushes every minute. @returns stop function, which flushes too */
  flushRegularly(log: Log): () => Promise<void> {
    const onError = (error: unknown) => log.warn({ err: error }, 'failed to record the use of keys');
    const task = startPeriodicTask({
      milliseconds: flushMilliseconds,
      run: () => this.flush(),
      onError,
      startsAtOnce: false,
    });
    return async () => {
      await task.stop();
      await this.flush().catch(onError);
    };
  }
}

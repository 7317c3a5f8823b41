import type { Database } from '../db/database';
import { startPeriodicTask } from '../shared/periodic-task';
import type { Log } from '../shared/log';
import { recordKeyUse } from './keys.repository';

/** How often the keys that were used are written down: one statement for all of them, however many requests there were. */
const flushMilliseconds = 60_000;

/** Keeps account of the keys of the database that are used, for `last_used_at`. */
export class KeyUse {
  private used = new Set<number>();

  constructor(private readonly db: Database) {}

  /** Notes that a key is used; costs no statement. */
  readonly note = (keyId: number): void => {
    this.used.add(keyId);
  };

  /** Writes down the keys that were used since the last time. After an error, they are written the next time. */
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

  /** Flushes every minute. @returns what ends that, with a last flush */
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

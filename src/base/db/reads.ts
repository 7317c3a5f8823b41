import type { Log } from '../log';
import type { Database } from './database';
import type { Replica } from './replica';

/** A read without side effects, which may be repeated. With `isReplica`, it may miss recent writes. */
export type Read<T> = (db: Database, isReplica: boolean) => Promise<T>;

/**
 * Executes a read on the replica or the primary.
 * @param ageSecondsMax - maximum lag; 0 reads from the primary
 * @throws errors of the read on the primary
 */
export type Reads = <T>(ageSecondsMax: number, read: Read<T>) => Promise<T>;

export function readsFrom(db: Database): Reads {
  return (_ageSecondsMax, read) => read(db, false);
}

/**
 * Reads from the replica while its lag allows it, and repeats a failed read on the primary.
 *
 * A row may not be replicated yet, a statement may be cancelled by the replay, and a replica can die or freeze at any time.
 */
export function readsThrough(replica: Replica, db: Database, log: Log): Reads {
  return async (ageSecondsMax, read) => {
    if (!(replica.age() < ageSecondsMax * 1000)) return read(db, false);
    try {
      return await read(replica.pool, true);
    } catch (error) {
      log.debug({ err: error }, 'read from replica failed, reading from primary');
      return read(db, false);
    }
  };
}

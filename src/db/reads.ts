import { ServiceError } from '../shared/errors';
import type { Database } from './database';
import type { Replica } from './replica';

/** Reads something, and nothing else: it may be done twice. `isReplica` says that what was just written may be missing. */
export type Read<T> = (db: Database, isReplica: boolean) => Promise<T>;

/**
 * Does a read where it may be done.
 * @param ageSecondsMax - how old what is read may be; 0: everything that was written before is to be seen
 * @throws what the read throws on the database itself
 */
export type Reads = <T>(ageSecondsMax: number, read: Read<T>) => Promise<T>;

/** All reads from the database itself. */
export function readsFrom(db: Database): Reads {
  return (_ageSecondsMax, read) => read(db, false);
}

/**
 * Reads from the replica while it is fresh enough. What fails there, for whatever reason, is done again on the database
 * itself: what is not found there may only not have come yet, a statement may be cancelled because it is in the way of what
 * comes, and a replica may die, or freeze, at any time.
 */
export function readsThrough(replica: Replica, db: Database): Reads {
  return async (ageSecondsMax, read) => {
    if (!(replica.age() < ageSecondsMax * 1000)) return read(db, false);
    try {
      return await replica.read((pool) => read(pool, true));
    } catch (error) {
      if (!(error instanceof ServiceError)) replica.noteFailure(error);
      return read(db, false);
    }
  };
}

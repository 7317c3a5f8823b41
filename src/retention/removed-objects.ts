import type { Knex } from 'knex';
import type { Database } from '../db/database';
import type { ObjectStore } from '../storage/object-store';

/** Objects that are deleted at the same time. */
const batchObjects = 10;

/** Lists some objects that are to be deleted from this bucket. */
export async function listRemovedObjects(trx: Knex.Transaction, bucket: string): Promise<string[]> {
  return trx('removed_objects').where('bucket', bucket).limit(batchObjects).pluck<string[]>('object_key');
}

/**
 * Deletes objects from the store, then from the table: after an interruption, they are deleted again. No other object ever
 * gets their keys, which contain the number of the feed.
 * @throws StorageError
 */
export async function deleteObjects(db: Database, objectStore: ObjectStore, keys: string[]): Promise<void> {
  await Promise.all(keys.map((key) => objectStore.delete(key)));
  await db('removed_objects').where('bucket', objectStore.bucket).whereIn('object_key', keys).delete();
}

import type { Knex } from 'knex';
import type { Database } from '../../base/db/database';
import type { ObjectStore } from '../../base/storage/object-store';

/** Number of concurrent deletions. */
const batchObjects = 10;

/** Lists some objects to be deleted from this bucket, by their keys after `after`. */
export async function listRemovedObjects(
  trx: Knex.Transaction,
  bucket: string,
  after = '',
): Promise<string[]> {
  return trx('removed_objects')
    .where('bucket', bucket)
    .andWhere('object_key', '>', after)
    .orderBy('object_key')
    .limit(batchObjects)
    .pluck<string[]>('object_key');
}

/**
 * Deletes objects from the store, then from the table: after an interruption, they are deleted again. No other object ever
 * gets their keys, which contain the number of the feed.
 * @returns the errors of objects that the store did not delete
 */
export async function deleteObjects(
  db: Database,
  objectStore: ObjectStore,
  keys: string[],
): Promise<unknown[]> {
  const results = await Promise.allSettled(keys.map((key) => objectStore.delete(key)));
  const deleted = keys.filter((_, at) => results[at]!.status === 'fulfilled');
  await db('removed_objects').where('bucket', objectStore.bucket).whereIn('object_key', deleted).delete();
  return results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
}

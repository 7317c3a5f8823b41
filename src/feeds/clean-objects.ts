import type { Database } from '../db/database';
import { parseId } from '../shared/ids';
import { feedIdOfKey, isStagingKey, keyPrefixes } from '../storage/object-key';
import type { ListedObject, ObjectStore } from '../storage/object-store';
import { findNamedKeys, lastFeedId } from './feeds.repository';

/** Keys that are looked up in the database at once, as many as S3 lists at once. */
const objectsPerLookUp = 1_000;

/** What cleaning has found; in a dry run nothing was removed. */
export interface CleaningResult {
  /** Objects of ours in the store. */
  seen: number;
  /** Of those, the ones that no row names: removed, or too young. */
  removed: number;
  young: number;
  /** Objects under our prefixes that this database cannot have created; they are left alone. */
  foreign: number;
  /** Uploads that were begun, and not written to for too long. */
  unfinishedRemoved: number;
}

/** How to clean. */
interface CleaningOptions {
  dryRun: boolean;
  /** Only what has not changed since is removed: an upload that goes on has its object, and no row yet. */
  before: Date;
  /** Told each thing that is removed. */
  report: (line: string) => void;
}

/**
 * Removes what uploads have left behind whose process was killed: objects that no feed's row names, those that waited for
 * their final key, and those that were begun and never completed. Safe to call while the service works, and again.
 *
 * A feed number that this database has never given out tells that the object is another's: what a wrong setting would
 * otherwise destroy.
 * @throws StorageError
 */
export async function cleanObjects(
  db: Database,
  objectStore: ObjectStore,
  options: CleaningOptions,
): Promise<CleaningResult> {
  const result: CleaningResult = { seen: 0, removed: 0, young: 0, foreign: 0, unfinishedRemoved: 0 };
  const lastNumber = await lastFeedId(db);
  for (const prefix of keyPrefixes) {
    for await (const batch of inBatches(objectStore.list(prefix), objectsPerLookUp)) {
      const ours = batch.filter(({ key }) => isOurs(key, lastNumber));
      result.seen += ours.length;
      result.foreign += batch.length - ours.length;
      await removeUnnamed(db, objectStore, ours, options, result);
    }
  }
  for await (const put of objectStore.listUnfinished()) {
    if (put.modifiedAt >= options.before) continue;
    options.report(`${put.name} (unfinished, last written to ${put.modifiedAt.toISOString()})`);
    if (!options.dryRun) await put.remove();
    result.unfinishedRemoved++;
  }
  return result;
}

function isOurs(key: string, lastNumber: number): boolean {
  const feedId = feedIdOfKey(key);
  if (feedId === undefined) return isStagingKey(key);
  const number = parseId('FD', feedId);
  return number !== undefined && number <= lastNumber;
}

async function removeUnnamed(
  db: Database,
  objectStore: ObjectStore,
  objects: ListedObject[],
  { dryRun, before, report }: CleaningOptions,
  result: CleaningResult,
): Promise<void> {
  const keys = objects.map(({ key }) => key);
  const named = await findNamedKeys(db, objectStore.bucket, keys);
  for (const { key, bytes, modifiedAt } of objects) {
    if (named.has(key)) continue;
    if (modifiedAt >= before) {
      result.young++;
      continue;
    }
    report(`${key} (${bytes} bytes, ${modifiedAt.toISOString()})`);
    if (!dryRun) await objectStore.delete(key);
    result.removed++;
  }
}

async function* inBatches<T>(source: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const each of source) {
    batch.push(each);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

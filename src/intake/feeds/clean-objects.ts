import type { Database } from '../../base/db/database';
import { parseId } from '../../base/ids';
import { feedIdOfKey, isStagingKey, keyPrefixes } from '../../base/storage/object-key';
import type { ListedObject, ObjectStore } from '../../base/storage/object-store';
import { findNamedKeys, lastFeedId, listOmittedNumbers } from './feeds.repository';

/** S3's maximum of listed keys per request. */
const objectsPerLookUp = 1_000;

/** Counts of a clean-up. A dry run removes nothing. */
export interface CleaningResult {
  seen: number;
  /** Objects without a feed row that were removed. */
  removed: number;
  young: number;
  /** Objects that this database cannot have created; they are kept. */
  foreign: number;
  /** Unfinished writes older than `before`. */
  unfinishedRemoved: number;
}

interface CleaningOptions {
  dryRun: boolean;
  /** Only objects last modified before this are removed: an upload in progress has an object and no row yet. */
  before: Date;
  report: (line: string) => void;
}

/**
 * Removes objects of interrupted uploads: without a feed row, without a final key, or not completed. Safe to call during
 * uploads, and again.
 *
 * Keeps objects whose feed number this database has never assigned: with a wrong setting, they belong to another service, and after a
 * restore to feeds that were lost.
 * @throws StorageError
 */
export async function cleanObjects(
  db: Database,
  objectStore: ObjectStore,
  options: CleaningOptions,
): Promise<CleaningResult> {
  const result: CleaningResult = { seen: 0, removed: 0, young: 0, foreign: 0, unfinishedRemoved: 0 };
  const [lastNumber, omitted] = [await lastFeedId(db), await listOmittedNumbers(db)];
  const isAssigned = (feed: number) =>
    feed <= lastNumber && !omitted.some(({ first, last }) => feed >= first && feed <= last);
  for (const prefix of keyPrefixes) {
    for await (const batch of inBatches(objectStore.list(prefix), objectsPerLookUp)) {
      const own = batch.filter(({ key }) => isOwnKey(key, isAssigned));
      result.seen += own.length;
      result.foreign += batch.length - own.length;
      await removeUnnamed(db, objectStore, own, options, result);
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

function isOwnKey(key: string, isAssigned: (feed: number) => boolean): boolean {
  const feedId = feedIdOfKey(key);
  if (feedId === undefined) return isStagingKey(key);
  const number = parseId('FD', feedId);
  return number !== undefined && isAssigned(number);
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

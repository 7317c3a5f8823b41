import type { Readable } from 'node:stream';
import type { Database } from '../../base/db/database';
import type { PartnerScope } from '../../base/caller';
import { feedNotFound, rawFileMissing, rawFileRemoved } from '../../base/errors';
import { formatId, parseId } from '../../base/ids';
import { StorageError, type ByteRange, type ObjectStore } from '../../base/storage/object-store';
import { findFeed, type FeedRow } from './feeds.repository';

/** @throws feed_not_found */
export async function getFeed(db: Database, id: string, scope: PartnerScope): Promise<FeedRow> {
  const feedId = parseId('FD', id);
  const feed = feedId === undefined ? null : await findFeed(db, feedId, scope);
  if (!feed) throw feedNotFound(id);
  return feed;
}

/** @throws raw_file_removed */
export function requireRawFile({ feed_id, raw_file_removed_at }: FeedRow): void {
  if (raw_file_removed_at) throw rawFileRemoved(formatId('FD', feed_id), raw_file_removed_at);
}

/**
 * Opens a raw file, or a range of it. The caller must read or destroy the stream.
 * @throws raw_file_missing, StorageError
 */
export async function openFeedFile(
  objectStore: ObjectStore,
  feed: Pick<FeedRow, 'feed_id' | 'raw_file_object_key'>,
  range?: ByteRange,
): Promise<Readable> {
  try {
    return await objectStore.get(feed.raw_file_object_key, range);
  } catch (error) {
    if (error instanceof StorageError && error.missing) {
      throw rawFileMissing(formatId('FD', feed.feed_id), error);
    }
    throw error;
  }
}

import { queryRows, type Database } from '../../base/db/database';
import { sql } from '../../base/db/sql';
import { parseId } from '../../base/ids';
import { feedIdOfKey, rawFilePrefix } from '../../base/storage/object-key';
import type { ObjectStore } from '../../base/storage/object-store';

/** Numbers of each kind that may have been assigned since a backup; more than a large partner's products of one feed. */
export const numbersMargin = 1_000_000;

/** Returns the highest number of a feed that a stored file names, or 0. Lists all raw files. @throws StorageError */
export async function highestStoredFeed(objectStore: ObjectStore): Promise<number> {
  let highest = 0;
  for await (const { key } of objectStore.list(rawFilePrefix)) {
    const feedId = feedIdOfKey(key);
    highest = Math.max(highest, (feedId && parseId('FD', feedId)) || 0);
  }
  return highest;
}

/**
 * Moves all numbers of the database on, so that none is assigned again that was assigned between a backup and its restore.
 * @param highestFeed - the highest number of a feed that is known elsewhere
 * @param margin - of each number
 * @returns the last number of feeds, which the next one follows
 */
export async function continueNumbers(db: Database, highestFeed: number, margin: number): Promise<number> {
  const statement = sql`
    select setval(
        sequence,
        greatest(last_value, case when sequence = feeds then cast(${highestFeed} as bigint) end, 0) + cast(${margin} as bigint)
      ) as last, sequence = feeds as "isOfFeeds"
    from (
      select cast(format('%I.%I', schemaname, sequencename) as regclass) as sequence, last_value,
        cast(pg_get_serial_sequence('feeds', 'feed_id') as regclass) as feeds
      from pg_sequences
      where schemaname = 'public' and sequencename not like 'knex%'
    ) as sequences`;
  const rows = await queryRows<{ last: number; isOfFeeds: boolean }>(db, statement);
  return rows.find(({ isOfFeeds }) => isOfFeeds)!.last;
}

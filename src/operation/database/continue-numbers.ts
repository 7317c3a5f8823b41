import { changeRows, queryRows, type Database } from '../../base/db/database';
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

/** Runs that may have been made since a backup. Their numbers are far apart, and must stay exact as numbers of JavaScript. */
const runsMargin = 100_000;

/**
 * Moves all numbers of the database on, so that none is assigned again that was assigned between a backup and its restore. Keeps the
 * range of feeds that it leaves out: `objects clean` keeps their files.
 * @param highestFeed - the highest number of a feed that is known elsewhere
 * @param margin - of each number
 * @returns the last number of feeds, which the next one follows; 0 for a database without tables
 */
export async function continueNumbers(db: Database, highestFeed: number, margin: number): Promise<number> {
  const runs = Math.min(margin, runsMargin);
  const statement = sql`
    select sequence = feeds as "isOfFeeds", last as before, setval(
        sequence,
        case
          when sequence = feeds then greatest(last, cast(${highestFeed} as bigint)) + cast(${margin} as bigint)
          when increment_by = 1 then last + cast(${margin} as bigint)
          else last + cast(${runs} as bigint) * increment_by
        end
      ) as last
    from (
      select cast(format('%I.%I', schemaname, sequencename) as regclass) as sequence, increment_by,
        coalesce(last_value, start_value - increment_by) as last,
        cast(pg_get_serial_sequence('feeds', 'feed_id') as regclass) as feeds
      from pg_sequences
      where schemaname = 'public' and sequencename not like 'knex%'
    ) as sequences`;
  const rows = await queryRows<{ isOfFeeds: boolean; before: number; last: number }>(db, statement);
  const feeds = rows.find(({ isOfFeeds }) => isOfFeeds);
  if (!feeds) return 0;
  const [has] = await queryRows<{ blocks: boolean; ranges: boolean }>(
    db,
    sql`select to_regclass('product_blocks') is not null as blocks, to_regclass('omitted_feed_numbers') is not null as ranges`,
  );
  // Partners draw new blocks.
  if (has!.blocks) await changeRows(db, sql`update product_blocks set next_id = last_id + 1`);
  // The schema of an earlier release has none.
  if (has!.ranges)
    await changeRows(db, sql`insert into omitted_feed_numbers values (${feeds.before + 1}, ${feeds.last})`);
  return feeds.last;
}

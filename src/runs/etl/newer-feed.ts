import type { Database } from '../../base/db/database';
import type { FeedToRun } from './raw-file';

/** Finds the partner's newest loaded feed that was uploaded after this one. */
export async function findNewerLoadedFeed(
  db: Database,
  { feedId, partnerId }: Pick<FeedToRun, 'feedId' | 'partnerId'>,
): Promise<number | undefined> {
  const newest = await db('feeds')
    .where({ partner_id: partnerId, status: 'processed' })
    .andWhere('feed_id', '>', feedId)
    .max<{ feed_id: number | null }>('feed_id as feed_id')
    .first();
  return newest?.feed_id ?? undefined;
}

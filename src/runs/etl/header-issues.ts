import type { Database } from '../../base/db/database';
import type { FeedToRun } from './raw-file';
import { formatId } from '../../base/ids';
import { productColumns } from '../../feed-format/columns';
import type { RecordPlace } from '../../feed-format/read/extract';
import type { FeedHeader } from '../../feed-format/read/header';
import { hasOurNames } from '../../feed-format/read/format-reading';
import { headerNames } from '../../feed-format/read/header-names';
import { isReportColumn } from '../../feed-format/report-columns';
import { rowIssue, type RowIssue } from '../../feed-format/rows/row-issues';

/**
 * Reports issues of the header, once per feed.
 * @param newerFeedId - a feed of the partner that was uploaded later and is loaded already
 */
export function* headerIssues(
  place: RecordPlace,
  names: readonly string[],
  newerFeedId: number | undefined,
): Generator<RowIssue> {
  if (newerFeedId !== undefined) {
    yield rowIssue(place, null, { code: 'older_feed', value: formatId('FD', newerFeedId) });
  }
  for (const [position, name] of names.entries()) {
    const isKnown = productColumns.some((column) => column === name.toLowerCase());
    if (isKnown || name === '' || isReportColumn(name)) continue;
    yield rowIssue(place, null, { code: 'unknown_column', columnNumber: position + 1, value: name });
  }
}

/**
 * Lists the names of a header row; names that its format reads are empty texts.
 * None for a format with other names for columns: it lists all columns that it reads.
 */
export function reportedNames({ delimiter, reading }: FeedHeader, text: string): string[] {
  if (!hasOurNames(reading.format.definition)) return [];
  const names = headerNames(Buffer.from(text), { delimiter, syntax: reading.syntax }) ?? [];
  return names.map((name, position) => (reading.positions.includes(position) ? '' : name));
}

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

import { bodyOf, client, type Schemas } from '../api';
import { addressOf } from '../routes';
import { fetchLastLoad } from './runs';

type Feed = Schemas['ListedFeed'];

/** As many as the service considers for its reasons. */
const feedsMax = 50;

const isFailed = ({ status }: Feed) => status === 'failed';
const isLoaded = ({ status, reverted_by }: Feed) => status === 'processed' && reverted_by === undefined;
// A file of mended rows is loaded after the feed whose rows it mends.
const hasSkipped = (feed: Feed) => isLoaded(feed) && feed.summary!.skipped > 0;

const feedOf: Record<string, (feed: Feed) => boolean> = {
  last_run_failed: isFailed,
  withdrawals_blocked: isFailed,
  price_jump: (feed) => isFailed(feed) || isLoaded(feed),
  no_prices: isLoaded,
  much_smaller: isLoaded,
  many_skipped: hasSkipped,
  more_skipped: hasSkipped,
  never_run: ({ status }) => status === 'processing',
  last_changes: isLoaded,
};

/** Returns the feed that a place of its partner is about, among its newest feeds; undefined without one. */
export const feedOfPlace = (place: string, feeds: Feed[]): Feed | undefined =>
  feeds.find(feedOf[place] ?? (() => false));

/**
 * Returns the address where a person acts on a partner's reason for attention, or sees its last changes.
 * @param place - a reason, or `last_changes` @throws as `bodyOf`
 */
export async function fetchPlace(partner: string, place: string): Promise<string> {
  if (place === 'source_failing') return addressOf('sources', { partner });
  if (place === 'stale') return addressOf('send', { partner });
  const params = { query: { partner_name: partner, limit: feedsMax } };
  const feed = feedOfPlace(place, (await bodyOf(client.GET('/feeds', { params }))).items);
  return feed ? addressIn(feed, place) : addressOf('feeds', { partner });
}

async function addressIn(feed: Feed, place: string): Promise<string> {
  const { feed_id, partner_name: partner, format_name: format, validation_job_id: jobId } = feed;
  const step = (name: string, run?: number) => addressOf('feed', { feed: feed_id, step: name, run });
  switch (place) {
    case 'withdrawals_blocked':
    case 'never_run':
      return step('plan');
    case 'many_skipped':
    case 'more_skipped':
      return step('issues');
    case 'no_prices':
      return format ? addressOf('format', { partner, format }) : addressOf('send', { partner });
    case 'price_jump':
    case 'last_changes':
      // A run that its limit of price jumps has stopped changed nothing: its preview has the prices.
      return isFailed(feed) ? step('plan') : step('runs', await fetchLastLoad(jobId));
    default:
      return step('run');
  }
}

import { addressOf } from '../routes';
import { useFilters } from '../data/address';
import { texts } from '../texts';
import { Tabs } from './tabs';

/** The views of all feeds; partner and days stay when one follows the other. */
export function FeedTabs({ current }: { current: 'feeds' | 'skipped' }) {
  const [read] = useFilters();
  const filters = { partner: read('partner'), from: read('from'), to: read('to') };
  return (
    <Tabs
      label={texts.feeds.views}
      tabs={(['feeds', 'skipped'] as const).map((route) => ({
        text: route === 'feeds' ? texts.feeds.all : texts.skipped.title,
        href: addressOf(route, filters),
        isCurrent: route === current,
      }))}
    />
  );
}

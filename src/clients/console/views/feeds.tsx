import { useFilters } from '../data/address';
import { useHasNone } from '../data/existence';
import { addDays } from '../data/period';
import { Empty } from '../parts/empty';
import { FeedList, NoFeed } from '../parts/feed-list';
import { FeedTabs } from '../parts/feed-tabs';
import { Choice, Field } from '../parts/field';
import { Card, PageView } from '../parts/page';
import { PartnerField } from '../parts/partner-field';
import { useDeferred } from '../parts/use-deferred';
import { texts } from '../texts';

const statuses = ['processing', 'processed', 'failed'] as const;
const filters = ['partner', 'status', 'from', 'to'];

/** Returns the beginning of a day of UTC, as the API takes it; undefined for a text that is no day. */
function timeOf(day: string | undefined): string | undefined {
  const time = new Date(`${day}T00:00Z`);
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString();
}

/** The feeds, newest first, filtered by partner, status and day. */
export function FeedsView() {
  const [read, write] = useFilters();
  const partner = useDeferred(read('partner').trim());
  const status = statuses.find((known) => known === read('status'));
  const hasNone = useHasNone('feeds');
  const query = { status, uploaded_from: timeOf(read('from')), uploaded_to: timeOf(addDays(read('to'), 1)) };
  if (hasNone)
    return (
      <PageView title={texts.feeds.title}>
        <Card>
          <NoFeed />
        </Card>
      </PageView>
    );
  return (
    <PageView title={texts.feeds.title}>
      <FeedTabs current="feeds" />
      <Card>
        <div className="filters" role="search" aria-label={texts.feeds.filters}>
          <PartnerField
            label={texts.feeds.partner}
            type="search"
            value={read('partner')}
            onChange={(name) => write({ partner: name })}
          />
          <Choice
            label={texts.feeds.status}
            value={status ?? ''}
            options={[['', texts.all], ...statuses.map((name) => [name, texts.statuses[name]!] as const)]}
            onChange={(chosen) => write({ status: chosen })}
          />
          <Field
            label={texts.period.first}
            type="date"
            value={read('from')}
            onChange={(from) => write({ from })}
          />
          <Field label={texts.period.last} type="date" value={read('to')} onChange={(to) => write({ to })} />
        </div>
        <FeedList
          partner={partner}
          query={query}
          empty={
            filters.some(read) ? <Empty title={texts.feeds.none} lead={texts.feeds.noneLead} /> : undefined
          }
        />
      </Card>
    </PageView>
  );
}

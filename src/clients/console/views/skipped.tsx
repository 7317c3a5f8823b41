import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { bodyOf, client, type Schemas } from '../api';
import { useFilters } from '../data/address';
import { addDays } from '../data/period';
import { issueName } from '../data/reasons';
import { count, percent } from '../locale';
import { Counts } from '../parts/counts';
import { Empty } from '../parts/empty';
import { FeedTabs } from '../parts/feed-tabs';
import { Field } from '../parts/field';
import { Card, PageView } from '../parts/page';
import { PartnerField } from '../parts/partner-field';
import { Query } from '../parts/query';
import { DataTable } from '../parts/table';
import { useDeferred } from '../parts/use-deferred';
import { Value } from '../parts/value';
import { addressOf, routes } from '../routes';
import { texts } from '../texts';

/** Why rows were skipped, by partner and reason, in a period. */
export function SkippedView() {
  const [read, write] = useFilters();
  const partner = useDeferred(read('partner').trim());
  const [from, to] = [read('from'), addDays(read('to'), 1) || undefined];
  const skipped = useQuery({
    queryKey: ['skipped-rows', partner, from, to],
    queryFn: () =>
      bodyOf(
        client.GET('/analytics/skipped-rows', {
          params: { query: { from, to, partner_name: partner || undefined, limit: 1_000 } },
        }),
      ),
    placeholderData: keepPreviousData,
  });
  // Days that were not chosen are those of the service.
  const { from: firstDay = '', to: endDay = '' } = skipped.data ?? {};
  const isReversed = from !== '' && to !== undefined && to <= from;
  return (
    <PageView title={texts.skipped.title} lead={texts.skipped.lead}>
      <FeedTabs current="skipped" />
      <Card>
        <div className="filters" role="search" aria-label={texts.feeds.filters}>
          <PartnerField
            label={texts.skipped.partner}
            type="search"
            value={read('partner')}
            onChange={(name) => write({ partner: name })}
          />
          <Field
            label={texts.period.first}
            type="date"
            value={from || firstDay}
            onChange={(day) => write({ from: day })}
          />
          <Field
            label={texts.period.last}
            type="date"
            value={read('to') || (endDay && addDays(endDay, -1))}
            error={isReversed ? texts.skipped.reversed : undefined}
            onChange={(day) => write({ to: day })}
          />
        </div>
        <Query of={skipped}>{(data) => <Reasons skipped={data} />}</Query>
      </Card>
    </PageView>
  );
}

function Reasons({ skipped: { feeds, summary, results } }: { skipped: Schemas['SkippedRows'] }) {
  const { feedsLoaded, rowsRead, none, noneLead, noLoads, noLoadsLead, unit } = texts.skipped;
  const toFeeds = (
    <Link className="button" href={routes.feeds}>
      {texts.home.toFeeds}
    </Link>
  );
  if (feeds === 0) return <Empty title={noLoads} lead={noLoadsLead} action={toFeeds} />;
  const share = summary.processed > 0 ? percent(summary.skipped / summary.processed) : undefined;
  return (
    <>
      <Counts
        counts={[
          { title: feedsLoaded, value: count(feeds) },
          { title: rowsRead, value: count(summary.processed) },
          {
            title: texts.skipped.title,
            value: count(summary.skipped),
            note: share && texts.week.ofRows(share),
            isBad: summary.skipped > 0,
          },
        ]}
      />
      {results.length === 0 ? (
        <Empty title={none} lead={noneLead} action={toFeeds} />
      ) : (
        <>
          <ReasonTable results={results} />
          <p className="muted small">{unit}</p>
        </>
      )}
    </>
  );
}

function ReasonTable({ results }: Pick<Schemas['SkippedRows'], 'results'>) {
  const { partner, reason, rows, feeds, last, issues } = texts.skipped;
  return (
    <DataTable
      label={texts.skipped.title}
      columns={[
        {
          title: partner,
          kind: 'name',
          cell: ({ partner_name }) => (
            <Link href={addressOf('partner', { partner: partner_name })}>
              <Value>{partner_name}</Value>
            </Link>
          ),
        },
        {
          title: reason,
          cell: ({ code }) => <Value>{issueName(code)}</Value>,
        },
        { title: rows, kind: 'number', cell: (result) => count(result.rows) },
        { title: feeds, kind: 'number', cell: (result) => count(result.feeds) },
        {
          title: last,
          kind: 'tight',
          cell: ({ code, last_feed_id: feed }) => (
            <Link href={addressOf('feed', { feed, step: 'issues', code })}>{issues(feed)}</Link>
          ),
        },
      ]}
      rows={results}
      keyOf={({ partner_name, code }) => `${code}/${partner_name}`}
    />
  );
}

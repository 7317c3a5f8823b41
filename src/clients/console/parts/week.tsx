import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { bodyOf, client, type Schemas } from '../api';
import { changeOf, sumOf } from '../data/amounts';
import { today, weeksUntil, type Period } from '../data/period';
import { change, count, money, percent } from '../locale';
import { addressOf } from '../routes';
import { texts } from '../texts';
import { Counts, type Count } from './counts';
import { Card } from './page';
import { Query } from './query';

interface Figure {
  title: string;
  value: number;
  before: number;
  /** Formats a value; absent: as a count. */
  format?: (value: number) => string;
  /** The view with its items. */
  href: string;
  /** Behind the comparison. */
  note?: string;
}

/** The figures of the last seven days beside those of the seven days before. @param partner - empty: all partners */
export function WeekFigures({ partner = '' }: { partner?: string }) {
  const { before, last } = weeksUntil(today());
  const loads = useQuery({
    queryKey: ['week', 'loads', partner, last.to],
    queryFn: () => Promise.all([before, last].map((days) => fetchLoads(partner, days))),
  });
  const sales = useQuery({
    queryKey: ['week', 'sales', last.to],
    queryFn: () => fetchSales({ before, last }),
    enabled: partner === '',
  });
  return (
    <Card title={texts.week.title}>
      <Query of={loads}>
        {([earlier, now]) => (
          <Counts
            counts={[
              ...loadFigures(now!, earlier!, partner, last.from),
              ...(sales.data ? salesFigures(sales.data) : []),
            ].map(shown)}
          />
        )}
      </Query>
    </Card>
  );
}

const fetchLoads = (partner: string, days: Period) =>
  bodyOf(
    client.GET('/analytics/skipped-rows', {
      params: { query: { ...days, partner_name: partner || undefined, limit: 1 } },
    }),
  );

function loadFigures(
  { feeds, summary }: Schemas['SkippedRows'],
  { feeds: feedsBefore, summary: summaryBefore }: Schemas['SkippedRows'],
  partner: string,
  from: string,
): Figure[] {
  const changed = ({ inserted, updated, withdrawn }: Schemas['RunSummary']) => inserted + updated + withdrawn;
  const toFeeds = addressOf('feeds', { partner, status: 'processed', from });
  const { processed, skipped } = summary;
  return [
    { title: texts.week.feeds, value: feeds, before: feedsBefore, href: toFeeds },
    { title: texts.week.rows, value: processed, before: summaryBefore.processed, href: toFeeds },
    {
      title: texts.week.skipped,
      value: skipped,
      before: summaryBefore.skipped,
      href: addressOf('skipped', { partner, from }),
      note: processed > 0 ? texts.week.ofRows(percent(skipped / processed)) : undefined,
    },
    {
      title: texts.week.products,
      value: changed(summary),
      before: changed(summaryBefore),
      href: addressOf('catalog', { partner }),
    },
  ];
}

interface SumOfSales {
  units: number;
  total: number;
}

interface Sales {
  currency: string;
  last: SumOfSales;
  before: SumOfSales;
}

/** Fetches the sales of both weeks in the currency of the last order; null without an order. */
async function fetchSales(weeks: ReturnType<typeof weeksUntil>): Promise<Sales | null> {
  const [order] = (await bodyOf(client.GET('/orders', { params: { query: { limit: 1 } } }))).items;
  if (!order) return null;
  const { currency } = order;
  const [before, last] = await Promise.all(
    [weeks.before, weeks.last].map((days) => sumSales(currency, days)),
  );
  return { currency, before: before!, last: last! };
}

async function sumSales(currency: string, days: Period): Promise<SumOfSales> {
  const params = { query: { grain: 'daily' as const, currency, ...days } };
  const { results } = await bodyOf(client.GET('/analytics/sales-over-time', { params }));
  return {
    units: results.reduce((sum, { units_sold }) => sum + units_sold, 0),
    total: Number(sumOf(results.map(({ total_sales }) => total_sales))),
  };
}

const salesFigures = ({ currency, last, before }: Sales): Figure[] => [
  {
    title: texts.week.units,
    value: last.units,
    before: before.units,
    href: addressOf('orders', { period: '7' }),
  },
  {
    title: texts.week.sales,
    value: last.total,
    before: before.total,
    format: (value) => money(value.toFixed(2), currency),
    href: addressOf('sales', { period: '7', currency }),
  },
];

function shown({ title, value, before, format = count, href, note }: Figure): Count {
  const more = changeOf(before, value);
  const comparison: ReactNode =
    more === undefined ? texts.week.before(format(before)) : texts.week.changed(change(more), format(before));
  return {
    title,
    value: (
      <Link href={href} aria-label={texts.week.figure(title, format(value))}>
        {format(value)}
      </Link>
    ),
    note: (
      <>
        {note && <span className="line-of">{note}</span>}
        {comparison}
      </>
    ),
  };
}

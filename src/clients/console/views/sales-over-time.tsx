import { useMemo } from 'react';
import type { Schemas } from '../api';
import { changeOf, sumOf } from '../data/amounts';
import { axisOf, daysOf, periodBefore } from '../data/period';
import { useSalesOverTime, type SalesQuestion } from '../data/sales';
import { change, count, day, money, month, shortMoney } from '../locale';
import { Chart } from '../parts/chart';
import { Counts } from '../parts/counts';
import { Empty } from '../parts/empty';
import { Figures, salesColumns, type Figure } from '../parts/figures';
import { Card } from '../parts/page';
import { Query } from '../parts/query';
import { texts } from '../texts';

/** Longer periods are shown by month. */
const daysMax = 92;

interface Options {
  filter: SalesQuestion;
}

/** How much was sold each day or month of a period. */
export function SalesOverTime({ filter }: Options) {
  const grain: Schemas['Grain'] = (daysOf(filter) ?? Infinity) > daysMax ? 'monthly' : 'daily';
  const before = periodBefore(filter);
  const sales = useSalesOverTime(filter, grain);
  const earlier = useSalesOverTime(before && { ...filter, ...before }, 'monthly').data?.results;
  return (
    <Card title={texts.sales.overTime[grain]}>
      <Query of={sales}>
        {({ results }) =>
          results.length === 0 ? (
            <Empty title={texts.sales.none(filter.currency)} lead={texts.sales.noneWay} />
          ) : (
            <>
              <Totals results={results} earlier={before && earlier} filter={filter} />
              <SalesChart results={results} filter={filter} grain={grain} />
              <Figures
                label={texts.sales.overTime[grain]}
                rows={results}
                columns={periodColumns(filter.currency)}
                keyOf={({ sales_period }) => sales_period}
              />
            </>
          )
        }
      </Query>
    </Card>
  );
}

type PeriodSales = Schemas['SalesOverTime']['results'][number];

const totalOf = (results: { total_sales: string }[]) => sumOf(results.map(({ total_sales }) => total_sales));
const unitsOf = (results: PeriodSales[]) => results.reduce((sum, { units_sold }) => sum + units_sold, 0);

/** The figures of the period; each beside that of the period before, if there was one. */
function Totals({
  results,
  earlier,
  filter,
}: Options & { results: PeriodSales[]; earlier: PeriodSales[] | undefined }) {
  const noteOf = (change_percent: number | undefined) =>
    change_percent === undefined ? undefined : texts.sales.before(change(change_percent), daysOf(filter)!);
  const total = totalOf(results);
  const units = unitsOf(results);
  return (
    <Counts
      counts={[
        {
          title: texts.sales.total,
          value: money(total, filter.currency),
          note: earlier && noteOf(changeOf(totalOf(earlier), total)),
        },
        {
          title: texts.sales.units,
          value: count(units),
          note: earlier && noteOf(changeOf(unitsOf(earlier), units)),
        },
      ]}
    />
  );
}

const seconds = (at: string) => Date.parse(at) / 1000;

function SalesChart({
  results,
  filter,
  grain,
}: Options & { results: PeriodSales[]; grain: Schemas['Grain'] }) {
  const { currency, from, to } = filter;
  const { times, series, range, format } = useMemo(
    () => ({
      times: results.map(({ sales_period }) => seconds(sales_period)),
      series: [
        {
          label: texts.sales.total,
          color: '--accent' as const,
          kind: 'bars' as const,
          values: results.map(({ total_sales }) => Number(total_sales)),
        },
      ],
      range: axisOf({ from, to }, grain),
      format: (value: number) => shortMoney(value, currency),
    }),
    [results, currency, from, to, grain],
  );
  return (
    <Chart label={texts.sales.overTime[grain]} times={times} series={series} range={range} format={format} />
  );
}

const periodColumns = (currency: string): Figure<PeriodSales>[] => [
  {
    title: texts.sales.period,
    kind: 'name',
    value: ({ sales_period }) => sales_period,
    cell: ({ sales_period }) => (sales_period.length === 7 ? month(sales_period) : day(sales_period)),
  },
  ...salesColumns<PeriodSales>(currency),
];

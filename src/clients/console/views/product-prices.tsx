import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { money, shortMoney } from '../locale';
import { Chart } from '../parts/chart';
import { Card } from '../parts/page';
import { Query } from '../parts/query';
import { DataTable, type DataColumn } from '../parts/table';
import { Time } from '../parts/time';
import { texts } from '../texts';

const shownDays = 90;
const lowestDays = 30;

/** The prices of a product as a chart and a table, and the lowest before the current one. */
export function Prices({ productId }: { productId: string }) {
  const prices = usePrices(productId, shownDays);
  const lowest = usePrices(productId, lowestDays).data;
  return (
    <Card title={texts.product.prices}>
      {lowest && lowest.lowest_price !== null && (
        <p>
          {texts.product.lowest(lowestDays)}: <strong>{money(lowest.lowest_price, lowest.currency)}</strong>
          {!lowest.is_complete && <span className="muted"> ({texts.product.incomplete})</span>}
        </p>
      )}
      <Query of={prices}>
        {({ changes, currency }) => <PriceChart periods={changes} currency={currency} />}
      </Query>
    </Card>
  );
}

const usePrices = (productId: string, days: number) =>
  useQuery({
    queryKey: ['product', productId, 'prices', days],
    queryFn: () =>
      bodyOf(
        client.GET('/products/{product_id}/prices', {
          params: { path: { product_id: productId }, query: { days } },
        }),
      ),
  });

type PricePeriod = Schemas['PricePeriod'];

/** Prices over time; in another currency, or withdrawn, the product has none. */
function PriceChart({ periods, currency }: { periods: PricePeriod[]; currency: string | null }) {
  const { times, series, format } = useMemo(() => {
    const ascending = periods.toSorted((a, b) => Date.parse(a.valid_from) - Date.parse(b.valid_from));
    const prices = ascending.map((period) =>
      period.is_withdrawn || period.currency !== currency ? null : period.price,
    );
    return {
      // The last price is in force until now.
      times: [...ascending.map(({ valid_from }) => Date.parse(valid_from) / 1000), Date.now() / 1000],
      series: [
        {
          label: texts.fields.price!,
          color: '--accent' as const,
          kind: 'steps' as const,
          values: [...prices, prices.at(-1) ?? null],
        },
      ],
      format: (value: number) => (currency ? shortMoney(value, currency) : money(value, currency)),
    };
  }, [periods, currency]);
  if (periods.every(({ price }) => price === null))
    return <p className="muted">{texts.product.pricesNone}</p>;
  if (periods.length === 1) return <p className="muted">{texts.product.pricesOne}</p>;
  return (
    <>
      <Chart label={texts.product.prices} times={times} series={series} format={format} isClose />
      <details>
        <summary>{texts.sales.table}</summary>
        <DataTable
          label={texts.product.prices}
          columns={columns}
          rows={periods}
          keyOf={({ valid_from }) => valid_from}
        />
      </details>
    </>
  );
}

const columns: DataColumn<PricePeriod>[] = [
  { title: texts.product.from, cell: ({ valid_from }) => <Time at={valid_from} /> },
  {
    title: texts.product.to,
    cell: ({ valid_to }) => (valid_to ? <Time at={valid_to} /> : texts.product.now),
  },
  {
    title: texts.fields.price!,
    kind: 'number',
    cell: ({ price, currency, is_withdrawn }) =>
      is_withdrawn ? texts.actions.withdraw : price === null ? null : money(price, currency),
  },
];

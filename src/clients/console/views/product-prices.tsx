import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { money, time } from '../locale';
import { Chart } from '../parts/chart';
import { FailureNotice } from '../parts/failure';
import { Card, Loading } from '../parts/page';
import { ScrollTable } from '../parts/scroll-table';
import { texts } from '../texts';

const shownDays = 90;
const lowestDays = 30;

/** The prices of a product as a chart and a table, and the lowest before the current one. */
export function Prices({ productId }: { productId: string }) {
  const prices = usePrices(productId, shownDays);
  const lowest = usePrices(productId, lowestDays).data;
  return (
    <Card title={texts.product.prices}>
      {prices.error && <FailureNotice error={prices.error} retry={() => void prices.refetch()} />}
      {prices.isPending && <Loading />}
      {prices.data && <PriceChart periods={prices.data.changes} />}
      {lowest && lowest.lowest_price !== null && (
        <p>
          {texts.product.lowest(lowestDays)}: <strong>{money(lowest.lowest_price, lowest.currency)}</strong>
          {!lowest.is_complete && <span className="muted"> ({texts.product.incomplete})</span>}
        </p>
      )}
    </Card>
  );
}

const usePrices = (productId: string, days: number) =>
  useQuery({
    queryKey: ['prices', productId, days],
    queryFn: () =>
      bodyOf(
        client.GET('/products/{product_id}/prices', {
          params: { path: { product_id: productId }, query: { days } },
        }),
      ),
  });

function PriceChart({ periods }: { periods: Schemas['PricePeriod'][] }) {
  const { times, series } = useMemo(() => {
    const ascending = periods.toSorted((a, b) => Date.parse(a.valid_from) - Date.parse(b.valid_from));
    const prices = ascending.map(({ price, is_withdrawn }) => (is_withdrawn ? null : price));
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
    };
  }, [periods]);
  if (periods.every(({ price }) => price === null))
    return <p className="muted">{texts.product.pricesNone}</p>;
  const { from, to } = texts.product;
  return (
    <>
      <Chart label={texts.product.prices} times={times} series={series} />
      <details>
        <summary>{texts.sales.table}</summary>
        <ScrollTable
          label={texts.product.prices}
          columns={[{ title: from }, { title: to }, { title: texts.fields.price!, isNumber: true }]}
        >
          {periods.map(({ valid_from, valid_to, price, currency, is_withdrawn }) => (
            <tr key={valid_from}>
              <td>{time(valid_from)}</td>
              <td>{valid_to ? time(valid_to) : texts.product.now}</td>
              <td className="number">
                {price === null || is_withdrawn ? texts.none : money(price, currency)}
              </td>
            </tr>
          ))}
        </ScrollTable>
      </details>
    </>
  );
}

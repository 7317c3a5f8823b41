import type { Schemas } from '../api';
import { useFilters } from '../data/address';
import { shareOfTotal, sumOf } from '../data/amounts';
import { useSalesByPartner, type SalesQuestion } from '../data/sales';
import { money, percent } from '../locale';
import { Bars } from '../parts/bars';
import { Figures, salesColumns, type Figure } from '../parts/figures';
import { Card } from '../parts/page';
import { Query } from '../parts/query';
import { Value } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';

type PartnerSales = Schemas['SalesByPartner']['results'][number];

/** Which partners the revenue of a period is from; a name narrows the view to its partner. */
export function SalesByPartner({ filter }: { filter: SalesQuestion }) {
  const [read] = useFilters();
  const { currency } = filter;
  const sales = useSalesByPartner(filter);
  const label = texts.sales.byPartner;
  const columnsFor = (total: string): Figure<PartnerSales>[] => [
    {
      title: texts.catalog.partner,
      kind: 'name',
      value: ({ partner_name }) => partner_name,
      cell: ({ partner_name }) => <Value>{partner_name}</Value>,
    },
    ...salesColumns<PartnerSales>(currency),
    {
      title: texts.sales.share,
      kind: 'number',
      value: ({ total_sales }) => (100 * shareOfTotal(total_sales, total)).toFixed(2),
      cell: ({ total_sales }) => percent(shareOfTotal(total_sales, total)),
    },
  ];
  const placeOf = (partner_name: string) =>
    addressOf('sales', {
      period: read('period'),
      from: read('from'),
      to: read('to'),
      currency: read('currency'),
      partner: partner_name === filter.partner_name ? '' : partner_name,
    });
  // The view says once that nothing was sold.
  if (sales.data?.results.length === 0) return null;
  return (
    <Card title={label}>
      <Query of={sales}>
        {({ results }) => {
          const total = sumOf(results.map(({ total_sales }) => total_sales));
          return (
            <>
              <Bars
                label={label}
                bars={results.map(({ partner_name, total_sales }) => {
                  const share = shareOfTotal(total_sales, total);
                  return {
                    name: partner_name,
                    share,
                    text: `${money(total_sales, currency)} · ${percent(share)}`,
                    href: placeOf(partner_name),
                    isChosen: partner_name === filter.partner_name,
                  };
                })}
              />
              <Figures
                label={label}
                rows={results}
                columns={columnsFor(total)}
                keyOf={({ partner_name }) => partner_name}
              />
            </>
          );
        }}
      </Query>
    </Card>
  );
}

import { Link } from 'wouter';
import type { Schemas } from '../api';
import { useBestSellers, type SalesQuestion } from '../data/sales';
import { DownloadFigures, salesColumns, type Figure } from '../parts/figures';
import { Card } from '../parts/page';
import { Query } from '../parts/query';
import { DataTable } from '../parts/table';
import { Value } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';

type ProductSales = Schemas['ProductSales'];

/** The products with the highest sales of a period, each with a link to its page. */
export function BestSellers({ filter }: { filter: SalesQuestion }) {
  const sales = useBestSellers(filter);
  const label = texts.sales.best;
  const results = sales.data?.results ?? [];
  const saved = [product, sku, partner, ...salesColumns<ProductSales>(filter.currency)];
  // The view says once that nothing was sold.
  if (sales.data && results.length === 0) return null;
  const shown = [
    product,
    ...(filter.partner_name ? [] : [partner]),
    ...salesColumns<ProductSales>(filter.currency),
  ];
  return (
    <Card
      title={label}
      actions={results.length > 0 && <DownloadFigures label={label} columns={saved} rows={results} />}
    >
      <Query of={sales}>
        {() => (
          <DataTable
            label={label}
            columns={shown}
            rows={results}
            keyOf={({ product_id, partner_name }) => `${product_id} ${partner_name}`}
          />
        )}
      </Query>
    </Card>
  );
}

const product: Figure<ProductSales> = {
  title: texts.sales.product,
  kind: 'name',
  value: ({ product_name, product_id }) => product_name ?? product_id,
  cell: ({ product_id, product_name, sku }) =>
    product_name === null ? (
      <span className="muted">{texts.sales.removed(product_id)}</span>
    ) : (
      <>
        <Link href={addressOf('product', { product: product_id })}>
          <Value>{product_name}</Value>
        </Link>
        <div className="muted small">
          <Value>{sku}</Value>
        </div>
      </>
    ),
};

const sku: Figure<ProductSales> = {
  title: texts.fields.sku!,
  value: (row) => row.sku ?? '',
  cell: (row) => <Value>{row.sku}</Value>,
};

const partner: Figure<ProductSales> = {
  title: texts.catalog.partner,
  value: ({ partner_name }) => partner_name,
  cell: ({ partner_name }) => <Value>{partner_name}</Value>,
};

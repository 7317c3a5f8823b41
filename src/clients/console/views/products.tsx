import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Schemas } from '../api';
import { useFilters } from '../data/address';
import { endOfDay, productsQuery, useProducts } from '../data/catalog';
import { money } from '../locale';
import { Availability } from '../parts/availability';
import { Empty } from '../parts/empty';
import { List } from '../parts/query';
import { DataTable, type DataColumn } from '../parts/table';
import { Time } from '../parts/time';
import { useDeferred } from '../parts/use-deferred';
import { Value } from '../parts/value';
import { addressOf, routes } from '../routes';
import { texts } from '../texts';

type Product = Schemas['Product'];
type SortField = Schemas['ProductSortField'];

/** The products of the filters in the address. @param clearAction - removes the filters; false without one */
export function Products({ clearAction }: { clearAction: ReactNode }) {
  const [read] = useFilters();
  const query = useDeferred(JSON.stringify(productsQuery(read)));
  const products = useProducts(JSON.parse(query) as ReturnType<typeof productsQuery>);
  const columns = useColumns();
  const empty = clearAction ? (
    <Empty title={texts.catalog.none} lead={texts.catalog.noneWay} action={clearAction} />
  ) : (
    <NoProduct />
  );
  return (
    <List of={products} empty={empty}>
      {(items) => (
        <>
          <DataTable
            label={texts.catalog.title}
            columns={columns}
            rows={items}
            keyOf={({ product_id }) => product_id}
          />
          {products.data?.pages[0]?.isCut && <p className="muted">{texts.catalog.first(items.length)}</p>}
        </>
      )}
    </List>
  );
}

/** Where products come from. */
export const NoProduct = () => (
  <Empty
    title={texts.catalog.empty}
    lead={texts.catalog.emptyWay}
    action={
      <Link href={routes.send} className="button primary">
        {texts.nav.send}
      </Link>
    }
  />
);

/** Returns the order of a column, and what its title does: sorts by it, then in the other direction. */
function useSort(): (field: SortField, first: 'asc' | 'desc') => DataColumn<Product>['sort'] {
  const [read, write] = useFilters();
  if (endOfDay(read('day'))) return () => undefined;
  // Newest first is the order without one.
  const [current, order] = (read('sort') || 'created_at,desc').split(',');
  return (field, first) => {
    const direction = current === field ? order : undefined;
    const other = first === 'asc' ? 'desc' : 'asc';
    const next = `${field},${direction === first ? other : first}`;
    return {
      direction: direction === undefined ? undefined : direction === 'asc' ? 'ascending' : 'descending',
      onSort: () => write({ sort: next === 'created_at,desc' ? '' : next }),
    };
  };
}

function useColumns(): DataColumn<Product>[] {
  const [read] = useFilters();
  const sortOf = useSort();
  const { product_name, brand, category, price, availability } = texts.fields;
  return [
    { title: product_name!, kind: 'name', cell: nameCell, sort: sortOf('product_name', 'asc') },
    ...(read('partner')
      ? []
      : [
          {
            title: texts.catalog.partner,
            cell: ({ partner_name }: Product) => <Value>{partner_name}</Value>,
          },
        ]),
    { title: brand!, cell: (product) => product.brand && <Value>{product.brand}</Value> },
    { title: category!, cell: (product) => product.category && <Value>{product.category}</Value> },
    {
      title: price!,
      kind: 'number',
      cell: (product) => typeof product.price === 'number' && money(product.price, product.currency),
      sort: sortOf('price', 'asc'),
    },
    { title: availability!, kind: 'tight', cell: availabilityCell },
    {
      title: texts.catalog.added,
      kind: 'tight',
      cell: ({ created_at }) => <Time at={created_at} />,
      sort: sortOf('created_at', 'desc'),
    },
  ];
}

const nameCell = ({ product_id, product_name, sku }: Product) => (
  <>
    <Link href={addressOf('product', { product: product_id })}>
      <Value>{product_name}</Value>
    </Link>
    <div className="muted small">
      <Value>{sku}</Value>
    </div>
  </>
);

const availabilityCell = ({ withdrawn_at, availability }: Product) =>
  withdrawn_at ? (
    <span className="badge withdraw">{texts.actions.withdraw}</span>
  ) : (
    availability && <Availability value={availability} />
  );

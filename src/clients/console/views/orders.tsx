import { Link } from 'wouter';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { useFilters } from '../data/address';
import { useHasNone } from '../data/existence';
import { usePages } from '../data/queries';
import { count, money } from '../locale';
import { Action } from '../parts/action';
import { Empty } from '../parts/empty';
import { Card, PageView } from '../parts/page';
import { PartnerField } from '../parts/partner-field';
import { PeriodField, usePeriod } from '../parts/period-field';
import { List } from '../parts/query';
import { DataTable, type DataColumn } from '../parts/table';
import { Time } from '../parts/time';
import { useDeferred } from '../parts/use-deferred';
import { Value } from '../parts/value';
import { addressOf, routes } from '../routes';
import { texts } from '../texts';

const filters = ['partner', 'period', 'from', 'to'];

/** The orders, newest first, by partner and period. */
export function OrdersView() {
  const [read, write] = useFilters();
  const partner = useDeferred(read('partner').trim());
  const { period } = usePeriod('');
  const query = { ...period, ...(partner && { partner_name: partner }) };
  const orders = usePages(['orders', query], (cursor) =>
    bodyOf(client.GET('/orders', { params: { query: { ...query, limit: 50, cursor } } })),
  );
  const clear = () => write(Object.fromEntries(filters.map((name) => [name, ''])));
  const isFiltered = filters.some(read);
  if (useHasNone('orders'))
    return (
      <PageView title={texts.orders.title}>
        <Card>
          <NoOrders />
        </Card>
      </PageView>
    );
  return (
    <PageView title={texts.orders.title}>
      <Card>
        <div className="filters">
          <PeriodField usual="" />
          <PartnerField
            label={texts.catalog.partner}
            value={read('partner')}
            onChange={(name) => write({ partner: name })}
          />
          {isFiltered && <Action onPress={clear}>{texts.catalog.clear}</Action>}
        </div>
        <List of={orders} empty={isFiltered ? <Empty title={texts.orders.noneMatch} /> : <NoOrders />}>
          {(items) => (
            <DataTable
              label={texts.orders.title}
              columns={columns}
              rows={items}
              keyOf={({ order_id }) => order_id}
            />
          )}
        </List>
      </Card>
    </PageView>
  );
}

const NoOrders = () => (
  <Empty
    title={texts.orders.none}
    lead={texts.orders.noneWay}
    action={
      <Link href={routes.catalog} className="button primary">
        {texts.nav.catalog}
      </Link>
    }
  />
);

type Order = Schemas['Order'];

const columns: DataColumn<Order>[] = [
  {
    title: texts.orders.order,
    kind: 'name',
    cell: ({ order_id, customer_reference }) => (
      <>
        <Link href={addressOf('order', { order: order_id })}>{order_id}</Link>
        {customer_reference && (
          <div className="muted small">
            <Value>{customer_reference}</Value>
          </div>
        )}
      </>
    ),
  },
  { title: texts.catalog.partner, cell: ({ partner_name }) => <Value>{partner_name}</Value> },
  {
    title: texts.orders.items,
    cell: ({ items }) => (
      <span>
        <Value>{items[0]?.product_name}</Value>
        {items.length > 1 && <span className="muted"> {texts.orders.others(items.length - 1)}</span>}
      </span>
    ),
  },
  {
    title: texts.sales.units,
    kind: 'number',
    cell: ({ items }) => count(items.reduce((sum, { quantity }) => sum + quantity, 0)),
  },
  {
    title: texts.orders.total,
    kind: 'number',
    cell: ({ total_amount, currency }) => money(total_amount, currency),
  },
  { title: texts.orders.created, kind: 'tight', cell: ({ created_at }) => <Time at={created_at} /> },
];

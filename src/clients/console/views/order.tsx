import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { count, money } from '../locale';
import { Action } from '../parts/action';
import { Confirm } from '../parts/confirm';
import { Facts } from '../parts/facts';
import { Card, PageView } from '../parts/page';
import { Query } from '../parts/query';
import { RecordSource } from '../parts/record-source';
import { DataTable, type DataColumn } from '../parts/table';
import { Time } from '../parts/time';
import { Value } from '../parts/value';
import { addressOf, routes } from '../routes';
import { texts } from '../texts';

type Item = Schemas['OrderItem'];

/** An order with its lines, and where each price comes from. */
export function OrderView({ orderId }: { orderId: string }) {
  const order = useQuery({
    queryKey: ['order', orderId],
    queryFn: () => bodyOf(client.GET('/orders/{order_id}', { params: { path: { order_id: orderId } } })),
  });
  return (
    <PageView
      title={texts.orders.one(orderId)}
      trail={[{ text: texts.orders.title, href: routes.orders }]}
      lead={order.data && <Time at={order.data.created_at} />}
    >
      <Query of={order}>{(data) => <Order order={data} />}</Query>
    </PageView>
  );
}

function Order({ order }: { order: Schemas['Order'] }) {
  const { partner_name, customer_reference, items, total_amount, currency } = order;
  const [asked, setAsked] = useState<Item>();
  const [isOpen, setOpen] = useState(false);
  const ask = (item: Item) => {
    setAsked(item);
    setOpen(true);
  };
  return (
    <Card>
      <p className="price">{money(total_amount, currency)}</p>
      <Facts
        facts={[
          [
            texts.catalog.partner,
            <Link key="partner" href={addressOf('partner', { partner: partner_name })}>
              <Value>{partner_name}</Value>
            </Link>,
          ],
          [texts.orders.reference, customer_reference && <Value>{customer_reference}</Value>],
          [texts.sales.units, count(items.reduce((sum, { quantity }) => sum + quantity, 0))],
        ]}
      />
      <DataTable
        label={texts.orders.items}
        columns={columnsFor(currency, ask)}
        rows={items}
        keyOf={({ order_item_id }) => order_item_id}
      />
      {asked && <ItemSource order={order} item={asked} isOpen={isOpen} onClose={() => setOpen(false)} />}
    </Card>
  );
}

const columnsFor = (currency: string, ask: (item: Item) => void): DataColumn<Item>[] => [
  {
    title: texts.sales.product,
    kind: 'name',
    cell: ({ product_id, product_name, sku }) => (
      <>
        <Link href={addressOf('product', { product: product_id })}>
          <Value>{product_name}</Value>
        </Link>
        <div className="muted small">
          <Value>{sku}</Value>
        </div>
      </>
    ),
  },
  { title: texts.orders.quantity, kind: 'number', cell: ({ quantity }) => count(quantity) },
  {
    title: texts.orders.unitPrice,
    kind: 'number',
    cell: ({ unit_price }) => money(unit_price, currency),
  },
  { title: texts.orders.total, kind: 'number', cell: ({ line_total }) => money(line_total, currency) },
  {
    title: texts.source.title,
    kind: 'tight',
    cell: (item) => (
      <Action aria-label={texts.source.ofProduct(item.product_name)} onPress={() => ask(item)}>
        {texts.source.show}
      </Action>
    ),
  },
];

interface ItemSourceOptions {
  order: Schemas['Order'];
  item: Item;
  isOpen: boolean;
  onClose: () => void;
}

/** The line of the file that set the price of a line of an order. */
function ItemSource({ order, item, isOpen, onClose }: ItemSourceOptions) {
  const { order_id, currency } = order;
  const { order_item_id, product_name, unit_price } = item;
  const source = useQuery({
    queryKey: ['order-source', order_id, order_item_id],
    queryFn: () =>
      bodyOf(
        client.GET('/orders/{order_id}/items/{order_item_id}/source', {
          params: { path: { order_id, order_item_id } },
        }),
      ),
  });
  return (
    <Confirm title={texts.source.ofPrice} isOpen={isOpen} onClose={onClose} actions={null}>
      <p>
        <Value>{product_name}</Value>: <strong>{money(unit_price, currency)}</strong>
      </p>
      <p className="muted">{texts.source.ofPriceLead}</p>
      <Query of={source}>{(data) => <RecordSource source={data} />}</Query>
    </Confirm>
  );
}

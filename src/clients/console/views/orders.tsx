import { Link } from 'wouter';
import { bodyOf, client } from '../api';
import { useFilters } from '../data/address';
import { usePages } from '../data/queries';
import { money, time } from '../locale';
import { FailureNotice } from '../parts/failure';
import { More } from '../parts/more';
import { Card, Loading, PageView } from '../parts/page';
import { PartnerField } from '../parts/partner-field';
import { ScrollTable } from '../parts/scroll-table';
import { useDeferred } from '../parts/use-deferred';
import { Value } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';

export function OrdersView() {
  const [read, write] = useFilters();
  const partner = useDeferred(read('partner'));
  return (
    <PageView title={texts.orders.title}>
      <Card>
        <PartnerField
          label={texts.catalog.partner}
          value={read('partner')}
          onChange={(name) => write({ partner: name })}
        />
        <Orders partner={partner} />
      </Card>
    </PageView>
  );
}

function Orders({ partner }: { partner: string }) {
  const orders = usePages(['orders', partner], (cursor) =>
    bodyOf(
      client.GET('/orders', { params: { query: { partner_name: partner || undefined, limit: 50, cursor } } }),
    ),
  );
  if (orders.isLoadingError)
    return <FailureNotice error={orders.error} retry={() => void orders.refetch()} />;
  if (orders.isPending) return <Loading />;
  const items = orders.data.pages.flatMap((page) => page.items);
  if (items.length === 0)
    return (
      <>
        <p>{texts.orders.none}</p>
        <p className="muted">{texts.orders.noneWay}</p>
      </>
    );
  const { order, items: lines, total, created } = texts.orders;
  return (
    <>
      <ScrollTable
        label={texts.orders.title}
        columns={[
          ...[order, texts.catalog.partner, lines].map((title) => ({ title })),
          { title: total, isNumber: true },
          { title: created },
        ]}
      >
        {items.map(({ order_id, partner_name, items: bought, total_amount, currency, created_at }) => (
          <tr key={order_id}>
            <th scope="row">{order_id}</th>
            <td>
              <Value>{partner_name}</Value>
            </td>
            <td>
              <ul className="plain">
                {bought.map(({ order_item_id, product_id, product_name, quantity, unit_price }) => (
                  <li key={order_item_id}>
                    <Link href={addressOf('product', { product: product_id })}>
                      <Value>{product_name}</Value>
                    </Link>{' '}
                    <span className="muted">{texts.orders.item(quantity, money(unit_price, currency))}</span>
                  </li>
                ))}
              </ul>
            </td>
            <td className="number">{money(total_amount, currency)}</td>
            <td>{time(created_at)}</td>
          </tr>
        ))}
      </ScrollTable>
      <More list={orders} />
    </>
  );
}

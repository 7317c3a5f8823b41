import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { money } from '../locale';
import { Availability } from '../parts/availability';
import { Facts } from '../parts/facts';
import { Card, PageView } from '../parts/page';
import { Query } from '../parts/query';
import { FeedLink } from '../parts/record-source';
import { Time } from '../parts/time';
import { Value } from '../parts/value';
import { addressOf, routes } from '../routes';
import { texts } from '../texts';
import { TestOrder, WithdrawProduct } from './product-actions';
import { History } from './product-history';
import { Prices } from './product-prices';
import { Source } from './product-source';

/** A product: its values, prices, history and source. */
export function ProductView({ productId }: { productId: string }) {
  const product = useQuery({
    queryKey: ['product', productId],
    queryFn: () =>
      bodyOf(client.GET('/products/{product_id}', { params: { path: { product_id: productId } } })),
  });
  const { data } = product;
  const partner = data?.partner_name;
  return (
    <PageView
      title={data?.product_name ?? productId}
      trail={[
        { text: texts.catalog.title, href: routes.catalog },
        ...(partner === undefined ? [] : [{ text: partner, href: addressOf('partner', { partner }) }]),
      ]}
      lead={data?.sku && <Value>{data.sku}</Value>}
      actions={data && !data.withdrawn_at && <Actions product={data} />}
    >
      <Query of={product}>
        {(shown) => (
          <>
            <Values product={shown} />
            <Prices productId={productId} />
            <History product={shown} />
            <Source productId={productId} />
          </>
        )}
      </Query>
    </PageView>
  );
}

function Actions({ product }: { product: Schemas['Product'] }) {
  return (
    <>
      <TestOrder product={product} />
      <WithdrawProduct product={product} />
    </>
  );
}

function Values({ product }: { product: Schemas['Product'] }) {
  const { price, currency, availability, brand, category, description, feed_id, created_at } = product;
  const hasPrice = price !== null && price !== undefined;
  return (
    <Card>
      {product.withdrawn_at && (
        <p className="notice">
          {texts.product.withdrawnNow} <Time at={product.withdrawn_at} />
        </p>
      )}
      <p className="price">
        {hasPrice ? money(price, currency) : <span className="muted">{texts.product.priceNone}</span>}{' '}
        <Availability value={availability} />
      </p>
      <Facts
        facts={[
          [texts.fields.brand!, brand && <Value>{brand}</Value>],
          [texts.fields.category!, category && <Value>{category}</Value>],
          [texts.product.since, <Time key="since" at={created_at} />],
          [texts.product.feed, <FeedLink key="feed" feedId={feed_id} />],
        ]}
      />
      {description && (
        <p>
          <Value>{description}</Value>
        </p>
      )}
    </Card>
  );
}

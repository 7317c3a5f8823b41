import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { money, time } from '../locale';
import { Action } from '../parts/action';
import { Confirm } from '../parts/confirm';
import { FailureNotice } from '../parts/failure';
import { Card, Loading, PageView } from '../parts/page';
import { Value } from '../parts/value';
import { addressOf, routes } from '../routes';
import { texts } from '../texts';
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
  return (
    <PageView title={product.data?.product_name ?? productId}>
      {product.error && <FailureNotice error={product.error} retry={() => void product.refetch()} />}
      {product.isPending && <Loading />}
      {product.data && (
        <>
          <Facts product={product.data} />
          <Prices productId={productId} />
          <History productId={productId} />
          <Source productId={productId} />
        </>
      )}
    </PageView>
  );
}

function Facts({ product }: { product: Schemas['Product'] }) {
  const fields = ['sku', 'description', 'brand', 'category', 'availability'] as const;
  return (
    <Card>
      {product.withdrawn_at && <p className="notice">{texts.product.withdrawnNow}</p>}
      {product.price !== null && product.price !== undefined && (
        <p className="price">{money(product.price, product.currency)}</p>
      )}
      <dl className="facts">
        {fields.map((field) => (
          <div key={field}>
            <dt>{texts.fields[field]}</dt>
            <dd>
              <Value>{product[field]}</Value>
            </dd>
          </div>
        ))}
        <div>
          <dt>{texts.product.partner}</dt>
          <dd>
            <Link href={addressOf('partner', { partner: product.partner_name })}>
              <Value>{product.partner_name}</Value>
            </Link>
          </dd>
        </div>
        <div>
          <dt>{texts.product.feed}</dt>
          <dd>
            <Link href={addressOf('feed', { feed: product.feed_id })}>{product.feed_id}</Link>
          </dd>
        </div>
        <div>
          <dt>{texts.product.since}</dt>
          <dd>{time(product.created_at)}</dd>
        </div>
      </dl>
      <TestOrder product={product} />
    </Card>
  );
}

function TestOrder({ product }: { product: Schemas['Product'] }) {
  const [isAsked, setAsked] = useState(false);
  const [, navigate] = useLocation();
  const order = useMutation({
    mutationFn: () =>
      bodyOf(
        client.POST('/orders', {
          body: {
            partner_name: product.partner_name,
            items: [{ product_id: product.product_id, quantity: 1 }],
          },
        }),
      ),
    onSuccess: () => navigate(routes.orders),
  });
  return (
    <>
      <Action onPress={() => setAsked(true)}>{texts.product.order}</Action>
      <Confirm
        title={texts.product.order}
        isOpen={isAsked}
        onClose={() => setAsked(false)}
        actions={
          <Action kind="primary" isDisabled={order.isPending} onPress={() => order.mutate()}>
            {texts.product.orderPlace}
          </Action>
        }
      >
        <p>{texts.product.orderLead}</p>
        {order.error && <FailureNotice error={order.error} />}
      </Confirm>
    </>
  );
}

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { Action } from '../parts/action';
import { Confirm } from '../parts/confirm';
import { FailureNotice } from '../parts/failure';
import { visible } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';

interface Options {
  product: Schemas['Product'];
}

/** Takes the product out of the catalog, after it says what that does. */
export function WithdrawProduct({ product: { product_id, product_name, partner_name } }: Options) {
  const [isAsked, setAsked] = useState(false);
  const queries = useQueryClient();
  const withdrawal = useMutation({
    mutationFn: () =>
      bodyOf(client.POST('/products/{product_id}/withdraw', { params: { path: { product_id } } })),
    onSuccess: async () => {
      setAsked(false);
      await Promise.all(
        [['product', product_id], ['products'], ['facets']].map((queryKey) =>
          queries.invalidateQueries({ queryKey }),
        ),
      );
    },
  });
  return (
    <>
      <Action kind="danger" onPress={() => setAsked(true)}>
        {texts.product.withdraw}
      </Action>
      <Confirm
        title={texts.product.withdrawTitle(visible(product_name))}
        isOpen={isAsked}
        onClose={() => setAsked(false)}
        actions={
          <Action kind="danger" isDisabled={withdrawal.isPending} onPress={() => withdrawal.mutate()}>
            {texts.product.withdrawNow}
          </Action>
        }
      >
        <p>{texts.product.withdrawEffect}</p>
        <p>{texts.product.withdrawWayBack(visible(partner_name))}</p>
        {withdrawal.error && <FailureNotice error={withdrawal.error} />}
      </Confirm>
    </>
  );
}

/** Orders one piece of the product, after a confirmation. */
export function TestOrder({ product: { product_id, partner_name } }: Options) {
  const [isAsked, setAsked] = useState(false);
  const [, navigate] = useLocation();
  const order = useMutation({
    mutationFn: () =>
      bodyOf(client.POST('/orders', { body: { partner_name, items: [{ product_id, quantity: 1 }] } })),
    onSuccess: ({ order_id }) => navigate(addressOf('order', { order: order_id })),
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

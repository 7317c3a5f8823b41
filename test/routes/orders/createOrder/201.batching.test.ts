import { createOrder, createOrderBatcher } from '../../../../src/orders/orders.service';
import { loadProducts } from '../../../support/catalog';
import { startTestService, type TestService } from '../../../support/service';

let service: TestService;
let products: string[];
beforeAll(async () => {
  service = await startTestService();
  ({ productIds: products } = await loadProducts(
    service,
    [
      { sku: 'A', price: '10', currency: 'EUR' },
      { sku: 'B', price: '0.005', currency: 'EUR' },
      { sku: 'C', price: '3', currency: 'CHF' },
    ],
    'Acme',
  ));
});

interface Asked {
  partner_name: string;
  customer_reference?: string;
  items: { product_id: string; quantity: number }[];
}

const send = (order: Asked) => service.api.post('/orders', order);
const item = (at: number, quantity = 1) => ({ product_id: products[at]!, quantity });

describe('concurrent orders', () => {
  it('are created or rejected individually, each with its own items', async () => {
    const before = (await service.db('orders')).length;
    const asked: [Asked, number, unknown][] = Array.from({ length: 40 }, (_, at) => {
      const order = { partner_name: `Partner ${at}`, customer_reference: `ref ${at}` };
      if (at % 4 === 1)
        return [{ ...order, items: [item(0), { product_id: 'PR99999', quantity: 1 }] }, 404, null];
      if (at % 4 === 2) return [{ ...order, items: [item(0), item(2)] }, 400, null];
      return [{ ...order, items: [item(1, at + 1), item(0, 2)] }, 201, 20 + 0.005 * (at + 1)];
    });

    const answers = await Promise.all(asked.map(([order]) => send(order)));

    answers.forEach(({ status, body }, at) => {
      const [order, expected, total] = asked[at]!;
      expect({ at, status }).toEqual({ at, status: expected });
      if (status !== 201) return;
      expect(body).toMatchObject({ ...order, items: order.items });
      expect(body.total_amount).toBeCloseTo(total as number, 9);
    });
    const ids = answers.flatMap(({ status, body }) => (status === 201 ? [body.order_id as string] : []));
    expect(new Set(ids).size).toBe(20);
    expect(await service.db('orders')).toHaveLength(before + 20);
    for (const id of ids) {
      const at = answers.findIndex(({ body }) => body.order_id === id);
      expect((await service.api.get(`/orders/${id}`)).body).toEqual(answers[at]!.body);
    }
  });

  it('are created even if the database rejects one of the batch', async () => {
    // Bypasses validation: an error that only the database finds.
    const place = createOrderBatcher(service.db, 'USD');
    const request = (customerReference: string) => ({
      partnerName: 'Acme',
      customerReference,
      items: [{ productId: products[0]!, quantity: 1 }],
      scope: null,
    });

    const outcomes = await Promise.allSettled(
      ['a', 'b', 'c', 'NUL \0', 'd', 'e'].map((text) => place(request(text))),
    );

    expect(
      outcomes.map((one) => (one.status === 'fulfilled' ? one.value.customer_reference : 'refused')),
    ).toEqual(['a', 'b', 'c', 'refused', 'd', 'e']);
    await expect(createOrder(service.db, request('NUL \0'), 'USD')).rejects.toThrow(/0x00/);
  });
});

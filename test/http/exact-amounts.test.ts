import { eventually } from '../support/harness';
import { loadProducts } from '../support/catalog';
import { startTestService, testKey, type TestService } from '../support/service';
import { sendTo, startReceiver } from '../support/webhooks';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ webhooks: 'to any address' });
});

/** The raw text of a response: parsing loses digits. */
async function send(path: string, init?: { body: unknown; headers?: object }): Promise<string> {
  const response = await fetch(`${service.url}${path}`, {
    headers: { 'x-api-key': testKey, 'content-type': 'application/json', ...init?.headers },
    ...(init && { method: 'POST', body: JSON.stringify(init.body) }),
  });
  expect(response.ok).toBe(true);
  return response.text();
}

const price = '999999999999.9999';

it('writes every amount digit by digit: prices, line totals and order totals, lists and replays included', async () => {
  const { productIds } = await loadProducts(service, [
    { sku: 'DEAR', price },
    { sku: 'CHEAP', price: '189.90' },
    { sku: 'ROUND', price: '5.0000' },
  ]);
  const [dear, cheap, round] = productIds;

  expect(await send(`/products/${dear}`)).toContain(`"price":${price},`);
  expect(await send(`/products/${cheap}`)).toContain('"price":189.9,');
  expect(await send(`/products/${round}`)).toContain('"price":5,');
  expect(await send('/products?sort_by=price')).toContain(`"price":${price},`);

  const items = [
    { product_id: dear, quantity: 3 },
    { product_id: cheap, quantity: 2 },
    { product_id: dear, quantity: 1_000_000 },
  ];
  const request = { body: { partner_name: 'Acme', items }, headers: { 'idempotency-key': 'exact' } };
  const order = await send('/orders', request);
  expect(order).toContain(`"unit_price":${price},"line_total":2999999999999.9997}`);
  expect(order).toContain('"unit_price":189.9,"line_total":379.8}');
  expect(order).toContain('"line_total":999999999999999900}');
  expect(order).toContain('"total_amount":1000003000000000279.7997,');
  expect(await send('/orders', request)).toBe(order);
  const { order_id } = JSON.parse(order) as { order_id: string };
  expect(await send(`/orders/${order_id}`)).toBe(order);
  expect(await send('/orders?limit=1')).toBe(`{"count":1,"items":[${order}]}`);
});

it('writes the amounts of a webhook digit by digit', async () => {
  const receiver = await startReceiver();
  await sendTo(service.db, receiver.url, { event_types: ['order.created'] });
  const { productIds } = await loadProducts(service, [{ sku: 'DEAR', price }]);

  const order = await send('/orders', {
    body: { partner_name: 'Acme', items: [{ product_id: productIds[0], quantity: 3 }] },
  });

  await eventually('it has come', () => receiver.received.length > 0);
  expect(receiver.received[0]!.text).toContain(`"data":${order}`);
  expect(order).toContain('"total_amount":2999999999999.9997,');
});

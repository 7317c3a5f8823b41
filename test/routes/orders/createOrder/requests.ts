import type { ApiResponse } from '../../../support/api-client';
import { loadProducts } from '../../../support/catalog';
import { sendRaw } from '../../../support/requests';
import { startTestService, testKey, type TestService } from '../../../support/service';

/** The service of the importing test file. */
export let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

/** Each product of these tests has its own sku. */
export let products = 0;
export async function load(
  price: string,
  values: { currency?: string; availability?: string } = {},
): Promise<string> {
  const { productIds } = await loadProducts(service, [{ sku: `SKU-${++products}`, price, ...values }]);
  return productIds[0];
}

/** Loads a product for each of the values, all by one feed. @returns their ids by value */
export async function loadEach<T extends string | undefined>(
  column: 'price' | 'availability',
  values: readonly T[],
): Promise<Map<T, string>> {
  const rows = values.map((value) => ({ sku: `SKU-${++products}`, price: '1', [column]: value ?? '' }));
  const { productIds } = await loadProducts(service, rows);
  return new Map(values.map((value, index) => [value, productIds[index]!]));
}

type Items = { product_id: string; quantity: number }[];
export const orderOf = (items: Items) => ({ partner_name: 'Acme Outdoor', items });
export const order = (items: Items) => service.api.post('/orders', orderOf(items));

export async function ordered(items: Items): Promise<ApiResponse['body']> {
  const { status, body } = await order(items);
  expect({ status, body }).toEqual({ status: 201, body: expect.anything() });
  return body;
}

export function sendText(text: string | Uint8Array, contentType: string | null = 'application/json') {
  const headers: Record<string, string> = contentType === null ? {} : { 'content-type': contentType };
  // A typed array implies no media type.
  const body = typeof text === 'string' ? new TextEncoder().encode(text) : text;
  return service.api.send('POST', '/orders', { headers, body });
}

export async function sendChunked(chunks: string[]) {
  const { status, text } = await sendRaw(service.url, {
    method: 'POST',
    path: '/orders',
    headers: { 'x-api-key': testKey, 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
    chunks,
  });
  return { status, body: JSON.parse(text) as unknown };
}

/** Returns the numbers of orders and items, and the last of them. */
export async function storedRows(): Promise<unknown> {
  const { rows } = await service.db.raw<{ rows: unknown[] }>(
    `select * from (select count(*) as orders, max(order_id) as last_order from orders) as orders,
       (select count(*) as items, max(order_item_id) as last_item from order_items) as items`,
  );
  return rows[0];
}

/** Sends an order that must be rejected: checks the exact response, and that nothing was stored. */
export async function expectRefusal(
  send: () => Promise<{ status: number; body: unknown }>,
  expected: { status: number; body: unknown },
): Promise<void> {
  const before = await storedRows();
  const { status, body } = await send();
  expect({ status, body }).toEqual(expected);
  expect(await storedRows()).toEqual(before);
}

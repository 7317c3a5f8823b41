import type { ApiResponse } from '../../../support/api-client';
import { loadProducts } from '../../../support/catalog';
import { startTestService, type TestService } from '../../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

/** Every product of these tests has a sku of its own. */
let products = 0;
async function load(
  price: string,
  values: { currency?: string; availability?: string } = {},
): Promise<string> {
  const { productIds } = await loadProducts(service, [{ sku: `SKU-${++products}`, price, ...values }]);
  return productIds[0];
}

/** Loads a product for each of the values, all by one feed. @returns their ids by value */
async function loadEach<T extends string | undefined>(
  column: 'price' | 'availability',
  values: readonly T[],
): Promise<Map<T, string>> {
  const rows = values.map((value) => ({ sku: `SKU-${++products}`, price: '1', [column]: value ?? '' }));
  const { productIds } = await loadProducts(service, rows);
  return new Map(values.map((value, index) => [value, productIds[index]!]));
}

type Items = { product_id: string; quantity: number }[];
const orderOf = (items: Items) => ({ partner_name: 'Acme Outdoor', items });
const order = (items: Items) => service.api.post('/orders', orderOf(items));

/** Orders what must be accepted. */
async function ordered(items: Items): Promise<ApiResponse['body']> {
  const { status, body } = await order(items);
  expect({ status, body }).toEqual({ status: 201, body: expect.anything() });
  return body;
}

/** How many orders and lines there are, and the last of them. */
async function storedRows(): Promise<unknown> {
  const { rows } = await service.db.raw<{ rows: unknown[] }>(
    `select * from (select count(*) as orders, max(order_id) as last_order from orders) as orders,
       (select count(*) as items, max(order_item_id) as last_item from order_items) as items`,
  );
  return rows[0];
}

/** Sends what must be refused: checks the answer to the letter, and that nothing of it was stored. */
async function expectRefusal(
  send: () => Promise<{ status: number; body: unknown }>,
  expected: { status: number; body: unknown },
): Promise<void> {
  const before = await storedRows();
  const { status, body } = await send();
  expect({ status, body }).toEqual(expected);
  expect(await storedRows()).toEqual(before);
}

describe('POST /orders', () => {
  describe('404', () => {
    beforeAll(() => load('1'));

    it.each([
      'PR99999',
      'PR00000',
      'PR1',
      'pr00001',
      'FD00001',
      'PR000001',
      'PR00001 ',
      'PR00001\0',
      'PR99999999999999999999',
      'PR999999999999999',
      '1',
      '',
      '😀',
      '__proto__',
    ])('refuses a product that does not exist: %j', async (id) => {
      await expectRefusal(() => order([{ product_id: id, quantity: 1 }]), {
        status: 404,
        body: { detail: `Product not found: ${id}` },
      });
    });
  });

  describe('409', () => {
    const notAvailable = (id: string) => ({
      status: 409,
      body: { detail: `Product is not available: ${id}` },
    });

    const words = [
      'out_of_stock',
      'outofstock',
      'Out of Stock',
      'discontinued',
      'sold_out',
      'unavailable',
      'not_available',
      'in_stock_soon',
      'in stock!',
      'yes',
      'constructor',
    ];
    let productOf: Map<string, string>;
    beforeAll(async () => {
      productOf = await loadEach('availability', words);
    });

    it.each(words)('rejects a product that is %s', async (word) => {
      const product = productOf.get(word)!;

      await expectRefusal(() => order([{ product_id: product, quantity: 1 }]), notAvailable(product));
    });

    it.each([undefined, 'in_stock'])(
      'rejects a product without a price, available or not',
      async (availability) => {
        const product = await load('', { availability });

        await expectRefusal(() => order([{ product_id: product, quantity: 1 }]), notAvailable(product));
      },
    );

    it('follows the availability of later feeds', async () => {
      const rows = (availability: string) => [{ sku: 'GONE', price: '1', availability }] as const;
      const { productIds } = await loadProducts(service, rows('in_stock'));
      await ordered([{ product_id: productIds[0], quantity: 1 }]);

      await loadProducts(service, rows('out_of_stock'));
      await expectRefusal(
        () => order([{ product_id: productIds[0], quantity: 1 }]),
        notAvailable(productIds[0]),
      );

      await loadProducts(service, rows('in_stock'));
      await ordered([{ product_id: productIds[0], quantity: 1 }]);
    });
  });

  describe('of several items', () => {
    let id: Record<'good' | 'euros' | 'gone' | 'priceless' | 'unknown' | 'other', string>;
    beforeAll(async () => {
      id = {
        good: await load('1'),
        euros: await load('1', { currency: 'EUR' }),
        gone: await load('1', { availability: 'out_of_stock' }),
        priceless: await load(''),
        unknown: 'PR99998',
        other: 'PR99999',
      };
    });

    it.each<[(keyof typeof id)[], number, string, keyof typeof id | undefined]>([
      [['good', 'unknown'], 404, 'Product not found: ', 'unknown'],
      [['unknown', 'other'], 404, 'Product not found: ', 'unknown'],
      [['other', 'unknown'], 404, 'Product not found: ', 'other'],
      [['gone', 'unknown'], 409, 'Product is not available: ', 'gone'],
      [['unknown', 'gone'], 404, 'Product not found: ', 'unknown'],
      [['good', 'priceless', 'gone', 'unknown'], 409, 'Product is not available: ', 'priceless'],
      [['good', 'gone', 'priceless'], 409, 'Product is not available: ', 'gone'],
      [['good', 'good', 'good', 'gone'], 409, 'Product is not available: ', 'gone'],
      // The currencies are compared when every item is known to be orderable.
      [['good', 'euros', 'unknown'], 404, 'Product not found: ', 'unknown'],
      [['good', 'euros', 'gone'], 409, 'Product is not available: ', 'gone'],
      [['good', 'euros', 'good'], 400, 'Order items must share one currency.', undefined],
    ])('the first that fails decides, and nothing is stored: %j', async (items, status, text, failing) => {
      const lines = items.map((name) => ({ product_id: id[name], quantity: 1 }));

      await expectRefusal(() => order(lines), {
        status,
        body: { detail: text + (failing ? id[failing] : '') },
      });
    });
  });
});

import { loadProducts } from '../../../support/catalog';
import { service, load, loadEach, order, ordered, expectRefusal } from './requests';

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
    ])('rejects a product that does not exist: %j', async (id) => {
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
      // Currencies are compared after every item is known to be orderable.
      [['good', 'euros', 'unknown'], 404, 'Product not found: ', 'unknown'],
      [['good', 'euros', 'gone'], 409, 'Product is not available: ', 'gone'],
      [['good', 'euros', 'good'], 400, 'Order items must share one currency.', undefined],
    ])('the first rejected item decides, and nothing is stored: %j', async (items, status, text, failing) => {
      const lines = items.map((name) => ({ product_id: id[name], quantity: 1 }));

      await expectRefusal(() => order(lines), {
        status,
        body: { detail: text + (failing ? id[failing] : '') },
      });
    });
  });
});

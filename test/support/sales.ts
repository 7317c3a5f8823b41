import { rollUpSales } from '../../src/analytics/sales-rollup';
import type { FeedRow } from './products';
import { loadProducts } from './products';
import { startTestService, type TestService } from './service';

/** One line of an order: the price of a product and how many of it. */
export type Line = [price: string, quantity: number];

/** A service for analytics, whose orders are made as a test needs them; every other one is in the sums of sales. */
export interface SalesService extends TestService {
  /** Orders products of these prices. The order counts as created at `createdAt`, if that is given. */
  sell(
    partnerName: string,
    lines: Line | Line[],
    options?: { currency?: string; createdAt?: string },
  ): Promise<void>;
  /** Removes all orders: each test starts without any. */
  clear(): Promise<void>;
}

/** The sums of sales. */
export const salesTables = ['sales_by_partner', 'sales_by_day', 'sales_by_partner_and_day', 'sales_changes'];

export async function startSalesService(): Promise<SalesService> {
  const service = await startTestService();
  const products = new Map<string, string>();
  let sold = 0;

  async function productOf(price: string, currency: string | undefined): Promise<string> {
    const sku = `${price} ${currency}`;
    const known = products.get(sku);
    if (known !== undefined) return known;
    const row: FeedRow = { sku, price, ...(currency === undefined ? {} : { currency }) };
    // Orders count for their own partner, never for the one that supplied the product.
    const { productIds } = await loadProducts(service, [row] as const, 'Supplier');
    products.set(sku, productIds[0]);
    return productIds[0];
  }

  return {
    ...service,
    async sell(partnerName, lines, { currency, createdAt } = {}) {
      const items: { product_id: string; quantity: number }[] = [];
      for (const [price, quantity] of (Array.isArray(lines[0]) ? lines : [lines]) as Line[]) {
        items.push({ product_id: await productOf(price, currency), quantity });
      }
      const { status, body } = await service.api.post('/orders', { partner_name: partnerName, items });
      if (status !== 201) throw new Error(`order: ${status} ${JSON.stringify(body)}`);
      if (createdAt !== undefined) {
        await service
          .db('orders')
          .where({ order_id: Number(body.order_id.slice(2)) })
          .update({ created_at: createdAt });
      }
      if (++sold % 2 === 1) await rollUpSales(service.db);
    },
    async clear() {
      for (const table of ['order_items', 'orders', ...salesTables]) await service.db(table).delete();
    },
  };
}

/** Values of `currency` that are not three capital letters. */
export const wrongCurrencies = [
  'eur',
  'Eur',
  'EU',
  'EURO',
  '€',
  'EUR ',
  ' EUR',
  'EUR\n',
  'ÉUR',
  'E R',
  'EUR,USD',
  '\0',
];

/** The entry of such a value. */
export const wrongCurrency = (input: string) => ({
  type: 'string_pattern_mismatch',
  loc: ['query', 'currency'],
  msg: "String should match pattern '^([A-Z]{3})?$'",
  input,
  ctx: { pattern: '^([A-Z]{3})?$' },
});

/** The entry of a currency that comes twice. */
export const currencyTwice = {
  type: 'string_type',
  loc: ['query', 'currency'],
  msg: 'Input should be a valid string',
  input: ['EUR', 'EUR'],
};

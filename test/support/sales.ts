import type { Knex } from 'knex';
import {
  revenueShare,
  salesByPartner,
  salesOverTime,
  type Grain,
} from '../../src/sales/analytics/analytics.repository';
import type { SalesFilter } from '../../src/sales/analytics/sales-filter';
import { salesByProduct } from '../../src/sales/analytics/product-sales.repository';
import { sumKeys } from '../../src/sales/analytics/sales-sums';
import type { DayRange } from '../../src/base/db/day-range';
import { rollUpSales } from '../../src/sales/analytics/sales-rollup';
import type { Database } from '../../src/base/db/database';
import { inSnapshot } from '../../src/base/db/transaction';
import { loadProducts, type FeedRow } from './catalog';
import { type TestService, startTestService } from './service';

/** One item of an order: the price of a product and a quantity. */
export type Line = [price: string, quantity: number];

/** A service for analytics, with orders made by tests; every other order is in the sums of sales. */
export interface SalesService extends TestService {
  /** Orders products of these prices. `createdAt`: creation time of the order. */
  sell(
    partnerName: string,
    lines: Line | Line[],
    options?: { currency?: string; createdAt?: string },
  ): Promise<void>;
  clear(): Promise<void>;
}

export const salesTables = [...Object.keys(sumKeys), 'sales_changes'];

export async function startSalesService(): Promise<SalesService> {
  const service = await startTestService();
  const products = new Map<string, string>();
  let sold = 0;

  async function productOf(price: string, currency: string | undefined): Promise<string> {
    const sku = `${price} ${currency}`;
    const known = products.get(sku);
    if (known !== undefined) return known;
    const row: FeedRow = { sku, price, ...(currency === undefined ? {} : { currency }) };
    // Orders count for their own partner, not for the supplier of the product.
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

export const wrongCurrency = (input: string) => ({
  type: 'string_pattern_mismatch',
  loc: ['query', 'currency'],
  msg: "String should match pattern '^([A-Z]{3})?$'",
  input,
  ctx: { pattern: '^([A-Z]{3})?$' },
});

export const currencyTwice = {
  type: 'string_type',
  loc: ['query', 'currency'],
  msg: 'Input should be a valid string',
  input: ['EUR', 'EUR'],
};

/** An order: its partner, time (minutes from the end of a year in UTC, absent: now), and items. */
export interface Sale {
  partner: string;
  currency: string;
  minutes: number | null;
  /** `product`: its number, 1 by default. */
  lines: { price: string; quantity: number; product?: number }[];
}

export const aSale: Sale = {
  partner: 'Acme',
  currency: 'EUR',
  minutes: null,
  lines: [{ price: '1.005', quantity: 3 }],
};

/** Creates an order directly in the database. @returns its number */
export async function sell(
  connection: Knex,
  { partner, currency, minutes, lines }: Sale = aSale,
): Promise<number> {
  const { rows } = await connection.raw<{ rows: [{ order_id: number }] }>(
    `with line as (
       select * from unnest(cast(:prices as numeric[]), cast(:quantities as integer[]), cast(:products as bigint[]))
         as line (price, quantity, product)
     ), sold as (
       insert into orders (partner_name, currency, total_amount, created_at)
       select :partner, :currency, sum(price * quantity),
         coalesce(timestamptz '2026-01-01 00:00Z' + cast(:minutes as integer) * interval '1 minute', now()) from line
       returning order_id
     ), item as (
       insert into order_items (order_id, product_id, sku, product_name, quantity, unit_price, line_total)
       select order_id, product, 'TENT-2', 'Tent', quantity, price, price * quantity from sold cross join line
     )
     select order_id from sold`,
    {
      partner,
      currency,
      minutes,
      prices: lines.map(({ price }) => price),
      quantities: lines.map(({ quantity }) => quantity),
      products: lines.map(({ product = 1 }) => product),
    } as never,
  );
  return rows[0].order_id;
}

type Figures = Record<string, unknown[]>;

const lines = `
  from orders join order_items using (order_id)
  where (cast(:currency as text) is null or orders.currency = :currency)
    and (cast(:scope as text) is null or orders.partner_name = :scope)
    and (cast(:from as text) is null or orders.created_at >= cast(:from || ' 00:00Z' as timestamptz))
    and (cast(:to as text) is null or orders.created_at < cast(:to || ' 00:00Z' as timestamptz))
`;

const directSql = {
  byPartner: `
    select partner_name, cast(sum(quantity) as bigint) as units_sold, cast(round(sum(line_total), 2) as text) as total_sales
    ${lines} group by partner_name order by sum(line_total) desc, partner_name`,
  share: `
    select partner_name, cast(round(revenue, 2) as text) as total_revenue,
      coalesce(round(100 * revenue / nullif(sum(revenue) over (), 0), 2), 0) as revenue_pct
    from (select partner_name, sum(line_total) as revenue ${lines} group by partner_name) as partner
    order by revenue desc, partner_name`,
  daily: overTime('YYYY-MM-DD'),
  monthly: overTime('YYYY-MM'),
  byProduct: `
    select product_id, partner_name, currency, cast(sum(quantity) as bigint) as units_sold,
      cast(round(sum(line_total), 2) as text) as total_sales
    ${lines} group by product_id, partner_name, currency
    order by sum(line_total) desc, product_id, partner_name, currency`,
};

function overTime(format: string): string {
  return `
    select to_char(orders.created_at at time zone 'UTC', '${format}') as sales_period,
      cast(sum(quantity) as bigint) as units_sold, cast(round(sum(line_total), 2) as text) as total_sales
    ${lines} group by sales_period order by sales_period`;
}

type Nullable<T> = { [K in keyof T]: T[K] | null };

/** A limit that leaves products out. */
const fewProducts = 2;

/** All figures, computed from each item of each order: the reference. */
async function directFigures(
  trx: Knex,
  { scope, currency = null, from = null, to = null }: Nullable<SalesFilter>,
): Promise<Figures> {
  const figures: Figures = {};
  for (const [name, sql] of Object.entries(directSql)) {
    const { rows } = await trx.raw<{ rows: unknown[] }>(sql, { scope, currency, from, to } as never);
    figures[name] = rows;
  }
  figures.highestProducts = figures.byProduct!.slice(0, fewProducts);
  return figures;
}

/** All figures as returned by the service. */
async function servedFigures(trx: Knex.Transaction, filter: SalesFilter): Promise<Figures> {
  const overTime = (grain: Grain) => salesOverTime(trx, grain, filter);
  return {
    byPartner: await salesByPartner(trx, filter),
    share: await revenueShare(trx, filter),
    daily: await overTime('daily'),
    monthly: await overTime('monthly'),
    byProduct: await salesByProduct(trx, filter, 10_000),
    highestProducts: await salesByProduct(trx, filter, fewProducts),
  };
}

/** Both at one time, for every combination of the filters: all orders and a range of days by default. They must be equal. */
export function figuresOfOneMoment(
  db: Database,
  scopes: readonly (string | null)[],
  currencies: readonly (string | undefined)[],
  ranges: readonly DayRange[] = [{}, { from: '2025-12-10', to: '2026-02-03' }],
): Promise<{ served: Figures[]; direct: Figures[] }> {
  return inSnapshot(db, async (trx) => {
    const served: Figures[] = [];
    const direct: Figures[] = [];
    for (const scope of scopes) {
      for (const currency of currencies) {
        for (const range of ranges) {
          served.push(await servedFigures(trx, { scope, currency, ...range }));
          direct.push(await directFigures(trx, { scope, currency, ...range }));
        }
      }
    }
    return { served, direct };
  });
}

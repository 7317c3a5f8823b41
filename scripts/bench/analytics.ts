import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { median } from '../service-process';
import { timeGet } from './measure';
import type { BenchContext, Measurement } from './report';
import { fillCatalog, fillOrders } from './sales-history';
import { withService } from './servers';

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
const quarter = `from=${daysAgo(100)}&to=${daysAgo(10)}`;
const year = `from=${daysAgo(400)}&to=${daysAgo(35)}`;

const questions = {
  'sales by partner': '/analytics/sales-by-partner',
  'sales by partner in one currency': '/analytics/sales-by-partner?currency=EUR',
  'sales by day': '/analytics/sales-over-time?grain=daily',
  'sales by month': '/analytics/sales-over-time?grain=monthly',
  'revenue shares': '/analytics/revenue-share',
};

/** Questions about products, and about ranges of days. */
const detailedQuestions = {
  'highest products': '/analytics/sales-by-product',
  'highest products of 90 days': `/analytics/sales-by-product?${quarter}`,
  'highest 200 products of 90 days': `/analytics/sales-by-product?${quarter}&limit=200`,
  'highest products of a year': `/analytics/sales-by-product?${year}`,
  'highest products of a partner, 90 days': `/analytics/sales-by-product?${quarter}&partner_name=Partner%207`,
  'sales by partner of 90 days': `/analytics/sales-by-partner?${quarter}`,
  'sales by day of a partner, 90 days': `/analytics/sales-over-time?${quarter}&partner_name=Partner%207`,
  'a page of orders of 90 days': `/orders?${quarter}`,
};

const asked = [
  { questions, target: { kind: 'at most', value: 50 } },
  { questions: detailedQuestions, target: { kind: 'at most', value: 100 } },
] as const;

/**
 * Measures analytics requests with different amounts of history: a tenth, all, and all plus as many orders outside the sums as
 * two busy seconds create. The time must not grow with the history. Complete requests through the service.
 */
export async function measureAnalytics({ quick, rounds, folder, log }: BenchContext): Promise<Measurement[]> {
  const orders = quick ? 100_000 : 1_000_000;
  const days = 1_100;
  return withService(folder, async ({ url, database }) => {
    await fillCatalog(database);
    const measured: Measurement[] = [];
    const measureAll = async (history: string) => {
      for (const { questions, target } of asked) {
        for (const [name, path] of Object.entries(questions)) {
          const values: number[] = [];
          for (let round = 0; round < rounds; round++) values.push(await measureOne(url + path));
          measured.push({ part: 'analytics', name: `${name}, ${history}`, unit: 'ms', values, target });
          log(`${name}, ${history}: ${median(values).toFixed(1)} ms`);
        }
      }
    };
    const tenth = orders / 10;
    await fillOrders(database, { orders: tenth, days: days / 10, untilDaysAgo: (days / 10) * 9 });
    await sumsAreMade(database);
    await measureAll(`${tenth.toLocaleString('en')} orders`);
    await fillOrders(database, { orders: orders - tenth, days: (days / 10) * 9 });
    await sumsAreMade(database);
    await measureAll(`${orders.toLocaleString('en')} orders`);
    await database.query(
      `update sales_rollup set rolled_up_at = now() + interval '1 hour', transaction_id = pg_current_xact_id(),
         product_transaction_id = pg_current_xact_id()`,
    );
    await fillOrders(database, { orders: 2_000, days: 1 });
    await measureAll(`${orders.toLocaleString('en')} orders and 2,000 not in the sums`);
    return measured;
  });
}

/** The median in milliseconds, after one warm-up request. */
async function measureOne(url: string): Promise<number> {
  const milliseconds: number[] = [];
  for (let time = 0; time <= 10; time++) {
    const taken = await timeGet(url);
    if (time > 0) milliseconds.push(taken);
  }
  return median(milliseconds);
}

/** Waits until the roll-up has added all orders. */
async function sumsAreMade(database: Client): Promise<void> {
  const sql = `select not exists (
      select from orders, sales_rollup where orders.transaction_id >= pg_snapshot_xmax(seen)
    ) and cast(seen as text) <> '1:1:' as made from sales_rollup`;
  for (;;) {
    const { rows } = await database.query<{ made: boolean }>(sql);
    if (rows[0]!.made) return;
    await sleep(500);
  }
}

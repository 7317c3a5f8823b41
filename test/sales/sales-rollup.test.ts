import fc from 'fast-check';
import type { Knex } from 'knex';
import { rollUpSales } from '../../src/sales/analytics/sales-rollup';
import { getWatermark, linesAfterWatermark } from '../../src/sales/analytics/sales-watermark';
import { queryRows, type Database } from '../../src/base/db/database';
import { sql } from '../../src/base/db/sql';
import type { DayRange } from '../../src/base/db/day-range';
import { inSnapshot } from '../../src/base/db/transaction';
import { casesFor } from '../support/fuzz';
import { createTestDatabase } from '../support/databases';
import { figuresOfOneMoment, salesTables, aSale, sell, type Sale } from '../support/sales';
import { eventually } from '../support/harness';

const partners = ['Acme', 'Ácme', 'Birch & Sons'];
const currencies = ['EUR', 'JPY'];

let db: Database;
beforeAll(async () => {
  ({ db } = await createTestDatabase());
});
beforeEach(removeSales);

async function removeSales(): Promise<void> {
  for (const table of ['order_items', 'orders', ...salesTables]) await db(table).delete();
}

async function expectExact(ranges?: DayRange[]): Promise<void> {
  const { served, direct } = await figuresOfOneMoment(
    db,
    [null, ...partners],
    [undefined, ...currencies],
    ranges,
  );
  expect(served).toEqual(direct);
}

/** Counts the order items after the watermark. */
function countAfterWatermark(): Promise<number> {
  return inSnapshot(db, async (trx) => {
    const watermark = await getWatermark(trx);
    const statement = sql`select count(*) as count ${linesAfterWatermark(watermark)}`;
    const [row] = await queryRows<{ count: number }>(trx, statement);
    return row!.count;
  });
}

const saleArbitrary: fc.Arbitrary<Sale> = fc.record({
  partner: fc.constantFrom(...partners),
  currency: fc.constantFrom(...currencies),
  minutes: fc.option(fc.integer({ min: -100_000, max: 100_000 })),
  lines: fc.array(
    fc.record({
      price: fc.integer({ min: 0, max: 99_999_999 }).map((price) => (price / 10_000).toFixed(4)),
      quantity: fc.integer({ min: 1, max: 1_000_000 }),
      product: fc.integer({ min: 1, max: 6 }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
});

/** A day around the sales, which are within 70 days of the end of a year, or now. */
const dayArbitrary = fc
  .integer({ min: -75, max: 75 })
  .map((days) => new Date(Date.UTC(2026, 0, 1 + days)).toISOString().slice(0, 10));

const rangeArbitrary: fc.Arbitrary<DayRange> = fc.oneof(
  fc.record({ from: dayArbitrary }),
  fc.record({ to: dayArbitrary }),
  fc.uniqueArray(dayArbitrary, { minLength: 2, maxLength: 2 }).map((days) => {
    const [from, to] = days.sort();
    return { from, to };
  }),
);

it('figures of all days and of ranges equal the sum of all order items, for any position of the watermark', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(saleArbitrary, fc.constant('roll up'))),
      rangeArbitrary,
      async (steps, range) => {
        await removeSales();
        for (const step of steps) {
          if (typeof step === 'string') await rollUpSales(db);
          else await sell(db, step);
        }
        await expectExact([{}, range]);
      },
    ),
    casesFor('sums of sales', 6),
  );
});

type BuyerStep =
  | 'begin'
  | 'sell'
  | 'sell in a savepoint'
  | 'delete an order'
  | 'give an order to another partner'
  | 'change an item'
  | 'add an item'
  | 'import an order'
  | 'commit'
  | 'roll back';
type Step = { does: BuyerStep; buyer: number } | { does: 'roll up' | 'roll up twice at once' };

const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    does: fc.constantFrom<BuyerStep[]>(
      'begin',
      'sell',
      'sell',
      'sell in a savepoint',
      'delete an order',
      'give an order to another partner',
      'change an item',
      'add an item',
      'import an order',
      'commit',
      'commit',
      'roll back',
    ),
    buyer: fc.integer({ min: 0, max: 4 }),
  }),
  fc.record({
    does: fc.constantFrom<'roll up' | 'roll up twice at once'>('roll up', 'roll up twice at once'),
  }),
);

/** An order that only this buyer changes, so that none waits for another. */
const anOrder = '(select min(order_id) from orders where order_id % 5 = :buyer)';

const changesByHand = {
  'delete an order': `
    with gone as (delete from order_items where order_id = ${anOrder}) delete from orders where order_id = ${anOrder}`,
  'give an order to another partner': `update orders set partner_name = 'Ácme' where order_id = ${anOrder}`,
  'change an item': `
    update order_items set quantity = quantity + 1, line_total = unit_price * (quantity + 1) where order_id = ${anOrder}`,
  'add an item': `
    insert into order_items (order_id, product_id, sku, product_name, quantity, unit_price, line_total)
    select order_id, 1, 'LATE', 'Late', 2, 0.5, 1 from ${anOrder} as late (order_id) where order_id is not null`,
  'import an order': `
    with sold as (
      insert into orders (partner_name, currency, total_amount, transaction_id)
      select 'Acme', 'EUR', 7, cast(cast(:buyer as text) || '00000000000' as xid8)
      returning order_id
    )
    insert into order_items (order_id, product_id, sku, product_name, quantity, unit_price, line_total)
    select order_id, 1, 'OLD', 'Old', 1, 7, 7 from sold`,
};

/** Transactions of buyers, each with its own timing. */
class Buyers {
  private readonly open = new Map<number, Knex.Transaction>();

  async take(step: Step): Promise<void> {
    if ('buyer' in step) await this.go(step.buyer, step.does);
    else if (step.does === 'roll up') await rollUpSales(db);
    else await Promise.all([rollUpSales(db), rollUpSales(db)]);
  }

  private async go(buyer: number, step: BuyerStep): Promise<void> {
    const trx = this.open.get(buyer) ?? (await db.transaction());
    this.open.set(buyer, trx);
    // The id is drawn before the order is created: other orders are committed between the two.
    if (step === 'begin') await trx.raw('select pg_current_xact_id()');
    else if (step === 'sell') await sell(trx);
    else if (step === 'sell in a savepoint') await trx.transaction((savepoint) => sell(savepoint));
    else if (step !== 'commit' && step !== 'roll back') await trx.raw(changesByHand[step], { buyer });
    else {
      this.open.delete(buyer);
      await (step === 'commit' ? trx.commit() : trx.rollback());
    }
  }

  async end(): Promise<void> {
    for (const trx of this.open.values()) await trx.commit();
    this.open.clear();
  }
}

it('counts each order exactly once, in any order of transactions', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(stepArbitrary, { minLength: 5, maxLength: 30 }), async (steps) => {
      const buyers = new Buyers();
      try {
        for (const step of steps) {
          await buyers.take(step);
          await expectSame();
        }
      } finally {
        await buyers.end();
      }
      await rollUpSales(db);
      expect(await countAfterWatermark()).toBe(0);
      await expectExact();
    }),
    casesFor('orders in any order of transactions', 6),
  );
});

/** Checks less than `expectExact`, after each step. */
async function expectSame(): Promise<void> {
  const { served, direct } = await figuresOfOneMoment(db, [null, 'Acme'], [undefined]);
  expect(served).toEqual(direct);
}

it('counts each order exactly once with concurrent orders, roll-ups and readers', async () => {
  let buying = true;
  const buy = async (buyer: number) => {
    for (let order = 0; order < 25; order++) {
      const trx = await db.transaction();
      await sell(trx, { ...aSale, partner: partners[buyer % 3]! });
      // Some of the transactions overlap many others.
      if (order % 5 === buyer) await trx.raw('select pg_sleep(0.05)');
      await (order % 4 === 3 ? trx.rollback() : trx.commit());
    }
  };
  const whileBuying = async (work: () => Promise<unknown>) => {
    while (buying) await work();
  };
  const others = Promise.all([
    whileBuying(() => rollUpSales(db)),
    whileBuying(() => rollUpSales(db)),
    whileBuying(expectSame),
  ]);
  await Promise.all([0, 1, 2, 3, 4].map(buy));
  buying = false;
  await others;

  await rollUpSales(db);
  expect(await countAfterWatermark()).toBe(0);
  expect(await db('orders').pluck('order_id')).toHaveLength(5 * 19);
  await expectExact();
});

describe('a roll-up', () => {
  it('skips only orders of transactions in progress: a transaction of hours does not block it', async () => {
    const long = await db.transaction();
    await sell(long);
    for (let order = 0; order < 3; order++) await sell(db);

    await rollUpSales(db);

    expect(await countAfterWatermark()).toBe(0);
    await expectExact();
    await long.commit();
    expect(await countAfterWatermark()).toBe(1);
    await expectExact();
    await rollUpSales(db);
    expect(await countAfterWatermark()).toBe(0);
    await expectExact();
  });

  it('changes nothing when killed midway, and the next one completes', async () => {
    await sell(db);
    await rollUpSales(db);
    await sell(db);
    const holder = await db.transaction();
    await holder.raw('select * from sales_by_day for update');
    const killed = rollUpSales(db).catch((error: unknown) => String(error));
    const waits = `select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
    const pid = await eventually('the roll-up waits', async () => {
      const { rows } = await db.raw<{ rows: { pid: number }[] }>(waits);
      return rows[0]?.pid ?? false;
    });

    // Another one finds it running, and does not wait.
    expect((await rollUpSales(db)).wrote).toBe(false);
    await expectExact();
    await db.raw('select pg_terminate_backend(cast(? as integer))', [pid]);

    expect(await killed).toMatch(/terminat/);
    await holder.rollback();
    expect(await countAfterWatermark()).toBe(1);
    await expectExact();
    expect((await rollUpSales(db)).wrote).toBe(true);
    await expectExact();
  });

  it('runs after its interval, and writes nothing without new orders', async () => {
    await sell(db);
    expect((await rollUpSales(db)).wrote).toBe(true);
    await sell(db);

    expect((await rollUpSales(db, 60_000)).wrote).toBe(false);
    expect((await rollUpSales(db, 0)).wrote).toBe(true);
    const before: unknown = await db('sales_rollup').first('*');
    expect((await rollUpSales(db)).wrote).toBe(false);

    expect(await db('sales_rollup').first('*')).toEqual(before);
  });
});

describe('sums by product of a database that release 1.2.0 has used', () => {
  /** What the statement of a roll-up of 1.2.0 writes beside its sums. */
  const rollUpWithoutProducts = () =>
    db.raw('update sales_rollup set seen = pg_current_snapshot(), transaction_id = pg_current_xact_id()');

  it('are behind until the next roll-up has rebuilt them; the others stay in use', async () => {
    await sell(db);
    await rollUpSales(db);
    await sell(db);
    await rollUpWithoutProducts();
    await db('sales_by_partner').update({ units_sold: 6, total_sales: '6.030' });
    await db('sales_by_day').update({ units_sold: 6, total_sales: '6.030' });
    await db('sales_by_partner_and_day').update({ units_sold: 6, total_sales: '6.030' });
    const watermark = () => inSnapshot(db, getWatermark);

    expect(await watermark()).toMatchObject({ hasSums: true, hasProductSums: false });
    expect(await countAfterWatermark()).toBe(0);
    await expectExact();

    expect((await rollUpSales(db)).wrote).toBe(true);
    expect(await watermark()).toMatchObject({ hasSums: true, hasProductSums: true });
    await expectExact();
  });
});

describe('sums that were copied into another database', () => {
  /** Simulates dump and restore of the row: same values, written by another transaction. */
  async function copyRow(): Promise<void> {
    const row = await db('sales_rollup').first<object>('*');
    await db('sales_rollup').delete();
    await db('sales_rollup').insert(row);
  }
  const hasSums = () => inSnapshot(db, async (trx) => (await getWatermark(trx)).hasSums);

  it.each([
    ['ahead', '900000000000'],
    ['behind', '2'],
  ])('are not used while the transactions of the origin may have been far %s', async (_, transactionId) => {
    await sell(db);
    await rollUpSales(db);
    await sell(db);
    await db('orders').update({ transaction_id: transactionId });
    await db('sales_rollup').update({ seen: `${transactionId}:${transactionId}:` });
    await copyRow();

    expect(await hasSums()).toBe(false);
    await expectExact();
    await sell(db);
    await expectExact();
    await rollUpSales(db);
    expect(await hasSums()).toBe(true);
    expect(await countAfterWatermark()).toBe(0);
    await expectExact();
    await sell(db);
    await expectExact();
    await rollUpSales(db);
    await expectExact();
  });

  it('are used after a table rewrite', async () => {
    await sell(db);
    await rollUpSales(db);

    await db.raw('vacuum full sales_rollup');
    await db.raw('vacuum freeze sales_rollup');

    expect(await hasSums()).toBe(true);
    expect(await countAfterWatermark()).toBe(0);
    await expectExact();
  });
});

import fc from 'fast-check';
import type { Knex } from 'knex';
import { getFrontier, linesBeyondFrontier, rollUpSales } from '../../src/analytics/sales-rollup';
import type { Database } from '../../src/db/database';
import { inSnapshot } from '../../src/db/transaction';
import { createTestDatabase } from '../support/database';
import { figuresOfOneMoment } from '../support/direct-sales';
import { eventually } from '../support/eventually';
import { salesTables } from '../support/sales';

const partners = ['Acme', 'Ácme', 'Birch & Sons'];
const currencies = ['EUR', 'JPY'];

let db: Database;
beforeAll(async () => {
  ({ db } = await createTestDatabase());
});
beforeEach(async () => {
  for (const table of [...salesTables, 'order_items', 'orders']) await db(table).delete();
});

/** An order: whose, when (minutes from the end of a year in UTC, absent: now), and its lines. */
interface Sale {
  partner: string;
  currency: string;
  minutes: number | null;
  lines: { price: string; quantity: number }[];
}

const aSale: Sale = {
  partner: 'Acme',
  currency: 'EUR',
  minutes: null,
  lines: [{ price: '1.005', quantity: 3 }],
};

async function sell(connection: Knex, { partner, currency, minutes, lines }: Sale = aSale): Promise<void> {
  await connection.raw(
    `with line as (
       select * from unnest(cast(:prices as numeric[]), cast(:quantities as integer[])) as line (price, quantity)
     ), sold as (
       insert into orders (partner_name, currency, total_amount, created_at)
       select :partner, :currency, sum(price * quantity),
         coalesce(timestamptz '2026-01-01 00:00Z' + cast(:minutes as integer) * interval '1 minute', now()) from line
       returning order_id
     )
     insert into order_items (order_id, product_id, sku, product_name, quantity, unit_price, line_total)
     select order_id, 1, 'TENT-2', 'Tent', quantity, price, price * quantity from sold cross join line`,
    {
      partner,
      currency,
      minutes,
      prices: lines.map(({ price }) => price),
      quantities: lines.map(({ quantity }) => quantity),
    } as never,
  );
}

async function expectExact(): Promise<void> {
  const { served, direct } = await figuresOfOneMoment(db, [null, ...partners], [undefined, ...currencies]);
  expect(served).toEqual(direct);
}

/** How many lines are added up when somebody asks. */
function countBeyondFrontier(): Promise<number> {
  return inSnapshot(db, async (trx) => {
    const frontier = await getFrontier(trx);
    const sql = `select count(*) as count ${linesBeyondFrontier}`;
    return (await trx.raw<{ rows: [{ count: number }] }>(sql, frontier as never)).rows[0].count;
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
    }),
    { minLength: 1, maxLength: 3 },
  ),
});

it('figures are those of each line of each order, whichever orders are in the sums', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(saleArbitrary, fc.constant('roll up'))), async (steps) => {
      for (const table of [...salesTables, 'order_items', 'orders']) await db(table).delete();
      for (const step of steps) {
        if (typeof step === 'string') await rollUpSales(db);
        else await sell(db, step);
      }
      await expectExact();
    }),
    { numRuns: 15 },
  );
});

type BuyerStep = 'begin' | 'sell' | 'sell in a savepoint' | 'commit' | 'roll back';
type Step = { does: BuyerStep; buyer: number } | { does: 'roll up' | 'roll up twice at once' };

const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    does: fc.constantFrom<BuyerStep[]>(
      'begin',
      'sell',
      'sell',
      'sell in a savepoint',
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

/** Transactions of buyers, each at its own pace. */
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
    // An id is drawn before the order: others are created and committed between the two.
    if (step === 'begin') await trx.raw('select pg_current_xact_id()');
    else if (step === 'sell') await sell(trx);
    else if (step === 'sell in a savepoint') await trx.transaction((savepoint) => sell(savepoint));
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

it('no order is lost or counted twice, in whatever order transactions begin, create orders and end', async () => {
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
      expect(await countBeyondFrontier()).toBe(0);
      await expectExact();
    }),
    { numRuns: 15 },
  );
});

/** Less than `expectExact`: after each step. */
async function expectSame(): Promise<void> {
  const { served, direct } = await figuresOfOneMoment(db, [null, 'Acme'], [undefined]);
  expect(served).toEqual(direct);
}

it('no order is lost or counted twice while buyers, roll-ups and readers do not wait for each other', async () => {
  let buying = true;
  const buy = async (buyer: number) => {
    for (let order = 0; order < 25; order++) {
      const trx = await db.transaction();
      await sell(trx, { ...aSale, partner: partners[buyer % 3]! });
      // Some of the transactions last for many others.
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
  expect(await countBeyondFrontier()).toBe(0);
  expect(await db('orders').pluck('order_id')).toHaveLength(5 * 19);
  await expectExact();
});

describe('a roll-up', () => {
  it('leaves only orders of what goes on: a transaction that takes hours does not hold it up', async () => {
    const long = await db.transaction();
    await sell(long);
    for (let order = 0; order < 3; order++) await sell(db);

    await rollUpSales(db);

    expect(await countBeyondFrontier()).toBe(0);
    await expectExact();
    await long.commit();
    expect(await countBeyondFrontier()).toBe(1);
    await expectExact();
    await rollUpSales(db);
    expect(await countBeyondFrontier()).toBe(0);
    await expectExact();
  });

  it('that is killed in the middle has done nothing, and the next one does it', async () => {
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

    // Another one finds it at work, and does not wait.
    expect(await rollUpSales(db)).toBe(false);
    await expectExact();
    await db.raw('select pg_terminate_backend(?)', [pid]);

    expect(await killed).toMatch(/terminat/);
    await holder.rollback();
    expect(await countBeyondFrontier()).toBe(1);
    await expectExact();
    expect(await rollUpSales(db)).toBe(true);
    await expectExact();
  });

  it('is done when the last one is long enough ago, and writes nothing when nothing was sold', async () => {
    await sell(db);
    expect(await rollUpSales(db)).toBe(true);
    await sell(db);

    expect(await rollUpSales(db, 60_000)).toBe(false);
    expect(await rollUpSales(db, 0)).toBe(true);
    const before: unknown = await db('sales_rollup').first('*');
    expect(await rollUpSales(db)).toBe(false);

    expect(await db('sales_rollup').first('*')).toEqual(before);
  });
});

describe('sums that were copied into another database', () => {
  /** What a dump and its restore do to the row: its values stay, and another transaction has written it. */
  async function copyRow(): Promise<void> {
    const row = await db('sales_rollup').first<object>('*');
    await db('sales_rollup').delete();
    await db('sales_rollup').insert(row);
  }
  const hasSums = () => inSnapshot(db, async (trx) => (await getFrontier(trx)).hasSums);

  it.each([
    ['ahead', '900000000000'],
    ['behind', '2'],
  ])('do not count: its transactions may have been far %s', async (_, transactionId) => {
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
    expect(await countBeyondFrontier()).toBe(0);
    await expectExact();
    await sell(db);
    await expectExact();
    await rollUpSales(db);
    await expectExact();
  });

  it('count where the table was only written anew', async () => {
    await sell(db);
    await rollUpSales(db);

    await db.raw('vacuum full sales_rollup');
    await db.raw('vacuum freeze sales_rollup');

    expect(await hasSums()).toBe(true);
    expect(await countBeyondFrontier()).toBe(0);
    await expectExact();
  });
});

import { rebuildSales, rollUpSales } from '../../../src/sales/analytics/sales-rollup';
import { verifySales } from '../../../src/sales/analytics/sales-verification';
import type { Database } from '../../../src/base/db/database';
import { createTestDatabase } from '../../support/databases';
import { figuresOfOneMoment, salesTables, aSale, sell } from '../../support/sales';
import { eventually } from '../../support/harness';

const partners = ['Acme', 'Birch & Sons', 'Cedar'];
const tables = ['order_items', 'orders', ...salesTables];

let db: Database;
beforeAll(async () => {
  ({ db } = await createTestDatabase());
});

/** Three orders that are in the sums, two of one partner and day, and one that is not. */
let sold: number;
beforeEach(async () => {
  for (const table of tables) await db(table).delete();
  sold = await sell(db);
  await sell(db, { ...aSale, lines: [...aSale.lines, { price: '7', quantity: 2 }] });
  await sell(db, { ...aSale, partner: 'Birch & Sons', currency: 'JPY', minutes: -1 });
  await rollUpSales(db);
  await sell(db, { ...aSale, partner: 'Cedar' });
});

async function expectExact(): Promise<void> {
  const { served, direct } = await figuresOfOneMoment(db, [null, ...partners], [undefined, 'EUR', 'JPY']);
  expect(served).toEqual(direct);
}

/** Roll-ups do not change correct figures. */
async function expectExactForGood(): Promise<void> {
  await expectExact();
  await rollUpSales(db);
  await expectExact();
  await rollUpSales(db);
  await expectExact();
  await sell(db);
  await rollUpSales(db);
  await expectExact();
  expect(await verifySales(db)).toEqual([]);
  expect(await db('sales_changes')).toEqual([]);
}

const addItem = `
  insert into order_items (order_id, product_id, sku, product_name, quantity, unit_price, line_total)
  select max(order_id), 1, 'LATE', 'Late', 2, 0.5, 1 from orders where partner_name = 'Acme'`;

/** Copies orders as from another database: first all orders, then all items. */
const importOrders = (transactionId: string) => [
  `insert into orders (order_id, partner_name, currency, total_amount, created_at, transaction_id)
   overriding system value
   values (9001, 'Acme', 'EUR', 7, now(), '${transactionId}'), (9002, 'Cedar', 'EUR', 7, '2025-03-01', '${transactionId}')`,
  `insert into order_items (order_id, product_id, sku, product_name, quantity, unit_price, line_total)
   values (9001, 1, 'OLD', 'Old', 1, 7, 7), (9002, 1, 'OLD', 'Old', 7, 1, 7)`,
];

/** Manual changes, in one transaction or several. */
const changes: [what: string, transactions: string[]][] = [
  ['the quantity of an item', ['update order_items set quantity = 5, line_total = unit_price * 5']],
  [
    'the price of an item',
    [`update order_items set unit_price = 2, line_total = 2 * quantity where sku = 'TENT-2'`],
  ],
  ['an item that goes', ['delete from order_items where unit_price = 7']],
  ['an item that comes to an order', [addItem]],
  ['an item that goes to another order', ['update order_items set order_id = :sold']],
  [
    'a deleted order',
    ['delete from order_items where order_id = :sold; delete from orders where order_id = :sold'],
  ],
  [
    'deleted orders of one partner, all of them',
    [
      `delete from order_items using orders where orders.order_id = order_items.order_id and partner_name = 'Acme'`,
      `delete from orders where partner_name = 'Acme'`,
    ],
  ],
  ['an order moved to another partner', [`update orders set partner_name = 'Cedar' where order_id = :sold`]],
  ['orders that go to another day', [`update orders set created_at = created_at - interval '40 days'`]],
  ['an order that gets another currency', [`update orders set currency = 'JPY' where order_id = :sold`]],
  ['orders with the id of a future transaction', [`update orders set transaction_id = '900000000000'`]],
  ['orders that get a transaction of long ago', [`update orders set transaction_id = '2'`]],
  ['tables that are emptied', ['truncate orders, order_items']],
  ['items that are emptied', ['truncate order_items']],
  ['orders that come with a transaction that is yet to come', importOrders('900000000000')],
  ['orders that come with a transaction of long ago', importOrders('2')],
];

async function change(transactions: string[], settings = ''): Promise<void> {
  for (const sql of transactions) {
    await db.transaction((trx) => trx.raw(`${settings} ${sql.replaceAll(':sold', String(sold))}`));
  }
}

describe('sales figures stay exact', () => {
  it.each(changes)('after a manual change: %s', async (_, transactions) => {
    await change(transactions);

    await expectExactForGood();
  });

  it.each(changes.filter(([what]) => !what.includes('emptied')))(
    'before and after a manual change is committed: %s',
    async (_, [sql, ...more]) => {
      const trx = await db.transaction();
      await trx.raw(sql!.replaceAll(':sold', String(sold)));

      await expectExact();
      await sell(db, { ...aSale, partner: 'Cedar' });
      await rollUpSales(db);
      await expectExact();
      await trx.commit();
      await change(more);

      await expectExactForGood();
    },
  );

  it('with session_replication_role = replica', async () => {
    // The orders of one copy suffice: they have numbers.
    for (const [, transactions] of changes.slice(0, -1)) {
      await change(transactions, 'set local session_replication_role = replica;');
      await expectExact();
    }
    await expectExactForGood();
  });

  it('after the roll-up row was removed', async () => {
    await db('sales_rollup').delete();

    await expectExactForGood();
  });

  it('after new orders, which record no changed day', async () => {
    await sell(db, { ...aSale, lines: [...aSale.lines, ...aSale.lines] });

    expect(await db('sales_changes')).toEqual([]);
  });
});

/** Rolls up until figures are exact, at most a minute of the service's own roll-ups. */
const expectExactSoon = () =>
  eventually('figures are exact', async () => {
    await rollUpSales(db);
    await expectExact();
  });

const switchTriggers = (state: string) =>
  `alter table orders ${state} trigger all; alter table order_items ${state} trigger all`;

describe('the periodic verification corrects sales figures', () => {
  afterEach(async () => {
    await db.raw(switchTriggers('enable'));
    for (const trigger of ['stamp', 'note_update', 'note_delete', 'note_truncate']) {
      await db.raw(`alter table orders enable always trigger orders_${trigger}`);
      if (trigger !== 'stamp') continue;
      for (const event of ['insert', 'update', 'delete', 'truncate']) {
        await db.raw(`alter table order_items enable always trigger order_items_note_${event}`);
      }
    }
  });

  it.each(changes)('after a change with disabled triggers: %s', async (_, transactions) => {
    await db.raw(switchTriggers('disable'));
    await change(transactions);
    await db.raw(switchTriggers('enable'));

    await expectExactSoon();
    await expectExactForGood();
  });

  it('after changes while triggers stay disabled', async () => {
    await db.raw(switchTriggers('disable'));
    await rollUpSales(db);
    await db.raw('delete from order_items where unit_price = 7; select pg_stat_force_next_flush()');

    await expectExactSoon();
  });

  it.each(salesTables.slice(0, 3))('after sums were deleted: %s', async (table) => {
    await db.raw(`truncate ${table}`);

    await expectExactSoon();
    await expectExactForGood();
  });

  it('within a day after sums were changed manually', async () => {
    await rollUpSales(db);
    await db('sales_by_partner').update({ units_sold: 1_000 });
    await db('sales_by_day').insert({
      sales_day: '2020-02-02',
      currency: 'EUR',
      units_sold: 1,
      total_sales: '1',
    });
    await db('sales_verification').update({ verified_at: db.raw("now() - interval '25 hours'") });

    const { verification } = await rollUpSales(db);

    expect(verification!.differences).toHaveLength(4);
    await expectExactForGood();
  });

  it('verifies only if row counts or triggers changed', async () => {
    await expectExactSoon();
    const verification = () => db('sales_verification').first<object>('*');
    const before = await eventually('nothing is new to it', async () => {
      await db('sales_verification').update({ verified_at: db.raw("now() - interval '1 hour'") });
      const known = await verification();
      await rollUpSales(db);
      expect(await verification()).toEqual(known);
      return known;
    });

    await sell(db);
    await rollUpSales(db);

    expect(await verification()).toEqual(before);
  });
});

describe('verifySales', () => {
  it('returns no difference if the figures are right, for any content of the sums', async () => {
    expect(await verifySales(db)).toEqual([]);
    await db.raw('delete from order_items where unit_price = 7');
    expect(await verifySales(db)).toEqual([]);
    await db('sales_rollup').delete();
    expect(await verifySales(db)).toEqual([]);
  });

  it('returns the wrong sums, and rebuildSales corrects them', async () => {
    const day = new Date().toISOString().slice(0, 10);
    await db('sales_by_partner').where('partner_name', 'Acme').update({ units_sold: 9 });
    await db('sales_by_partner_and_day').where('partner_name', 'Birch & Sons').delete();
    await db('sales_by_day').insert({
      sales_day: '2020-02-02',
      currency: 'EUR',
      units_sold: 1,
      total_sales: '1',
    });
    await db('sales_by_product_and_month').where('partner_name', 'Birch & Sons').delete();
    const expected = [
      {
        ...{ partner_name: 'Acme', product_id: null, sales_period: null, currency: 'EUR' },
        ...{ counted_units: 9, counted_sales: '20.030', actual_units: 8, actual_sales: '20.030' },
      },
      {
        ...{ partner_name: 'Birch & Sons', product_id: null, sales_period: '2025-12-31', currency: 'JPY' },
        ...{ counted_units: null, counted_sales: null, actual_units: 3, actual_sales: '3.015' },
      },
      {
        ...{ partner_name: null, product_id: null, sales_period: '2020-02-02', currency: 'EUR' },
        ...{ counted_units: 1, counted_sales: '1', actual_units: null, actual_sales: null },
      },
      {
        ...{ partner_name: 'Birch & Sons', product_id: 1, sales_period: '2025-12', currency: 'JPY' },
        ...{ counted_units: null, counted_sales: null, actual_units: 3, actual_sales: '3.015' },
      },
    ];
    expect(day).not.toBe('2025-12-31');

    expect(await verifySales(db)).toEqual(expected);
    expect(await rebuildSales(db)).toEqual(expected);

    expect(await verifySales(db)).toEqual([]);
    await expectExactForGood();
  });
});

import { createTestDatabase, databaseUrl } from '../../support/databases';
import { runAdmin } from '../../support/commands';
import { rollUpSales } from '../../../src/analytics/sales-rollup';
import { sell } from '../../support/sales';

describe('the command that verifies and rebuilds the sales figures', () => {
  it('shows differences, rebuilds the sums, and enables triggers that a restore has disabled', async () => {
    const { db, address } = await createTestDatabase();
    const sales = (command: string) => runAdmin({ DATABASE_URL: databaseUrl(address) }, 'sales', command);
    await sell(db);
    await rollUpSales(db);
    const right = { code: 0, stdout: '', stderr: 'The sales figures agree with the orders.\n' };
    expect(await sales('verify')).toEqual(right);

    await db('sales_by_partner').update({ units_sold: 9 });
    await db.raw('alter table orders disable trigger all; alter table orders enable trigger all');

    const triggers = 'orders_note_delete, orders_note_truncate, orders_note_update, orders_stamp';
    const wrong = await sales('verify');
    expect(wrong).toMatchObject({
      code: 1,
      stderr:
        `Triggers that are not ENABLE ALWAYS: ${triggers}. sales rebuild enables them.\n` +
        'The sales figures differ from the orders: npm run --silent admin -- sales rebuild.\n',
    });
    expect(wrong.stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['PARTNER', 'DAY', 'CURRENCY', 'UNITS SHOWN', 'UNITS ORDERED', 'SALES SHOWN', 'SALES ORDERED'],
      ['Acme', '(all)', 'EUR', '9', '3', '3.015', '3.015'],
      [''],
    ]);
    expect(await sales('rebuild')).toEqual({
      code: 0,
      stdout: wrong.stdout,
      stderr: `The sums are rebuilt. Wrong before: 1.\nTriggers set to ENABLE ALWAYS: ${triggers}.\n`,
    });
    expect(await sales('verify')).toEqual(right);
  });
});

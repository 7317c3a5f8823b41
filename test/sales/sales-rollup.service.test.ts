import { rollUpSales } from '../../src/sales/analytics/sales-rollup';
import { startSalesRollup } from '../../src/sales/analytics/sales-rollup.service';
import type { DatabaseAddress } from '../../src/base/db/database';
import { createLog } from '../../src/base/log';
import { afterFile, eventually } from '../support/harness';
import { closedPort } from '../support/network';
import { startTestService } from '../support/service';

/** Starts the periodic tasks of a process. @returns its log lines */
function start(address: DatabaseAddress): string[] {
  const logged: string[] = [];
  const rollup = startSalesRollup(address, createLog('warn', { write: (line) => void logged.push(line) }));
  afterFile(() => rollup.stop());
  return logged;
}

it('the periodic roll-up adds orders to the sums, also with several processes', async () => {
  const { api, db, address } = await startTestService();
  await api.loadFeed('sku,product_name,price\nTENT-2,Tent,189.90\n');
  await api.post('/orders', { partner_name: 'Acme', items: [{ product_id: 'PR00001', quantity: 2 }] });

  const logs = [start(address), start(address)];

  await eventually('the order is in the sums', async () => {
    expect(await db('sales_by_partner').select('partner_name', 'units_sold', 'total_sales')).toEqual([
      { partner_name: 'Acme', units_sold: 2, total_sales: '379.8000' },
    ]);
  });
  expect(logs.flat()).toEqual([]);
});

it('the roll-up corrects wrong sums and logs that', async () => {
  const { api, db, address } = await startTestService();
  await api.loadFeed('sku,product_name,price\nTENT-2,Tent,189.90\n');
  await api.post('/orders', { partner_name: 'Acme', items: [{ product_id: 'PR00001', quantity: 2 }] });
  await rollUpSales(db);
  await db('sales_by_partner').update({ units_sold: 3 });
  await db('sales_verification').delete();

  const logged = start(address);

  await eventually('it is logged', () => logged.length > 0);
  expect(await db('sales_by_partner').pluck('units_sold')).toEqual([2]);
  expect(logged.map((line) => JSON.parse(line) as object)).toEqual([
    expect.objectContaining({
      level: 40,
      msg: 'sales sums corrected',
      count: 1,
      first: expect.objectContaining({ partner_name: 'Acme', counted_units: 3, actual_units: 2 }) as object,
    }),
  ]);
});

it('an unreachable database is logged, and the roll-up keeps running', async () => {
  const logged = start({ host: '127.0.0.1', port: await closedPort(), user: 'x', database: 'x' });

  await eventually('it is logged', () => logged.length > 0);
  expect(JSON.parse(logged[0]!)).toMatchObject({ level: 40, msg: 'sales rollup failed' });
});

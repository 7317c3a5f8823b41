import { randomBytes } from 'node:crypto';
import { openDatabase } from '../../src/base/db/database';
import { distributeProducts } from '../../src/operation/database/distribution/distribute';
import { createLog } from '../../src/base/log';
import { administer, createTestDatabase } from '../support/databases';
import { changeProducts } from '../support/distributed-writes';

const log = createLog('silent');

it('a database user that may write products may still write them after they are distributed', async () => {
  const { db, address } = await createTestDatabase();
  const account = `account_${randomBytes(8).toString('hex')}`;
  await administer(`create role ${account} login`);
  const own = openDatabase({ ...address, user: account }, { applicationName: 'test', connectionsMax: 2 });
  try {
    await distributeProducts(db, 0, { log });
    await db.raw(`grant select, insert, update, delete on all tables in schema public to ${account};
      grant usage on all sequences in schema public to ${account}`);
    await distributeProducts(db, 4, { log });
    await db.raw("insert into partners (partner_name) values ('Acme')");

    await changeProducts(own, (trx) =>
      trx('products').insert({ feed_id: 1, partner_id: 1, sku: 'A', product_name: 'Tent' }),
    );

    expect(await own('products').select('product_id', 'sku')).toEqual([{ product_id: 1, sku: 'A' }]);
    expect(await own('product_blocks').pluck('partner_id')).toEqual([1]);
  } finally {
    await own.destroy();
    await db.raw(`drop owned by ${account}`);
    await administer(`drop role ${account}`);
  }
});

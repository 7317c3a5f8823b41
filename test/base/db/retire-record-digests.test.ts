import * as logManualChanges from '../../../migrations/20261122110100_log_manual_changes';
import * as retireRecordDigests from '../../../migrations/20261122110000_retire_record_digests';
import type { Knex } from 'knex';
import { createTestDatabase } from '../../support/databases';
import { eventually } from '../../support/harness';

/** A database with the schema of release 1.2.0, a partner, a product and its digest. */
async function openAsRelease(): Promise<Knex> {
  const { db } = await createTestDatabase();
  await logManualChanges.down(db);
  await retireRecordDigests.down(db);
  await db('partners').insert({ partner_name: 'Acme' });
  await db.raw(`begin; set local partner_catalog.run = 'on';
    insert into products (feed_id, partner_id, sku, product_name) select 1, partner_id, 'A', 'Tent' from partners; commit`);
  await saveDigests(db, 0);
  return db;
}

const saveDigests = (db: Knex, blockNumber: number) =>
  db.raw(
    `insert into record_digests (partner_id, block_number, records, skus) select partner_id, ?, '\\x00', '\\x00' from partners
     on conflict (partner_id, block_number) do update set records = excluded.records`,
    [blockNumber],
  );

const inTransaction = (db: Knex, migration: Knex.Migration) =>
  db.transaction(async (trx) => {
    await migration.up(trx);
  });

describe('a database of release 1.2.0', () => {
  it('loses the digests of that release, and accepts no new ones', async () => {
    const db = await openAsRelease();

    await inTransaction(db, retireRecordDigests);
    await inTransaction(db, logManualChanges);

    expect(await db('record_digests').select()).toEqual([]);
    await saveDigests(db, 1);
    expect(await db('record_digests').select()).toEqual([]);
  });

  it('is migrated after a run of that release in progress has ended, without a deadlock', async () => {
    const db = await openAsRelease();
    const run = await db.transaction();
    await run.raw('select block_number from record_digests for update');
    await run.raw("set local partner_catalog.run = 'on'; update products set product_name = 'Lamp'");

    const migrated = inTransaction(db, retireRecordDigests).then(() => inTransaction(db, logManualChanges));
    await eventually('the migration waits', async () => {
      const { rows } = await db.raw<{ rows: object[] }>(
        "select from pg_locks where not granted and relation = 'record_digests'::regclass",
      );
      return rows.length === 1;
    });
    await saveDigests(run, 0);
    await saveDigests(run, 1);
    await run.commit();
    await migrated;

    expect(await db('record_digests').select()).toEqual([]);
    expect(await db('products').pluck('product_name')).toEqual(['Lamp']);
  });

  it('deletes digests at a manual change again after a rollback of the migrations', async () => {
    const db = await openAsRelease();

    await db.raw("update products set product_name = 'Lamp'");

    expect(await db('record_digests').select()).toEqual([]);
  });
});

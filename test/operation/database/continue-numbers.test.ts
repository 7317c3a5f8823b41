import { continueNumbers } from '../../../src/operation/database/continue-numbers';
import { createEmptyDatabase, createTestDatabase } from '../../support/databases';
import { openDatabase, type Database } from '../../../src/base/db/database';
import { afterFile } from '../../support/harness';

const lastOf = async (db: Database, sequence: string) => {
  const [row] = await db('pg_sequences').where('sequencename', sequence).select('last_value');
  return Number((row as { last_value: string | null }).last_value);
};

describe('continueNumbers', () => {
  it('moves all numbers on by the margin, and feeds from the higher of database and bucket', async () => {
    const { db } = await createTestDatabase();
    await db.raw("select setval('products_product_id_seq', 700), setval('feeds_feed_id_seq', 5)");

    expect(await continueNumbers(db, 3, 10)).toBe(15);
    expect(await continueNumbers(db, 20, 10)).toBe(30);
    expect(await lastOf(db, 'products_product_id_seq')).toBe(720);
    expect(await lastOf(db, 'feeds_feed_id_seq')).toBe(30);
    expect(await db('omitted_feed_numbers').select().orderBy('first_id')).toEqual([
      { first_id: 6, last_id: 15 },
      { first_id: 16, last_id: 30 },
    ]);
  });

  it('moves the numbers of runs, which are far apart, on by as many runs, and keeps them exact', async () => {
    const { db } = await createTestDatabase();
    const first = 1_000_000_000_000;

    await continueNumbers(db, 0, 10);
    expect(await lastOf(db, 'run_ids')).toBe(first + 9 * 10_000_000);
    await continueNumbers(db, 0, 10);
    expect(await lastOf(db, 'run_ids')).toBe(first + 19 * 10_000_000);
    await continueNumbers(db, 0, 999_999_999);
    expect(Number.isSafeInteger(await lastOf(db, 'run_ids'))).toBe(true);
  });

  it('ends the blocks of product numbers that partners of distributed products have begun', async () => {
    const { db } = await createTestDatabase();
    await db.raw(`
      create table product_blocks (first_id bigint, last_id bigint, partner_id bigint, next_id bigint);
      insert into product_blocks values (1, 1024, 1, 500), (1025, 2048, 2, 2049);
    `);

    await continueNumbers(db, 0, 10);

    expect(await db('product_blocks').pluck('next_id').orderBy('first_id')).toEqual([1025, 2049]);
  });

  it('does nothing in a database without tables', async () => {
    const db = openDatabase(await createEmptyDatabase(), { applicationName: 'test', connectionsMax: 1 });
    afterFile(() => db.destroy());

    expect(await continueNumbers(db, 7, 10)).toBe(0);
  });
});

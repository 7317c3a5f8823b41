import { openDatabase, queryRows, type Database } from '../../src/db/database';
import { afterFile } from '../support/harness';
import { createTestDatabase } from '../support/databases';

const statement = 'select number from numbers where number = ?';

/** The plan by which the pool's connection executes the statement. */
async function planOf(db: Database): Promise<string> {
  const [prepared] = await queryRows<{ name: string }>(
    db,
    "select name from pg_prepared_statements where statement like '%numbers%'",
    [],
  );
  const rows = await queryRows<Record<string, string>>(db, `explain execute "${prepared!.name}"(7)`, []);
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}

describe('a prepared statement', () => {
  it('is planned again after two seconds: its table may have grown', async () => {
    const { db: observer, address } = await createTestDatabase();
    const options = { applicationName: 'prepares', connectionsMax: 1, preparesStatements: true };
    const db = openDatabase(address, options);
    afterFile(() => db.destroy());
    await observer.raw('create table numbers (number bigint primary key) with (autovacuum_enabled = off)');
    await observer.raw('insert into numbers values (7)');
    await observer.raw('analyze numbers');
    // PostgreSQL keeps a plan from the sixth execution on.
    for (let time = 0; time < 6; time++) await queryRows(db, statement, [7], true);
    await observer.raw('insert into numbers select generate_series(100, 50000)');
    await queryRows(db, statement, [7], true);
    expect(await planOf(db)).toContain('Seq Scan');

    const later = performance.now() + 2_000;
    const now = jest.spyOn(performance, 'now').mockReturnValue(later);
    const rows = await queryRows(db, statement, [7], true);
    now.mockRestore();

    expect(rows).toEqual([{ number: 7 }]);
    expect(await planOf(db)).toMatch(/Index (Only )?Scan|Bitmap/);
  });
});

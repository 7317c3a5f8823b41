import { runAdmin } from '../../support/commands';
import { createTestDatabase, databaseUrl } from '../../support/databases';
import { startTestService } from '../../support/service';
import type { Database } from '../../../src/base/db/database';

const csv = 'sku,product_name,price,currency\nA,Tent,5,EUR\nB,Lamp,NA,EUR\n';

/** The rows of all tables, as text, without server-specific values: the transaction id of orders. */
async function contentOf(db: Database): Promise<Record<string, string[]>> {
  const tables = await db('pg_tables').where('schemaname', 'public').orderBy('tablename').pluck('tablename');
  const content: Record<string, string[]> = {};
  for (const table of tables.filter((name) => !/migrations|^sales_changes$/.test(name))) {
    const { rows } = await db.raw<{ rows: { text: string }[] }>(
      'select cast(each as text) as text from ?? as each order by 1',
      [table],
    );
    content[table] = rows.map(({ text }) => (table === 'orders' ? text.replace(/,\d+\)$/, '') : text));
  }
  return content;
}

/** The next number of each sequence. */
async function sequencesOf(db: Database): Promise<unknown> {
  return db('pg_sequences')
    .where('schemaname', 'public')
    .whereNot('sequencename', 'like', '%migrations%')
    .orderBy('sequencename')
    .select('sequencename', 'last_value');
}

describe('the command that copies a database', () => {
  it('copies all tables and numbers into an empty one, and rejects one with data', async () => {
    const source = await startTestService();
    await source.api.loadFeed(csv);
    await source.api.loadFeed(csv.replace('5,', '6,'));
    await source.api.post('/orders', {
      partner_name: 'Acme Outdoor',
      items: [{ product_id: 'PR00001', quantity: 1 }],
    });
    const target = await createTestDatabase();
    const copy = () =>
      runAdmin(
        { DATABASE_URL: databaseUrl(target.address) },
        'database',
        'copy',
        databaseUrl(source.address),
      );

    const copied = await copy();

    expect(copied).toMatchObject({ code: 0, stderr: '' });
    expect(copied.stdout).toMatch(/^products +1$/m);
    expect(copied.stdout).toMatch(/^product_versions +1$/m);
    expect(await contentOf(target.db)).toEqual(await contentOf(source.db));
    expect(await sequencesOf(target.db)).toEqual(await sequencesOf(source.db));
    expect(await copy()).toEqual({
      code: 1,
      stdout: '',
      stderr: 'The database of the service has data (partners): use a new one.\n',
    });
  });

  it.each(['source', 'target'] as const)('rejects distributed products of the %s', async (which) => {
    const databases = { source: await createTestDatabase(), target: await createTestDatabase() };
    // With distributed products, the local table has this name.
    await databases[which].db.raw('create table products_local (like products)');
    await databases.source.db('partners').insert({ partner_name: 'Acme' });

    const refused = await runAdmin(
      { DATABASE_URL: databaseUrl(databases.target.address) },
      'database',
      'copy',
      databaseUrl(databases.source.address),
    );

    expect(refused).toEqual({
      code: 1,
      stdout: '',
      stderr:
        `The products of the database of ${which === 'source' ? 'FROM' : 'the service'} are distributed: make them local first ` +
        '(npm run migrate -- --distribute 0), or copy with the tools of Citus.\n',
    });
    expect(await databases.target.db('partners').select()).toEqual([]);
  });

  it('copies nothing from another schema', async () => {
    const source = await startTestService();
    await source.api.loadFeed(csv);
    await source.db.raw('alter table feeds add column of_a_later_version text');
    const target = await createTestDatabase();

    const refused = await runAdmin(
      { DATABASE_URL: databaseUrl(target.address) },
      'database',
      'copy',
      databaseUrl(source.address),
    );

    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/^The schemas of the two databases differ: migrate FROM [^\n]+\n$/);
    expect(await target.db('partners').select()).toEqual([]);
  });
});

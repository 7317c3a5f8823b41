import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runAdmin } from '../../support/commands';
import { createTestDatabase, databaseUrl } from '../../support/databases';
import { createTestFolder } from '../../support/harness';
import { startTestService } from '../../support/service';
import type { Database } from '../../../src/base/db/database';

const csv = 'sku,product_name,price,currency\nA,Tent,5,EUR\nB,Lamp,NA,EUR\n';

/** The rows of all tables, as text, without server-specific values: the transaction id of orders. */
async function contentOf(db: Database): Promise<Record<string, string[]>> {
  const tables = await db('pg_tables').where('schemaname', 'public').orderBy('tablename').pluck('tablename');
  const content: Record<string, string[]> = {};
  for (const table of tables.filter((name) => !/migrations|^sales_changes$|^database_identity$/.test(name))) {
    const { rows } = await db.raw<{ rows: { text: string }[] }>(
      'select cast(each as text) as text from ?? as each order by 1',
      [table],
    );
    content[table] = rows.map(({ text }) => (table === 'orders' ? text.replace(/,\d+\)$/, '') : text));
  }
  return content;
}

/** The next number of each sequence. */
async function sequencesOf(db: Database): Promise<{ sequencename: string; last_value: string | null }[]> {
  return db('pg_sequences')
    .where('schemaname', 'public')
    .whereNot('sequencename', 'like', '%migrations%')
    .orderBy('sequencename')
    .select('sequencename', 'last_value');
}

describe('the command that prepares a restored database', () => {
  it('moves all numbers on, feeds from the highest one of the bucket, and makes the bucket that of another database', async () => {
    const { db, address } = await createTestDatabase();
    const env = { DATABASE_URL: databaseUrl(address), DATA_DIR: createTestFolder() };
    const identity = () => db('database_identity').pluck<string[]>('identity');
    expect(await runAdmin(env, 'objects', 'clean', '--adopt')).toMatchObject({ code: 0 });
    const [before, numbers] = [await identity(), await sequencesOf(db)];
    const folder = join(env.DATA_DIR, 'objects/local/raw/partners/acme/feeds/FD00123');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'feed.csv'), csv);

    expect(await runAdmin(env, 'database', 'after-restore', '--margin', '10')).toEqual({
      code: 0,
      stdout:
        'Numbers of feeds continue after FD00133.\n' +
        'The database has a new identity. It removes no file of a bucket until: npm run --silent admin -- objects clean --adopt.\n',
      stderr: '',
    });

    expect(await identity()).not.toEqual(before);
    const moved = (await sequencesOf(db)).filter(({ sequencename }) => sequencename !== 'run_ids');
    for (const { sequencename, last_value } of moved) {
      const last = Number(numbers.find((each) => each.sequencename === sequencename)!.last_value ?? 0);
      expect([sequencename, Number(last_value)]).toEqual([
        sequencename,
        sequencename === 'feeds_feed_id_seq' ? 133 : last + 10,
      ]);
    }
    expect(await runAdmin(env, 'objects', 'clean')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`belongs to another database ("${address.database}", since 20`),
    });
  });

  it.each(['0', '1.5', 'many'])('rejects --margin %s', async (margin) => {
    const { code, stderr } = await runAdmin({}, 'database', 'after-restore', '--margin', margin);

    expect(code).toBe(2);
    expect(stderr).toContain('Wrong --margin: it must be a whole number from 1 to 999999999.');
  });
});

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
    expect(copied.stdout).not.toContain('database_identity');
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

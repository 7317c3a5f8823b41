import type { Knex } from 'knex';
import * as prepareProducts from '../../../migrations/20261123010000_prepare_products';
import * as countPartners from '../../../migrations/20261123080000_count_partners';
import { contract, expand, migrations, type MarkedMigration } from '../../../migrations';
import { openDatabase, type Database, type DatabaseAddress } from '../../../src/base/db/database';
import { onlyLock, takeLock } from '../../../src/base/db/locks';
import {
  currentSchema,
  isOlder,
  migrateToLatest,
  migratorConfigs,
  missingMigrations,
  waitForMigrations,
  type KnownSchema,
} from '../../../src/operation/database/migrate';
import { afterFile, eventually } from '../../support/harness';
import { createEmptyDatabase } from '../../support/databases';

const catalogTables = [
  'api_keys',
  'catalog_versions',
  'database_identity',
  'digest_blocks',
  'feeds',
  'idempotency_keys',
  'manual_changes',
  'omitted_feed_numbers',
  'order_items',
  'orders',
  'partner_attention',
  'partner_counts',
  'partner_formats',
  'partners',
  'product_horizons',
  'product_versions',
  'product_words',
  'products',
  'record_digests',
  'removed_objects',
  'retention',
  'row_issues',
  'runs',
  'sales_by_day',
  'sales_by_partner',
  'sales_by_partner_and_day',
  'sales_by_product',
  'sales_by_product_and_day',
  'sales_by_product_and_month',
  'sales_changes',
  'sales_rollup',
  'sales_verification',
  'schema_compatibility',
  'search_backlog',
  'source_digests',
  'source_fetches',
  'sources',
  'stale_partners',
  'submission_jobs',
  'validation_jobs',
  'webhook_deliveries',
  'webhook_endpoints',
  'webhook_outcomes',
];

function open(address: DatabaseAddress): Database {
  const db = openDatabase(address, { applicationName: 'test', connectionsMax: 3 });
  afterFile(() => db.destroy());
  return db;
}

async function openEmpty(encoding?: string): Promise<Database> {
  return open(await createEmptyDatabase(encoding));
}

/** The tables of the schema, except the tables of knex. */
async function tables(db: Database): Promise<string[]> {
  const names: string[] = await db('pg_tables').where('schemaname', 'public').pluck('tablename');
  return names.filter((name) => !name.includes('migrations')).sort();
}

/** Columns, constraints and indexes, as text that can be compared. */
async function schema(db: Database): Promise<string[]> {
  const { rows } = await db.raw<{ rows: { line: string }[] }>(`
    select format('%s.%s %s %s %s', table_name, column_name, data_type, is_nullable, column_default) as line
    from information_schema.columns where table_schema = 'public'
    union all
    select format('%s %s', conname, pg_get_constraintdef(oid)) from pg_constraint
    where connamespace = 'public'::regnamespace
    union all
    select indexdef from pg_indexes where schemaname = 'public'
    order by line
  `);
  return rows.map(({ line }) => line);
}

/** The names of the executed migrations, in order. */
async function migrationsRun(db: Database): Promise<string[]> {
  const names = (table: string): Promise<string[]> => db(table).orderBy('id').pluck('name');
  return [...(await names('knex_migrations')), ...(await names('schema_migrations'))];
}

describe('migrateToLatest', () => {
  it('creates the schema in an empty database', async () => {
    const db = await openEmpty();

    await migrateToLatest(db);

    expect(await tables(db)).toEqual(catalogTables);
    expect(await migrationsRun(db)).toEqual(Object.keys(migrations));
  });

  it('changes nothing the second time, and keeps the data', async () => {
    const db = await openEmpty();
    await migrateToLatest(db);
    await db('partners').insert({ partner_name: 'Acme' });
    const before = await schema(db);

    await migrateToLatest(db);

    expect(await schema(db)).toEqual(before);
    expect(await migrationsRun(db)).toEqual(Object.keys(migrations));
    expect(await db('partners').pluck('partner_name')).toEqual(['Acme']);
  });

  it('builds the indexes of a table with products concurrently, without a wait for its own lock', async () => {
    const db = await openEmpty();
    await migrateToLatest(db);
    // The second index needs a column of the first migration.
    const undone = ['20261123010000_prepare_products', '20261123080000_count_partners'];
    await countPartners.down(db);
    await prepareProducts.down(db);
    await db('schema_migrations').whereIn('name', undone).delete();
    const before = await missingMigrations(db);
    await db('products').insert({ feed_id: 1, partner_id: 1, sku: 'A', product_name: 'Tent' });

    await migrateToLatest(db);

    expect(before).toEqual(undone);
    expect(await missingMigrations(db)).toEqual([]);
  });

  it('is safe to call concurrently from several processes', async () => {
    const address = await createEmptyDatabase();
    const pools = [1, 2, 3, 4, 5].map(() => open(address));

    await Promise.all(pools.map((db) => migrateToLatest(db)));

    expect(await tables(pools[0]!)).toEqual(catalogTables);
    expect(await migrationsRun(pools[0]!)).toEqual(Object.keys(migrations));
  });

  it('waits for another process without an open transaction', async () => {
    const address = await createEmptyDatabase();
    const [other, waiting] = [open(address), open(address)];
    const migrating = await other.transaction();
    await takeLock(migrating, 'migration', onlyLock.migration);
    const given = new AbortController();
    const waits = migrateToLatest(waiting, given.signal);

    await eventually('it stands outside of one', async () => {
      const { rows } = await other.raw<{ rows: unknown[] }>(
        "select from pg_stat_activity where datname = current_database() and state = 'idle' and query ilike 'commit%'",
      );
      return rows.length === 1;
    });

    given.abort();
    await expect(waits).rejects.toThrow();
    await migrating.rollback();
  });

  describe('after a process died during its migration', () => {
    const isLocked = (db: Database): Promise<number[]> => db('knex_migrations_lock').pluck('is_locked');

    it('before the first migration, the next start executes all', async () => {
      const db = await openEmpty();
      await migrateToLatest(db);
      await rollBack(db);
      await db('knex_migrations_lock').update({ is_locked: 1 });

      await migrateToLatest(db);

      expect(await tables(db)).toEqual(catalogTables);
      expect(await isLocked(db)).toEqual([0]);
    });

    it('after the last migration, the next start succeeds', async () => {
      const db = await openEmpty();
      await migrateToLatest(db);
      await db('knex_migrations_lock').update({ is_locked: 1 });

      await migrateToLatest(db);

      expect(await isLocked(db)).toEqual([0]);
    });

    it('several processes can start concurrently', async () => {
      const address = await createEmptyDatabase();
      const pools = [1, 2, 3].map(() => open(address));
      await migrateToLatest(pools[0]!);
      await rollBack(pools[0]!);
      await pools[0]!('knex_migrations_lock').update({ is_locked: 1 });

      await Promise.all(pools.map((db) => migrateToLatest(db)));

      expect(await tables(pools[0]!)).toEqual(catalogTables);
    });
  });

  describe('with a migration that fails', () => {
    const broken = '29990101000000_broken';
    beforeEach(() => {
      migrations[broken] = expand({
        up: async (trx: Knex) => {
          await trx.raw('create table half_done (id int)');
          await trx.raw('select 1 / 0');
        },
        down: () => Promise.resolve(),
      });
    });
    afterEach(() => {
      Reflect.deleteProperty(migrations, broken);
    });

    it('throws and rolls it back, so that a corrected one can run', async () => {
      const db = await openEmpty();

      await expect(migrateToLatest(db)).rejects.toThrow('division by zero');

      expect(await tables(db)).not.toContain('half_done');
      migrations[broken]!.up = (trx: Knex) => trx.raw('create table whole (id int)');
      await migrateToLatest(db);
      expect(await tables(db)).toContain('whole');
    });
  });

  describe('a database that is not UTF-8', () => {
    it.each(['SQL_ASCII', 'LATIN1'])(
      'is rejected with a readable message, unchanged: %s',
      async (encoding) => {
        const db = await openEmpty(encoding);

        await expect(migrateToLatest(db)).rejects.toThrow(
          new Error(`The database must have the encoding UTF8; it has ${encoding}.`),
        );

        const names: string[] = await db('pg_tables').where('schemaname', 'public').pluck('tablename');
        expect(names).toEqual([]);
      },
    );
  });
});

const [addNote, dropNote] = ['29990101000000_add_note', '29990201000000_drop_note'];

/** A version with an expand step, and a later one with the contract step for it. */
const expanded: KnownSchema = {
  version: '99.1.0',
  migrations: {
    ...migrations,
    [addNote]: expand({
      up: (trx) => trx.raw('alter table partners add column note text'),
      down: (trx) => trx.raw('alter table partners drop column note'),
    }),
  },
};
const contracted: KnownSchema = {
  version: '99.2.0',
  migrations: {
    ...expanded.migrations,
    [dropNote]: contract(
      {
        up: (trx) => trx.raw('alter table partners drop column note'),
        down: (trx) => trx.raw('alter table partners add column note text'),
      },
      '99.1.0',
    ),
  },
};

describe('distributed products', () => {
  it('refuse a migration, and the message says how to migrate', async () => {
    const db = await openEmpty();
    await migrateToLatest(db);
    // With distributed products, the local table has this name.
    await db.raw('create table products_local (like products)');

    expect(await migrateToLatest(db)).toEqual([]);
    await expect(migrateToLatest(db, undefined, expanded)).rejects.toThrow(
      `The products are distributed, and migrations are for local ones (missing: ${addNote}). With the version that has run until now, ` +
        'call npm run migrate -- --distribute 0; then migrate with this one, and distribute the products again.',
    );

    expect(await missingMigrations(db, expanded)).toEqual([addNote]);
    await db.raw('drop table products_local');
    await migrateToLatest(db, undefined, expanded);
    expect(await missingMigrations(db, expanded)).toEqual([]);
  });
});

describe('a schema that a newer version has migrated', () => {
  const tooNew = (version: string) =>
    'The database has the schema of a newer version: start version 99.1.0 of the service or later; ' +
    `this is ${version}.`;

  it('is accepted by an older version after expand steps, whose names are reported', async () => {
    const db = await openEmpty();
    await migrateToLatest(db, undefined, expanded);

    expect(await migrateToLatest(db)).toEqual([addNote]);
    expect(await waitForMigrations(db, () => undefined)).toEqual([addNote]);
    expect(await missingMigrations(db)).toEqual([]);
    expect(await migrateToLatest(db, undefined, expanded)).toEqual([]);
  });

  it('stays the same when the older and then the newer version migrates it', async () => {
    const db = await openEmpty();
    await migrateToLatest(db, undefined, expanded);
    await db('partners').insert({ partner_name: 'Acme', note: 'kept' });
    const before = await schema(db);

    await migrateToLatest(db);
    await migrateToLatest(db, undefined, expanded);

    expect(await schema(db)).toEqual(before);
    expect(await db('partners').pluck('note')).toEqual(['kept']);
  });

  it('gets a migration that only the older version has', async () => {
    const db = await openEmpty();
    const { [addNote]: _newer, ...others } = expanded.migrations;
    await migrateToLatest(db, undefined, { version: '99.3.0', migrations: others });
    expect(await missingMigrations(db, expanded)).toEqual([addNote]);

    expect(await migrateToLatest(db, undefined, expanded)).toEqual([]);

    expect(await missingMigrations(db, expanded)).toEqual([]);
  });

  it('is rejected by an older version after an incompatible contract step, unchanged', async () => {
    const db = await openEmpty();
    await migrateToLatest(db, undefined, contracted);
    const before = await schema(db);
    const error = new Error(tooNew(currentSchema.version));

    await expect(migrateToLatest(db)).rejects.toThrow(error);
    await expect(missingMigrations(db)).rejects.toThrow(error);
    await expect(waitForMigrations(db, () => undefined)).rejects.toThrow(error);
    expect(await schema(db)).toEqual(before);
  });

  it('is accepted after a contract step by a compatible version', async () => {
    const db = await openEmpty();
    await migrateToLatest(db, undefined, contracted);

    expect(await migrateToLatest(db, undefined, expanded)).toEqual([dropNote]);
    expect(await missingMigrations(db, contracted)).toEqual([]);
  });

  it('is rejected after a contract step by version 1.2.0 with a name that says why', async () => {
    const db = await openEmpty();
    await migrateToLatest(db, undefined, contracted);
    const known = Object.keys(migrations).filter((name) => name < '20261122090000');
    const migrationSource: Knex.MigrationSource<string> = {
      getMigrations: () => Promise.resolve(known),
      getMigrationName: (name) => name,
      getMigration: (name) => Promise.resolve(migrations[name]!),
    };

    await expect(db.migrate.latest({ migrationSource })).rejects.toThrow(
      'version 99.1.0 of the service, or later',
    );
  });

  it('keeps the highest version of several contract steps', async () => {
    const db = await openEmpty();
    const step = (table: string): Knex.Migration => ({
      up: (trx) => trx.raw(`create table ${table} ()`),
      down: (trx) => trx.raw(`drop table ${table}`),
    });
    const steps: Record<string, MarkedMigration> = {
      ...migrations,
      '29990101000000_a': contract(step('a'), '99.9.0'),
      '29990102000000_b': contract(step('b'), '99.10.0'),
      '29990103000000_c': contract(step('c'), '99.2.0'),
    };

    await migrateToLatest(db, undefined, { version: '99.11.0', migrations: steps });

    expect(await db('schema_compatibility').pluck('compatible_from')).toEqual(['99.10.0']);
  });
});

describe('the migrations', () => {
  it('can be rolled back with data, and repeated', async () => {
    const db = await openEmpty();
    await migrateToLatest(db);
    await db('partners').insert({ partner_name: 'Acme' });
    const before = await schema(db);

    await rollBack(db);
    expect(await tables(db)).toEqual([]);
    await migrateToLatest(db);

    expect(await schema(db)).toEqual(before);
    expect(await db('partners').pluck('partner_name')).toEqual([]);
  });

  it('run in the order of their names', () => {
    expect(Object.keys(migrations)).toEqual(Object.keys(migrations).sort());
  });

  it('have no contract step that is incompatible with the previous version', () => {
    const { version } = currentSchema;
    const tooEarly = Object.entries(migrations).filter(
      ([, migration]) => migration.kind === 'contract' && !isOlder(migration.compatibleFrom, version),
    );

    expect(tooEarly).toEqual([]);
  });
});

/** Undoes all migrations, the last one first. */
async function rollBack(db: Database): Promise<void> {
  for (const config of migratorConfigs(currentSchema).reverse()) await db.migrate.rollback(config, true);
}

import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { fillCatalog } from '../../../scripts/bench/catalog-data';
import {
  isDatabaseUnavailable,
  openDatabase,
  queryRows,
  type Database,
  type DatabaseAddress,
} from '../../../src/base/db/database';
import { raw, sql } from '../../../src/base/db/sql';
import { analyzeGrownTables } from '../../../src/operation/database/grown-tables';
import { migrateToLatest } from '../../../src/operation/database/migrate';
import type { Preparing } from '../../../src/base/db/prepared-statements';
import { resolveListingOrder } from '../../../src/catalog/products/products.checks';
import { listProducts } from '../../../src/catalog/products/products.listing';
import { findProducts } from '../../../src/catalog/products/products.repository';
import { createLog } from '../../../src/base/log';
import { afterFile, eventually } from '../../support/harness';
import { closedPort } from '../../support/network';
import { hasKeepingPgBouncer, hasPgBouncer, startPgBouncer, type PgBouncer } from '../../support/pgbouncer';
import { postgresVersions, TestServer } from '../../support/replicas';

/** A way to connect to PostgreSQL. */
type Way = 'directly' | 'through a pooler that passes names on' | 'through a pooler that keeps them';

/** Number of sessions behind a pooler: fewer than its clients. */
const sessions = 3;
const clients = 8;

const choices: Record<Way, string> = {
  directly: 'statements are prepared: no pooler stands before PostgreSQL',
  'through a pooler that passes names on': 'statements are not prepared: sessions do not keep them',
  'through a pooler that keeps them': 'statements are prepared: the pooler keeps them',
};

/** Servers and poolers that are available on this machine. */
const ways = (Object.keys(choices) as Way[]).filter(
  (way) =>
    way === 'directly' || (way === 'through a pooler that keeps them' ? hasKeepingPgBouncer : hasPgBouncer),
);

let server: TestServer;

async function startPooler(keptStatements: number): Promise<PgBouncer> {
  const pooler = await startPgBouncer(server.address, sessions, { keptStatements });
  afterFile(() => pooler.stop());
  return pooler;
}

async function addressOf(way: Way): Promise<DatabaseAddress> {
  if (way === 'directly') return server.address;
  const { address } = await startPooler(way === 'through a pooler that keeps them' ? 200 : 0);
  return { ...server.address, ...address };
}

/** Opens a pool like the request pool. `said`: its log messages. */
function openPool(
  address: DatabaseAddress,
  {
    preparesStatements = 'if kept',
    connectionsMax = clients,
  }: { preparesStatements?: Preparing; connectionsMax?: number } = {},
): { db: Database; said: string[] } {
  const said: string[] = [];
  const log = createLog('info', {
    write(line) {
      const { msg, reason } = JSON.parse(line) as { msg: string; reason: string };
      said.push(`${msg}: ${reason}`);
    },
  });
  const db = openDatabase(address, { applicationName: 'test', connectionsMax, preparesStatements, log });
  afterFile(() => db.destroy());
  return { db, said };
}

const look = sql`select number, note from numbers where number in (${7}, ${8})`;

/** Reads on all connections concurrently until `work` is done, and once more. */
async function readDuring(
  db: Database,
  work: () => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  let isOver = false;
  const read = async () => {
    for (let last = false; ; last = isOver) {
      const rows = await queryRows<{ number: unknown; note: string }>(db, look, true);
      expect(rows.map(({ number }) => String(number))).toEqual(['7']);
      if (last) return;
    }
  };
  const readers = Array.from({ length: clients }, read);
  await Promise.race([work(), Promise.all(readers)]);
  isOver = true;
  await Promise.all(readers);
}

/** Lists the prepared statements of every session of the pool, which must be idle. */
async function preparedNames(db: Database, count: number): Promise<string[]> {
  const names: string[] = [];
  const collect = (left: number): Promise<void> =>
    db.transaction(async (trx) => {
      names.push(...(await trx('pg_prepared_statements').pluck<string[]>('name')));
      if (left > 1) await collect(left - 1);
    });
  await collect(count);
  return names;
}

/** Looks up products and reads pages, each several times. @returns the maximum number of products per page */
async function rowsReadBy(db: Database): Promise<Record<string, number>> {
  const countReads = async () => {
    await db.raw('select pg_stat_force_next_flush()');
    const countSql = sql`select seq_tup_read + idx_tup_fetch as reads from pg_stat_user_tables where relname = 'products'`;
    return (await queryRows<{ reads: number }>(db, countSql))[0]!.reads;
  };
  const most: Record<string, number> = {};
  const measure = async (what: string, work: () => Promise<unknown>) => {
    const before = await countReads();
    await work();
    most[what] = Math.max(most[what] ?? 0, (await countReads()) - before);
  };
  const readPage = async (partner_name: string) => {
    const start = resolveListingOrder({});
    await listProducts(db, { scope: null, filter: { partner_name }, ...start, limit: 10 });
  };
  // PostgreSQL chooses a plan for all values at the sixth execution.
  for (let time = 1; time <= 8; time++) {
    await measure('a product', () => findProducts(db, [{ productId: time, scope: null }]));
    await measure('a page of a large partner', () => readPage('Large'));
    await measure('a page of a small partner', () => readPage(`Tiny ${time}`));
  }
  return most;
}

describe.each(postgresVersions)('on $version', ({ bin }) => {
  beforeAll(async () => {
    server = await TestServer.create(undefined, bin);
    await server.start();
    await server.ask(`create database ${server.address.database}`, 'postgres');
    await server.ask(`
      create table numbers (number bigint primary key, note text) with (autovacuum_enabled = off);
      insert into numbers values (7, 'seven')`);
  });

  describe.each(ways)('%s', (way) => {
    let address: DatabaseAddress;
    let db: Database;
    let said: string[];
    beforeAll(async () => {
      address = await addressOf(way);
      ({ db, said } = openPool(address));
    });

    it('connections detect whether statements are kept, and log it once', async () => {
      await readDuring(db);

      expect(said).toEqual([choices[way]]);
      const names = await preparedNames(db, way === 'directly' ? clients : sessions);
      if (way === 'directly') expect(new Set(names).size).toBe(1);
      else if (way === 'through a pooler that keeps them')
        expect(names.join()).toMatch(/^(PGBOUNCER_\d+,?)+$/);
      else expect(names).toEqual([]);
    });

    it('no read fails while columns change their types', async () => {
      const types = ['integer', 'numeric', 'text', 'bigint'];
      for (const type of types) {
        const alter = `alter table numbers alter column number type ${type} using number::${type}`;
        await readDuring(db, () => server.ask(alter));
      }
      const rows = await queryRows(db, look, true);

      expect(rows).toEqual([{ number: 7, note: 'seven' }]);
      expect(said).toEqual([choices[way]]);
    });

    it('statements of a transaction have no names, because a failed one would end it', async () => {
      const statement = sql`select note from numbers where number = ${7} and true`;
      const names = await db.transaction(async (trx) => {
        expect(await queryRows(trx, statement, true)).toEqual([{ note: 'seven' }]);
        return trx('pg_prepared_statements').where('statement', 'like', '%and true%').pluck<string[]>('name');
      });

      expect(names).toEqual([]);
    });

    it('a setting decides without detection', async () => {
      const off = openPool(address, { preparesStatements: false });
      await readDuring(off.db);
      expect(off.said).toEqual(['statements are not prepared: DATABASE_PREPARED_STATEMENTS is off']);
      if (way === 'directly') expect(await preparedNames(off.db, clients)).toEqual([]);

      const on = openPool(address, { preparesStatements: true });
      for (let time = 1; time <= 10; time++) await readDuring(on.db);
      const said = ['statements are prepared: DATABASE_PREPARED_STATEMENTS is on'];
      // The setting was wrong, and no read has failed.
      if (way === 'through a pooler that passes names on') said.push(choices[way]);
      expect(on.said).toEqual(said);
    });
  });

  (hasKeepingPgBouncer ? describe : describe.skip)('a pooler whose settings change', () => {
    const change = (pooler: PgBouncer, count: number) => pooler.ask(`set max_prepared_statements = ${count}`);

    it('breaks no read when it stops or starts keeping statements', async () => {
      const pooler = await startPooler(200);
      const address = { ...server.address, ...pooler.address };
      const finding = openPool(address);
      const always = openPool(address, { preparesStatements: true });
      await readDuring(finding.db);
      await readDuring(always.db);

      for (const count of [0, 200, 0]) {
        await readDuring(finding.db, () => change(pooler, count));
        await readDuring(always.db, () => change(pooler, count));
      }

      // Whether the last ones fail depends on the sessions that the pooler assigns.
      const kept = choices['through a pooler that keeps them'];
      const lost = choices['through a pooler that passes names on'];
      expect(finding.said.slice(0, 2)).toEqual([kept, lost]);
    });

    it('breaks no read when it closes a connection because of an unknown name', async () => {
      const pooler = await startPooler(200);
      await change(pooler, 0);
      const address = { ...server.address, ...pooler.address };
      const { db } = openPool(address, { preparesStatements: true, connectionsMax: 1 });
      // Its only client gets the same session again.
      await queryRows(db, look, true);
      await change(pooler, 200);

      expect(await queryRows(db, look, true)).toEqual([{ number: 7, note: 'seven' }]);
    });
  });

  (hasPgBouncer ? it : it.skip)('a pooler that takes the place of the server breaks no read', async () => {
    const port = await closedPort();
    const replaced = await TestServer.create(port, bin);
    const { cluster } = replaced;
    replaced.configure({ listen_addresses: '127.0.0.1' });
    await replaced.start();
    const database = 'postgres';
    await replaced.ask(`create table numbers as select 7 as number, 'seven' as note`, database);
    const { db, said } = openPool({ host: '127.0.0.1', port, user: 'postgres', database });
    await readDuring(db);
    const errors: unknown[] = [];
    let isOver = false;
    const read = async () => {
      while (!isOver) {
        try {
          await queryRows(db, look, true);
        } catch (error) {
          if (!isDatabaseUnavailable(error)) errors.push(error);
          await sleep(5);
        }
      }
    };
    const readers = Array.from({ length: clients }, read);

    await replaced.stop();
    replaced.configure({ listen_addresses: '' });
    await replaced.start();
    const pooler = await startPgBouncer({ ...replaced.address, host: cluster, database }, sessions, { port });
    afterFile(() => pooler.stop());
    await eventually('reads pass through the pooler', () => said.length > 1);
    await sleep(200);
    isOver = true;
    await Promise.all(readers);

    expect(errors).toEqual([]);
    await readDuring(db);
    expect(said).toEqual([choices.directly, choices['through a pooler that passes names on']]);
  });

  it('are not used if detection fails', async () => {
    await server.ask(`
      create role unclear login in role pg_read_all_data;
      create schema unclear;
      grant usage on schema unclear to unclear;
      create function unclear.pg_backend_pid() returns integer language plpgsql as $$ begin raise 'no such function'; end $$;
      alter role unclear set search_path = unclear, pg_catalog, public`);
    const { db, said } = openPool({ ...server.address, user: 'unclear' });

    await readDuring(db);

    expect(said).toEqual(['statements are not prepared: whether they are kept could not be found out']);
    expect(await preparedNames(db, clients)).toEqual([]);
  });

  describe('plans', () => {
    /** The plan by which the only connection of a pool executes the statement. */
    async function planOf(db: Database): Promise<string> {
      const named = sql`select name from pg_prepared_statements where statement like '%grown%'`;
      const [prepared] = await queryRows<{ name: string }>(db, named);
      const rows = await queryRows<Record<string, string>>(db, raw(`explain execute "${prepared!.name}"(7)`));
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    }

    it('of a table that has grown are replaced, also before its rows are committed', async () => {
      const { db } = openPool(server.address, { connectionsMax: 1 });
      await server.ask(`
        create table grown (number bigint primary key) with (autovacuum_enabled = off);
        insert into grown values (7);
        analyze`);
      const read = () => queryRows(db, sql`select number from grown where number = ${7}`, true);
      // PostgreSQL keeps a plan from the sixth execution on.
      for (let time = 0; time < 6; time++) await read();
      const loader = new Client(server.address);
      await loader.connect();
      await loader.query('begin; insert into grown select generate_series(100, 50000)');
      await read();
      expect(await planOf(db)).toContain('Seq Scan');

      expect(await analyzeGrownTables(db)).toEqual(['public.grown']);
      await read();
      const plan = await planOf(db);
      await loader.query('commit');
      await loader.end();

      expect(plan).toMatch(/Index (Only )?Scan|Bitmap/);
      // Its rows are counted when they are visible, as soon as the loader's session has reported them.
      const rows = raw("select reltuples as rows from pg_class where relname = 'grown'");
      await eventually('the table is analyzed again', async () => {
        await analyzeGrownTables(db);
        return (await queryRows<{ rows: number }>(db, rows))[0]!.rows > 49_000;
      });
      expect(await analyzeGrownTables(db)).toEqual([]);
    });

    it('of a look-up and a page read few rows, for partners of any size', async () => {
      const database = 'skewed';
      await server.ask(`create database ${database}`);
      const address = { ...server.address, database };
      const migrating = openDatabase(address, { applicationName: 'test', connectionsMax: 2 });
      await migrateToLatest(migrating);
      await migrating.destroy();
      const filling = new Client(address);
      await filling.connect();
      // One partner has 60 % of the products, and forty partners have ten each.
      await fillCatalog(20_000, (sql) => filling.query(sql));
      await filling.end();

      for (const mode of ['auto', 'force_generic_plan']) {
        await server.ask(`alter database ${database} set plan_cache_mode = ${mode}`);
        const reads = await rowsReadBy(openPool(address, { connectionsMax: 1 }).db);
        expect(Object.keys(reads)).toEqual([
          'a product',
          'a page of a large partner',
          'a page of a small partner',
        ]);
        expect(Object.values(reads).filter((read) => read > 100)).toEqual([]);
      }
    });
  });
});

import { poolLimits } from '../../../src/base/db/dialect';
import type { Knex } from 'knex';
import {
  isDatabaseUnavailable,
  openDatabase,
  type Database,
  type DatabaseAddress,
} from '../../../src/base/db/database';
import {
  beginTransaction,
  databaseTimeouts,
  inTransaction,
  type TransactionKind,
} from '../../../src/base/db/transaction';
import { afterFile, eventually } from '../../support/harness';
import { startAppAt } from '../../support/service';
import { createTestDatabase } from '../../support/databases';

const queryMilliseconds = 400;
type Bound = keyof typeof databaseTimeouts;
const theError = (error: unknown) => error;

let observer: Database;
let address: DatabaseAddress;
beforeAll(async () => {
  const test = await createTestDatabase();
  ({ address, db: observer } = test);
  // The default: PostgreSQL checks the client connection only when a statement has ended.
  await observer.raw(`alter database ${address.database!} set client_connection_check_interval = 0`);
});

/** The statements that wait for a lock in the database. */
async function waiting(): Promise<string[]> {
  const { rows } = await observer.raw<{ rows: { query: string }[] }>(
    "select query from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  return rows.map(({ query }) => query);
}

function whileLocked<T>(work: () => Promise<T>): Promise<T> {
  return observer.transaction(async (trx) => {
    await trx.raw('lock table products in access exclusive mode');
    return work();
  });
}

describe('a request that waits for a lock', () => {
  it('gets 503 in bounded time, and its statement is cancelled', async () => {
    const { api } = await startAppAt(address, { queryMilliseconds });

    const answer = await whileLocked(async () => {
      const response = await api.get('/products');
      await eventually('no request waits', async () => expect(await waiting()).toEqual([]));
      return response;
    });

    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect((await api.get('/products')).status).toBe(200);
  });
});

describe('a burst of 200 clients', () => {
  const burst = async (get: () => Promise<{ status: number }>) => {
    const answers = await Promise.all(Array.from({ length: 200 }, get));
    return new Set(answers.map(({ status }) => status));
  };

  it('gets all responses with fewer connections than clients', async () => {
    const { api } = await startAppAt(address, { queryMilliseconds: 10_000, connectionsMax: 2 });

    const answers = await burst(() => api.get('/products'));

    expect(answers).toEqual(new Set([200]));
  });

  it('gets 503 in bounded time when the database is frozen', async () => {
    jest.replaceProperty(poolLimits, 'waitersMax', 20);
    const { api } = await startAppAt(address, {
      queryMilliseconds,
      connectionsMax: 2,
      acquireMilliseconds: 1_000,
    });

    const answers = await whileLocked(() => burst(() => api.get('/products')));

    expect(answers).toEqual(new Set([503]));
    expect((await api.get('/products')).status).toBe(200);
  });

  it('waits for a connection up to the maximum of waiters; further requests get 503', async () => {
    jest.replaceProperty(poolLimits, 'waitersMax', 20);
    const pool = openDatabase(address, { applicationName: 'test', connectionsMax: 2 });
    afterFile(() => pool.destroy());
    const held = [await pool.transaction(), await pool.transaction()];
    const refusals: unknown[] = [];

    const asked = Array.from({ length: 200 }, () =>
      pool.raw('select 1').catch((error: unknown) => refusals.push(error)),
    );
    await eventually('those without room are refused', () => refusals.length === 180);
    await Promise.all(held.map((trx) => trx.rollback()));
    await Promise.all(asked);

    expect(refusals).toHaveLength(180);
    expect(refusals[0]).toMatchObject({ code: 'unavailable' });
  });
});

describe('a transaction', () => {
  let db: Database;
  beforeAll(() => {
    db = openDatabase(address, { applicationName: 'bounded', connectionsMax: 1 });
    afterFile(() => db.destroy());
  });

  const settings = async (connection: Knex) => {
    const { rows } = await connection.raw<{ rows: object[] }>(
      `select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
         current_setting('idle_in_transaction_session_timeout') as idle`,
    );
    return rows[0];
  };

  it('keeps its timeouts from the next user of the connection, also behind a pooler', async () => {
    const before = await settings(db);

    expect(await inTransaction(db, 'request', settings)).toEqual({
      statement: '10s',
      lock: '8s',
      idle: '10s',
    });
    expect(await inTransaction(db, 'bulk', settings)).toEqual({ statement: '2h', lock: '2h', idle: '20min' });
    expect(await settings(db)).toEqual(before);
  });

  it.each<[string, Bound, string]>([
    ['a lock', 'lockMilliseconds', 'select from products limit 1'],
    ['its end', 'queryMilliseconds', 'select pg_sleep(60)'],
  ])('cancels a statement that waits too long for %s', async (_what, limit, statement) => {
    jest.replaceProperty(databaseTimeouts, limit, 200);

    const error = await whileLocked(() =>
      inTransaction(db, 'request', (trx) => Promise.resolve(trx.raw(statement))).catch(theError),
    );

    expect(isDatabaseUnavailable(error)).toBe(true);
    expect((await db.raw<{ rows: object[] }>('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });

  it.each<[TransactionKind, Bound]>([
    ['request', 'idleMilliseconds'],
    ['bulk', 'bulkIdleMilliseconds'],
  ])('of a %s whose process is frozen is rolled back and releases its locks', async (kind, limit) => {
    jest.replaceProperty(databaseTimeouts, limit, 200);
    const trx = await beginTransaction(db, kind);
    await trx.raw('lock table orders in access exclusive mode');
    await trx('partners').insert({ partner_name: kind });

    expect(await observer('orders')).toEqual([]);

    const error = await Promise.resolve(trx.raw('select 1')).catch(theError);
    expect(isDatabaseUnavailable(error)).toBe(true);
    await trx.rollback().catch(() => undefined);
    expect(await observer('partners').where({ partner_name: kind })).toEqual([]);
    expect((await db.raw<{ rows: object[] }>('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });
});

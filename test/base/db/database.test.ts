import type { Knex } from 'knex';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import type { ClientBase } from 'pg';
import {
  idleConnectionMilliseconds,
  isDatabaseUnavailable,
  openDatabase,
  queryRows,
  type Database,
  type DatabaseAddress,
} from '../../../src/base/db/database';
import { poolUse } from '../../../src/base/db/dialect';
import { createLog } from '../../../src/base/log';
import { loadConfig } from '../../../src/config';
import { openRequestPool } from '../../../src/operation/process/serve';
import { sql } from '../../../src/base/db/sql';
import { afterFile } from '../../support/harness';
import { createTestDatabase } from '../../support/databases';

const queryMilliseconds = 300;

let db: Database;
let observer: Database;
beforeAll(async () => {
  const test = await createTestDatabase();
  observer = test.db;
  db = openDatabase(test.address, { applicationName: 'limited', connectionsMax: 1, queryMilliseconds });
  afterFile(() => db.destroy());
});

const theError = (error: unknown) => error;

describe('an idle connection of a pool', () => {
  const openRequests = (address: DatabaseAddress) =>
    openRequestPool(address, { config: loadConfig({}), log: createLog('silent'), cleanups: [] });
  const openOther = (address: DatabaseAddress) =>
    openDatabase(address, { applicationName: 'idle', connectionsMax: 1 });

  it.each([
    ['of requests', openRequests, idleConnectionMilliseconds.ofRequests],
    ['of others', openOther, idleConnectionMilliseconds.ofOthers],
  ])('is kept for its time, and then closed: %s', async (_of, open, kept) => {
    const pool = open((await createTestDatabase()).address);
    try {
      await pool.raw('select 1');
      const now = jest.spyOn(Date, 'now');
      const start = Date.now();
      now.mockImplementation(() => start + kept - 5_000);
      // The pool looks at its connections once a second.
      await sleep(1_500);
      expect(poolUse(pool).free).toBe(1);
      now.mockImplementation(() => start + kept + 5_000);
      await sleep(1_500);
      expect(poolUse(pool).free).toBe(0);
    } finally {
      jest.restoreAllMocks();
      await pool.destroy();
    }
  });
});

describe('a pool with a statement timeout', () => {
  it('cancels a statement after the timeout, and executes the next one on another connection', async () => {
    const error = await db.raw('select pg_sleep(2)').then(() => 'no error', theError);

    expect(isDatabaseUnavailable(error)).toBe(true);
    expect((await db.raw<{ rows: unknown[] }>('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });

  it.each<[string, (client: ClientBase) => Promise<unknown>]>([
    ['read', (client) => client.query(copyTo('copy (select 1) to stdout')).toArray()],
    ['read in vain', (client) => client.query(copyTo('copy nothing to stdout')).toArray()],
    [
      'written',
      (client) => pipeline(Readable.from(['1']), client.query(copyFrom('copy written from stdin'))),
    ],
  ])('sets no timer for a stream that is %s, because nothing would clear it', async (_what, stream) => {
    const set = jest.spyOn(global, 'setTimeout');

    await db
      .transaction(async (trx) => {
        await trx.raw('create temporary table written (number integer) on commit drop');
        const client = await (trx.client as { acquireConnection(): Promise<ClientBase> }).acquireConnection();
        set.mockClear();
        await stream(client).catch(() => undefined);
        expect(set.mock.calls.filter(([, delay]) => delay === queryMilliseconds)).toEqual([]);
        await trx.rollback();
      })
      .catch((error: unknown) => expect((error as Error).message).toMatch(/rolled back|rejected/i));
  });

  it('does not reuse a connection that the server has ended at a commit', async () => {
    await observer.raw(`
      create function end_session() returns trigger language plpgsql as
        $$ begin perform pg_terminate_backend(pg_backend_pid()); return new; end $$;
      create constraint trigger end_session after insert on partners
        deferrable initially deferred for each row execute function end_session();
    `);

    const error = await db
      .transaction((trx) => trx('partners').insert({ partner_name: 'Cut' }))
      .then(() => 'no error', theError);
    await observer.raw('drop trigger end_session on partners');

    expect(isDatabaseUnavailable(error)).toBe(true);
    expect(await db('partners').pluck('partner_name')).toEqual([]);
  });

  it('rolls back a transaction whose statement was cancelled', async () => {
    const error = await db
      .transaction(async (trx) => {
        await trx('partners').insert({ partner_name: 'Acme' });
        await trx.raw('select pg_sleep(2)');
      })
      .then(() => 'no error', theError);

    expect(isDatabaseUnavailable(error)).toBe(true);
    expect(await db('partners').pluck('partner_name')).toEqual([]);
    await db('partners').insert({ partner_name: 'Birch' });
    expect(await observer('partners').pluck('partner_name')).toEqual(['Birch']);
  });

  it('does not limit a stream', async () => {
    async function* slowly() {
      for (const name of ['One', 'Two', 'Three']) {
        await sleep(queryMilliseconds / 2);
        yield `${name}\n`;
      }
    }

    await db.transaction(async (trx) => {
      const client = await (trx.client as { acquireConnection(): Promise<ClientBase> }).acquireConnection();
      await pipeline(
        Readable.from(slowly()),
        client.query(copyFrom('copy partners (partner_name) from stdin')),
      );
    });

    expect(await observer('partners').count()).toEqual([{ count: 4 }]);
  });
});

it('a pool without a statement timeout waits', async () => {
  const { rows } = await observer.raw<{ rows: unknown[] }>('select pg_sleep(0.6), 1 as one');

  expect(rows).toEqual([expect.objectContaining({ one: 1 })]);
});

describe('queryRows', () => {
  it('reads rows in a transaction, and emits the query event', async () => {
    const heard: unknown[] = [];
    const note = ({ sql, bindings }: { sql: string; bindings: unknown[] }) => heard.push([sql, bindings]);

    const rows = await db.transaction(async (trx) => {
      await trx.raw('create temporary table own (number bigint) on commit drop');
      await trx.raw('insert into own values (1), (2), (3)');
      db.on('query', note);
      return queryRows(trx, sql`select number from own where number > ${1} and number < ${3}`);
    });
    db.off('query', note);

    expect(rows).toEqual([{ number: 2 }]);
    expect(heard[0]).toEqual(['select number from own where number > $1 and number < $2', [1, 3]]);
  });

  it('refuses a statement of a transaction that has ended', async () => {
    let ended: Knex.Transaction;
    await db.transaction(async (trx) => {
      ended = trx;
      await queryRows(trx, sql`select`);
    });

    await expect(queryRows(ended!, sql`select`)).rejects.toThrow('The transaction has ended.');
    // There is only one connection.
    expect(await queryRows(db, sql`select 1 as one`)).toEqual([{ one: 1 }]);
  });

  it('times out, releases its connection, and discards a broken one', async () => {
    const slow = await queryRows(db, sql`select pg_sleep(${2})`).then(() => 'no error', theError);
    expect(isDatabaseUnavailable(slow)).toBe(true);

    const wrong = await queryRows(db, sql`select ${1} / 0`).then(() => 'no error', theError);
    expect(wrong).toMatchObject({ code: '22012' });
    expect(isDatabaseUnavailable(wrong)).toBe(false);

    expect(await queryRows(db, sql`select ${1}::int as one`)).toEqual([{ one: 1 }]);
  });
});

import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { from as copyFrom } from 'pg-copy-streams';
import type { ClientBase } from 'pg';
import { isDatabaseUnavailable, openDatabase, type Database } from '../../src/db/database';
import { afterFile } from '../support/after-file';
import { createTestDatabase } from '../support/database';

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

describe('a pool with a limit', () => {
  it('gives a statement up that takes longer; the next one has a connection of its own', async () => {
    const error = await db.raw('select pg_sleep(2)').then(() => 'no error', theError);

    expect(isDatabaseUnavailable(error)).toBe(true);
    expect((await db.raw<{ rows: unknown[] }>('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });

  it('undoes a transaction amid which a statement was given up', async () => {
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

  it('lets a stream take its time', async () => {
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

it('a pool without one waits', async () => {
  const { rows } = await observer.raw<{ rows: unknown[] }>('select pg_sleep(0.6), 1 as one');

  expect(rows).toEqual([expect.objectContaining({ one: 1 })]);
});

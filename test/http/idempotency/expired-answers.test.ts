import { randomBytes } from 'node:crypto';
import type { Database } from '../../../src/base/db/database';
import { startMaintenanceTasks } from '../../../src/operation/process/maintenance';
import { createLog } from '../../../src/base/log';
import {
  deleteExpiredAnswers,
  expiredAnswersPerDelete,
} from '../../../src/http/idempotency/idempotency.repository';
import { largestBatch } from '../../support/batches';
import { createTestDatabase } from '../../support/databases';

let db: Database;
beforeAll(async () => {
  ({ db } = await createTestDatabase());
});
afterEach(() => db('idempotency_keys').delete());

/** Stores responses that expire at times relative to now, in seconds. */
async function leaveAnswers(...seconds: number[]): Promise<void> {
  const digest = randomBytes(32);
  await db('idempotency_keys').insert(
    seconds.map((offset, at) => ({
      api_key_digest: digest,
      idempotency_key: `key-${at}`,
      request_digest: digest,
      response_body: '{}',
      expires_at: db.raw(`now() + ? * interval '1 second'`, [offset]),
    })),
  );
}

const kept = () => db('idempotency_keys').orderBy('idempotency_key').pluck('idempotency_key');

describe('the clean-up of stored responses', () => {
  it('deletes only expired ones', async () => {
    await leaveAnswers(-1, 60, -100_000, 1);

    expect(await deleteExpiredAnswers(db)).toBe(2);

    expect(await kept()).toEqual(['key-1', 'key-3']);
    expect(await deleteExpiredAnswers(db)).toBe(0);
  });

  it('deletes more than one batch', async () => {
    const many = expiredAnswersPerDelete + 1;
    await leaveAnswers(60, ...Array.from({ length: many }, () => -1));

    expect(await deleteExpiredAnswers(db)).toBe(many);

    expect(await kept()).toEqual(['key-0']);
  });

  it('deletes no more than a batch at once, by any plan', async () => {
    await leaveAnswers(...Array.from({ length: expiredAnswersPerDelete + 1 }, () => -1));

    expect(await largestBatch(db, 'idempotency_keys', deleteExpiredAnswers)).toBe(expiredAnswersPerDelete);

    expect(await kept()).toEqual([]);
  });

  it('deletes each response once on several concurrent processes', async () => {
    await leaveAnswers(...Array.from({ length: 300 }, () => -1));

    const deleted = await Promise.all([1, 2, 3, 4].map(() => deleteExpiredAnswers(db)));

    expect(deleted.reduce((sum, count) => sum + count)).toBe(300);
    expect(await kept()).toEqual([]);
  });

  it('skips a row that a request is about to replace', async () => {
    await leaveAnswers(-1, -1);
    const request = await db.transaction();
    await request('idempotency_keys')
      .where('idempotency_key', 'key-0')
      .update({ expires_at: db.raw("now() + interval '1 day'") });

    expect(await deleteExpiredAnswers(db)).toBe(1);

    await request.commit();
    expect(await deleteExpiredAnswers(db)).toBe(0);
    expect(await kept()).toEqual(['key-0']);
  });
});

describe('the start of a process', () => {
  it('does not wait until expired responses are deleted', async () => {
    const lock = await db.transaction();
    await lock.raw('lock table idempotency_keys in access exclusive mode');

    const stop = await startMaintenanceTasks(db, createLog('silent'));

    await lock.rollback();
    await stop();
  });
});

import { lockKinds } from '../../src/base/db/locks';
import type { Database } from '../../src/base/db/database';
import type { ApiResponse } from './api-client';
import { eventually } from './harness';

/** Simulates that 24 hours have passed since the response to this key. */
export async function leaveAnsweredLongAgo({ db }: { db: Database }, key: string): Promise<void> {
  const changed = await db('idempotency_keys')
    .where('idempotency_key', key)
    .update({ expires_at: db.raw("expires_at - interval '24 hours'") });
  if (changed !== 1) throw new Error(`${changed} answers with the key ${key}`);
}

/** Waits until this many requests hold a key. A probing request with the key could take it itself. */
export async function keysAreHeld({ db }: { db: Database }, count: number): Promise<void> {
  await eventually(`${count} keys are held`, async () => {
    const { rowCount } = await db.raw<{ rowCount: number }>(
      `select from pg_locks where locktype = 'advisory' and granted and cast(objid as bigint) & 255 = ${lockKinds.idempotencyKey}
         and database = (select oid from pg_database where datname = current_database())`,
    );
    return rowCount === count;
  });
}

/** Expects a response to be a marked replay of the first 201. */
export function expectReplay(response: ApiResponse, first: ApiResponse): void {
  expect({ status: response.status, body: response.body as unknown }).toEqual({
    status: 201,
    body: first.body as unknown,
  });
  expect(response.headers.get('location')).toBe(first.headers.get('location'));
  expect(response.headers.get('idempotent-replayed')).toBe('true');
}

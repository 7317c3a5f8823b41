import type { Knex } from 'knex';
import { queryRows } from '../../base/db/database';
import { takeLock, tryLock } from '../../base/db/locks';
import { sql } from '../../base/db/sql';

/*
 * The partner's lock: only its holder changes the partner's products, except by manual changes and withdrawals of one product. An advisory lock of the
 * transaction: it writes nothing, and uploads never wait for it.
 * Release 1.2.0 locks the row of the partner instead, and its processes run during an upgrade: so every holder locks the row
 * too, after the advisory lock. The next release will not.
 */

/**
 * Locks the partner's products against other runs until the transaction ends.
 * Thus an anti-join finds the new products, and existing ones consume no product id.
 * @returns false when the partner no longer exists
 */
export async function lockPartner(trx: Knex.Transaction, partnerId: number): Promise<boolean> {
  await waitForPartner(trx, partnerId);
  const rows = await queryRows(
    trx,
    sql`select from partners where partner_id = ${partnerId} for no key update`,
  );
  return rows.length > 0;
}

/** Acquires the partner's lock without its row, which the caller locks next. Several partners: by ascending number. */
export async function waitForPartner(trx: Knex.Transaction, partnerId: number): Promise<void> {
  await takeLock(trx, 'partner', partnerId);
}

/**
 * Waits for orders of the partner's products, and blocks further ones until the transaction ends. A transaction that has
 * withdrawn products calls it at its end, and then waits for nothing else: orders wait for its commit, and are refused.
 * Orders lock by the function `products_to_order`.
 */
export async function lockWithdrawals(trx: Knex.Transaction, partnerId: number): Promise<void> {
  await takeLock(trx, 'withdrawals', partnerId);
}

/** Locks the partner unless it is locked already. @returns whether it is locked now, and exists */
export async function tryLockPartner(trx: Knex.Transaction, partnerId: number): Promise<boolean> {
  if (!(await tryLock(trx, 'partner', partnerId))) return false;
  const rows = await queryRows(
    trx,
    sql`select from partners where partner_id = ${partnerId} for no key update skip locked`,
  );
  return rows.length > 0;
}

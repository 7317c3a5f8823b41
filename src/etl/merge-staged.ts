import type { Knex } from 'knex';
import { applyChanges, compareProducts, isContention } from './load';
import type { StagedFeed } from './staging';
import type { RunCounters } from './run-result';
import type { RunStats } from './run-stats';

/**
 * Lock timeout of the first attempt. PostgreSQL looks for deadlocks after a second and aborts one of the two transactions: a
 * run that stops waiting earlier never causes that.
 */
const lockMilliseconds = 100;

/** The last attempt waits up to 50 seconds for each product. */
const attemptsMax = 10;

/**
 * Merges the staged rows into the partner's products. The caller holds the partner's lock and has rejected superseded rows.
 *
 * Manual transactions may lock the same products, in any order, for any time. The merge never waits for one while it holds
 * products itself: it rolls back, waits until the other transaction ends, and compares again.
 */
export async function mergeStaged(
  trx: Knex.Transaction,
  feed: StagedFeed,
  stats: RunStats,
): Promise<RunCounters> {
  for (let attempt = 0; ; attempt++) {
    stats.phase = 'comparing';
    const counters = await compareProducts(trx, feed, stats);
    stats.phase = 'loading';
    // Exponential: a series of short manual transactions must not block a run forever.
    const lockTimeout = lockMilliseconds * 2 ** attempt;
    try {
      await stats.timed('apply', () =>
        trx.transaction((savepoint) => applyChanges(savepoint, feed, counters, lockTimeout)),
      );
      return counters;
    } catch (error) {
      if (!isContention(error) || attempt === attemptsMax - 1) throw error;
    }
    await waitForProducts(trx, feed.partnerId);
  }
}

/** Finds a product to be updated that another transaction has changed or locked. */
const lockedProductSql = `
  select product_id from feed_changes where product_id is not null
  except
  select product_id from (
    select product_id from products where (partner_id, sku, product_id) in (
      select partner_id, sku, product_id from feed_changes
    )
    for no key update skip locked
  ) as free
  limit 1
`;

/** Waits for a transaction that has locked a product to be updated, without holding a product lock. */
async function waitForProducts(trx: Knex.Transaction, partnerId: number): Promise<void> {
  const productId = await andRollBack(trx, async (savepoint) => {
    const { rows } = await savepoint.raw<{ rows: { product_id: number }[] }>(lockedProductSql);
    return rows[0]?.product_id;
  });
  if (productId === undefined) return;
  await andRollBack(trx, (savepoint) =>
    savepoint.raw('select from products where partner_id = ? and product_id = ? for no key update', [
      partnerId,
      productId,
    ]),
  );
}

/** Does `work` in a savepoint, then rolls back, which releases its locks. */
async function andRollBack<T>(
  trx: Knex.Transaction,
  work: (savepoint: Knex.Transaction) => PromiseLike<T>,
): Promise<T> {
  const savepoint = await trx.transaction();
  try {
    return await work(savepoint);
  } finally {
    await savepoint.rollback();
  }
}

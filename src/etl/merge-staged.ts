import type { Knex } from 'knex';
import type { RunTally } from './copy-rows';
import { applyChanges, isContention } from './load';
import { rejectSupersededRows } from './repeated-skus';
import { compareFeed, type StagedFeed } from './staging';
import type { RunCounters } from './run-result';

/**
 * How long the first attempt waits for a product that a manual transaction holds. PostgreSQL looks for deadlocks after a
 * second, and would then end either of the two: a run that stops waiting long before is never the reason.
 */
const lockMilliseconds = 100;

/** How often a merge is tried; the last attempt waits for each product for 50 seconds. */
const attemptsMax = 10;

/**
 * Merges the staged rows into the partner's products, beside manual transactions that change the same ones. The partner
 * must have been locked.
 *
 * A manual transaction may change products in any order, and stay open for any time. So the merge does not wait for one
 * while it holds products itself: it rolls back, waits until the other has ended, and compares anew.
 * @returns what every row of the feed comes to
 */
export async function mergeStaged(
  trx: Knex.Transaction,
  feed: StagedFeed,
  tally: RunTally,
): Promise<RunCounters> {
  const superseded = await rejectSupersededRows(trx, feed.skuColumnNumber, tally);
  for (let attempt = 0; ; attempt++) {
    tally.phase = 'comparing';
    const { counters, changes } = await compareFeed(trx, feed, tally, superseded);
    tally.phase = 'loading';
    // Longer with every attempt: short manual transactions, one after the other, must not keep a run from its end.
    const lockTimeout = lockMilliseconds * 2 ** attempt;
    try {
      await tally.time('apply', () =>
        trx.transaction((savepoint) => applyChanges(savepoint, feed, changes, lockTimeout)),
      );
      return counters;
    } catch (error) {
      if (!isContention(error) || attempt === attemptsMax - 1) throw error;
    }
    await waitForProducts(trx);
  }
}

/** A product that `compareProducts` has noted for an update, and that another transaction has changed or locked. */
const heldProductSql = `
  select product_id from feed_changes where product_id is not null
  except
  select product_id from (
    select product_id from products where product_id in (select product_id from feed_changes)
    for no key update skip locked
  ) as free
  limit 1
`;

/** Waits until another transaction that holds a product to be updated has ended. Holds none meanwhile. */
async function waitForProducts(trx: Knex.Transaction): Promise<void> {
  const productId = await andRollBack(trx, async (savepoint) => {
    const { rows } = await savepoint.raw<{ rows: { product_id: number }[] }>(heldProductSql);
    return rows[0]?.product_id;
  });
  if (productId === undefined) return;
  await andRollBack(trx, (savepoint) =>
    savepoint.raw('select from products where product_id = ? for no key update', [productId]),
  );
}

/** Does `work` in a savepoint, and gives its locks back. */
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

import type { Knex } from 'knex';
import { writeBack } from '../db/working-copy';
import type { CatalogChange } from '../partners/catalog-changes';
import { applyChanges, isContention } from './apply-changes';
import { compareProducts } from './load';
import type { StagedFeed } from './staging';
import type { MergeResult, RunCounters } from './run-result';
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
 * @param check - throws if the counters must not be applied
 */
export async function mergeStaged(
  trx: Knex.Transaction,
  feed: StagedFeed,
  change: CatalogChange,
  stats: RunStats,
  check: (counters: RunCounters) => Promise<void>,
): Promise<MergeResult> {
  return untilUncontended(trx, feed.partnerId, async (lockTimeout) => {
    stats.phase = 'comparing';
    const counters = await compareProducts(trx, feed, stats);
    await check(counters);
    stats.phase = 'loading';
    const { moved, ...merged } = counters;
    return {
      tables: ['feed_changes', ...(counters.withdrawn > 0 ? ['feed_withdrawals'] : [])],
      apply: async (savepoint) => {
        const manual = await stats.timed('apply', () =>
          applyChanges(savepoint, feed, change, counters, lockTimeout),
        );
        await stats.timed('write back', () => writeBack(savepoint, [feed.partnerId]));
        return { counters: merged, uncounted: moved + manual };
      },
    };
  });
}

/** Compared changes: the relations with the products to be written, and what writes them in a savepoint. */
interface ComparedChanges<T> {
  tables: string[];
  apply: (savepoint: Knex.Transaction) => Promise<T>;
}

/**
 * Compares and applies changes until no manual transaction is in the way.
 *
 * Manual transactions may lock the same products, in any order, for any time. A run never waits for one while it holds
 * products itself: it rolls back, waits until the other transaction ends, and compares again.
 * @param compare - gets the lock timeout for the products
 */
export async function untilUncontended<T>(
  trx: Knex.Transaction,
  partnerId: number,
  compare: (lockMilliseconds: number) => Promise<ComparedChanges<T>>,
): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    // Exponential: a series of short manual transactions must not block a run forever.
    const { tables, apply } = await compare(lockMilliseconds * 2 ** attempt);
    try {
      return await trx.transaction(apply);
    } catch (error) {
      if (!isContention(error) || attempt === attemptsMax - 1) throw error;
    }
    await waitForProducts(trx, partnerId, tables);
  }
}

/** Finds a product to be changed that another transaction has changed or locked. */
const lockedProductSql = (changes: string) => `
  select product_id from ${changes} as changes where product_id is not null
  except
  select product_id from (
    select product_id from products where (partner_id, sku, product_id) in (
      select partner_id, sku, product_id from ${changes} as changes
    )
    for no key update skip locked
  ) as free
  limit 1
`;

/** Waits for a transaction that has locked a product to be updated, without holding a product lock. */
async function waitForProducts(trx: Knex.Transaction, partnerId: number, tables: string[]): Promise<void> {
  const productId = await andRollBack(trx, async (savepoint) => {
    for (const changes of tables) {
      const { rows } = await savepoint.raw<{ rows: { product_id: number }[] }>(lockedProductSql(changes));
      if (rows[0]) return rows[0].product_id;
    }
    return undefined;
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

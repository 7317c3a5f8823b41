import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import { writeBack } from '../../base/db/layout/product-layout';
import { queryRows } from '../../base/db/database';
import { raw, sql, type Sql } from '../../base/db/sql';
import type { CatalogChange } from '../../catalog/changes/catalog-changes';
import { applyChanges, isContention, ProductsGone } from './apply-changes';
import { compareProducts } from './load';
import { isProductOf } from './look-ups';
import type { StagedFeed } from './staging';
import type { MergeResult, RunCounters } from './run-result';
import type { RunStats } from './run-stats';

/** Time in which the first attempt tries to lock its products. */
const lockMilliseconds = 100;

/** Pause between two tries. */
const lockPollMilliseconds = 20;

/** The last attempt tries for 50 seconds. */
const attemptsMax = 10;

/**
 * Merges the staged rows into the partner's products. The caller holds the partner's lock and has rejected superseded rows.
 * @param signal - aborted when the run is cancelled
 * @param check - throws if the counters must not be applied
 * @throws the signal's reason
 */
export async function mergeStaged(
  trx: Knex.Transaction,
  feed: StagedFeed,
  change: CatalogChange,
  stats: RunStats,
  signal: AbortSignal,
  check: (counters: RunCounters) => Promise<void>,
): Promise<MergeResult> {
  return untilUncontended(trx, feed.partnerId, signal, async () => {
    stats.phase = 'comparing';
    const counters = await compareProducts(trx, feed, stats);
    await check(counters);
    stats.phase = 'loading';
    const { moved, ...merged } = counters;
    return {
      tables: [raw('feed_changes'), ...(counters.withdrawn > 0 ? [raw('feed_withdrawals')] : [])],
      apply: async (savepoint, lockProducts) => {
        const manual = await stats.timed('apply', () =>
          applyChanges(savepoint, feed, change, counters, lockProducts),
        );
        await stats.timed('write back', () => writeBack(savepoint, [feed.partnerId]));
        return { counters: merged, uncounted: moved + manual };
      },
    };
  });
}

/**
 * Compared changes: the relations with the products to be written, and their writer in a savepoint. It locks existing products before it
 * writes the first of them.
 */
interface ComparedChanges<T> {
  tables: Sql[];
  apply: (savepoint: Knex.Transaction, lockProducts: () => Promise<void>) => Promise<T>;
}

/**
 * Compares and applies changes until no manual transaction interferes.
 * Manual transactions may lock the same products, in any order, for any time. A run never waits for one while it holds
 * existing products itself: it rolls back, waits until the other transaction ends, and compares again.
 */
export async function untilUncontended<T>(
  trx: Knex.Transaction,
  partnerId: number,
  signal: AbortSignal,
  compare: () => Promise<ComparedChanges<T>>,
): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    const { tables, apply } = await compare();
    // Exponential: a series of short manual transactions must not block a run forever.
    const milliseconds = lockMilliseconds * 2 ** attempt;
    try {
      return await trx.transaction((savepoint) =>
        apply(savepoint, () => lockProducts(savepoint, tables, milliseconds, signal)),
      );
    } catch (error) {
      if (!isContention(error) || attempt === attemptsMax - 1) throw error;
    }
    await waitForProducts(trx, partnerId, tables);
  }
}

/** Locks the products to be changed that no other transaction holds, and tells whether these are all. */
const lockSql = (changes: Sql) => sql`
  select (select count(product_id) from ${changes} as changes) = (
    select count(*) from (
      select from ${changes} as changes join products on ${isProductOf(raw('changes'))}
      for no key update of products skip locked
    ) as locked
  ) as "areLocked"`;

/**
 * Locks the products to be changed. Retries instead of waiting in PostgreSQL: a transaction that waits for a lock and holds others can
 * be part of a deadlock, and PostgreSQL may end any transaction of it, also the manual one.
 * @throws ProductsGone if not all are locked in time; the signal's reason: between two attempts there is no statement to cancel
 */
export async function lockProducts(
  trx: Knex.Transaction,
  tables: readonly Sql[],
  milliseconds: number,
  signal: AbortSignal,
): Promise<void> {
  // Waits for the table, for example while an index is created, before products are locked.
  await queryRows(trx, sql`lock table products in row exclusive mode`);
  const deadline = performance.now() + milliseconds;
  for (const changes of tables) {
    for (;;) {
      const [row] = await queryRows<{ areLocked: boolean }>(trx, lockSql(changes));
      if (row!.areLocked) break;
      if (performance.now() >= deadline) throw new ProductsGone();
      await sleep(lockPollMilliseconds);
      signal.throwIfAborted();
    }
  }
}

/** Finds a product to be changed that another transaction has changed or locked. */
const lockedProductSql = (changes: Sql) => sql`
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
async function waitForProducts(
  trx: Knex.Transaction,
  partnerId: number,
  tables: readonly Sql[],
): Promise<void> {
  const productId = await andRollBack(trx, async (savepoint) => {
    for (const changes of tables) {
      const [row] = await queryRows<{ product_id: number }>(savepoint, lockedProductSql(changes));
      if (row) return row.product_id;
    }
    return undefined;
  });
  if (productId === undefined) return;
  await andRollBack(trx, (savepoint) =>
    queryRows(
      savepoint,
      sql`select from products where partner_id = ${partnerId} and product_id = ${productId} for no key update`,
    ),
  );
}

/** Does `work` in a savepoint, then rolls back, which releases its locks. */
async function andRollBack<T>(
  trx: Knex.Transaction,
  work: (savepoint: Knex.Transaction) => Promise<T>,
): Promise<T> {
  const savepoint = await trx.transaction();
  try {
    return await work(savepoint);
  } finally {
    await savepoint.rollback();
  }
}

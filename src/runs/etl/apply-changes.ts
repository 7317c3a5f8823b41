import type { Knex } from 'knex';
import { changeRows, queryRows } from '../../base/db/database';
import { sql, type Sql } from '../../base/db/sql';
import type { CatalogChange } from '../../catalog/changes/catalog-changes';
import { mergeSql, type ComparedCounters } from './load';
import { lookUpProducts } from './look-ups';
import { endManualVersions } from './manual-versions';
import type { StagedFeed } from './staging';
import { applyWithdrawals } from './withdrawals';

/** Excludes the transaction from the log of manual changes: the run updates its digests itself. */
export async function skipManualChangeLog(trx: Knex.Transaction): Promise<void> {
  await queryRows(trx, sql`set local partner_catalog.keeps_digests = 'on'`);
}

/**
 * Applies the changes that `compareProducts` stored. The caller holds the partner's lock.
 * Inserts come first: they wait only for a manual transaction that has inserted the same sku. After its first product lock, the run
 * waits for no manual transaction.
 * @param lockProducts - locks the products that the changes update
 * @returns the number of products that were changed by hand since the last change, besides the ones that the run changes
 * @throws an error for which `isContention` is true; the caller must then roll back
 */
export async function applyChanges(
  trx: Knex.Transaction,
  feed: StagedFeed,
  change: CatalogChange,
  { inserted, updated, moved, withdrawn }: ComparedCounters,
  lockProducts: () => Promise<void>,
): Promise<number> {
  const merge = mergeSql(feed);
  await skipManualChangeLog(trx);
  if (inserted > 0) await changeRows(trx, merge.insert(change));
  if (updated + moved + withdrawn === 0) return endManualVersions(trx, change);
  const write = async (statement: Sql, expected: number) => {
    if (expected > 0 && (await changeRows(trx, statement)) !== expected) throw new ProductsGone();
  };
  await lookUpProducts(trx, async () => {
    await lockProducts();
    await write(merge.update(change), updated);
    await write(merge.move(change), moved);
    if (withdrawn > 0 && (await applyWithdrawals(trx, change)) !== withdrawn) throw new ProductsGone();
  });
  return endManualVersions(trx, change);
}

/** A product to be updated was deleted or changed after it was compared, or another transaction holds it. */
export class ProductsGone extends Error {}

/** Tells a conflict with a manual transaction: same products, a deadlock, the same new sku, or a product moved to another partition. */
export function isContention(error: unknown): boolean {
  if (error instanceof ProductsGone) return true;
  const lockNotAvailable = '55P03';
  const deadlockDetected = '40P01';
  const uniqueViolation = '23505';
  const serializationFailure = '40001';
  const { code = '' } = error as { code?: string };
  return [lockNotAvailable, deadlockDetected, uniqueViolation, serializationFailure].includes(code);
}

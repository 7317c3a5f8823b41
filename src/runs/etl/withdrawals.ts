import type { Knex } from 'knex';
import { changeRows, queryRows, type Database } from '../../base/db/database';
import { productLayout } from '../../base/db/layout/product-layout';
import { raw, sql } from '../../base/db/sql';
import { skippedFailure } from '../../feed-format/load-options';
import type { CatalogChange } from '../../catalog/changes/catalog-changes';
import { isProductOf } from './look-ups';
import type { FeedToRun } from './raw-file';
import { FeedFailure, NewerFeed, WithdrawalLimit, type RunCounters } from './run-result';
import type { RunStats } from './run-stats';
import type { StagedFeed } from './staging';

/*
 * A feed with mode `replace` describes its whole collection: active products that no row names are withdrawn. Staged rows, rows
 * unchanged by their digest, and skipped rows name their sku; see `copyRows` and `namedSkus`.
 */

/** Returns the counter of a feed that withdraws nothing. A row without a readable sku may name any product. */
export function withheldCounter(
  { mode }: Pick<FeedToRun, 'mode'>,
  { unreadable }: RunStats,
): Pick<RunCounters, 'is_withdrawal_withheld'> {
  return mode === 'replace' && unreadable > 0 ? { is_withdrawal_withheld: true } : {};
}

/** Makes PostgreSQL read the products of the partner once, regardless of statistics. */
const beforeStoring = raw(`
  drop table if exists pg_temp.feed_withdrawals;
  analyze feed_names (sku);
  set local enable_nestloop = off
`);

const afterStoring = raw('set local enable_nestloop to default; analyze feed_withdrawals');

/** Finds the products that a feed withdraws, and stores them in `feed_withdrawals`. @returns their number */
export async function storeWithdrawals(
  trx: Knex.Transaction,
  { partnerId, collection }: StagedFeed,
): Promise<number> {
  await queryRows(trx, beforeStoring);
  const count = await changeRows(
    trx,
    sql`
    create temporary table feed_withdrawals on commit drop as
    select partner_id, product_id, sku
    from products
    where partner_id = ${partnerId} and collection = ${collection} and withdrawn_at is null
      and not exists (select from feed_rows where feed_rows.sku = products.sku)
      and not exists (select from feed_names where feed_names.sku = products.sku)`,
  );
  await queryRows(trx, afterStoring);
  return count;
}

/** Withdraws the stored products at the time of the statement, which is under the partner's lock. @returns their number */
export function applyWithdrawals(trx: Knex.Transaction, { runId }: CatalogChange): Promise<number> {
  return changeRows(
    trx,
    sql`
    update products set withdrawn_at = statement_timestamp(), run_id = ${runId} from feed_withdrawals
    where ${isProductOf(raw('feed_withdrawals'))} and products.withdrawn_at is null`,
  );
}

/** Maximum number of withdrawals without confirmation in a small collection. */
const uncheckedMax = 10;

/** Maximum number of withdrawals without confirmation: ten, or a fifth of the active products. */
const usualMax = (active: number) => Math.max(uncheckedMax, Math.floor(active / 5));

/** Counts the active products of the feed's collection. */
export async function countActive(
  trx: Knex.Transaction,
  { partnerId, collection }: StagedFeed,
): Promise<number> {
  const { table } = await productLayout(trx);
  const [counted] = await queryRows<{ active: number }>(
    trx,
    sql`select count(*) as active from ${table}
     where partner_id = ${partnerId} and collection = ${collection} and withdrawn_at is null`,
  );
  return counted!.active;
}

/**
 * Checks the number of withdrawals. The caller has compared the products, and holds the partner's lock unless it only plans.
 * @param count - counts the active products before the run, if needed
 * @throws WithdrawalLimit if it exceeds the limit of the request, or else the usual one
 */
export async function checkWithdrawals(
  { collection, maxWithdrawn, maxWithdrawnPercent }: StagedFeed,
  { withdrawn, processed, skipped }: RunCounters,
  count: () => Promise<number>,
): Promise<void> {
  if (withdrawn === 0 || (maxWithdrawn !== null && withdrawn <= maxWithdrawn)) return;
  const loadsNothing = processed === skipped;
  const isUsual = maxWithdrawn === null && maxWithdrawnPercent === null;
  if (isUsual && withdrawn <= uncheckedMax && !loadsNothing) return;
  const active = await count();
  const isEmptied = loadsNothing && withdrawn === active;
  const shareMax =
    maxWithdrawnPercent === null ? usualMax(active) : Math.floor((active * maxWithdrawnPercent) / 100);
  const max = maxWithdrawn ?? shareMax;
  if (withdrawn <= max && !isEmptied) return;
  const limit = withdrawn > max ? `at most ${max} may be withdrawn` : 'none would be left';
  throw new WithdrawalLimit(
    `The run would withdraw ${withdrawn} of ${active} active products of collection ${collection}; ${limit}. ` +
      `To confirm, run it with max_withdrawn=${withdrawn}.`,
    withdrawn,
  );
}

/** Checks the share of skipped rows. @throws FeedFailure if it exceeds the limit of the upload */
export function checkSkipped(feed: Pick<FeedToRun, 'maxSkippedPercent'>, counters: RunCounters): void {
  const failure = skippedFailure(feed, counters);
  if (failure !== undefined) throw new FeedFailure(failure);
}

/**
 * Checks that no newer `replace` feed of the collection has been loaded, unless the request allows it.
 * @throws FeedFailure
 */
export async function checkAge(
  db: Database,
  { feedId, partnerId, mode, collection, allowOlder }: FeedToRun,
): Promise<void> {
  if (mode !== 'replace' || allowOlder) return;
  const newest = await db('feeds')
    .where({ partner_id: partnerId, mode, collection })
    .whereNotNull('last_completed_at')
    .max<{ feed_id: number | null }>('feed_id as feed_id')
    .first();
  const newestId = newest?.feed_id ?? 0;
  if (newestId > feedId) throw new NewerFeed(newestId);
}

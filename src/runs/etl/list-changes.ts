import type { Knex } from 'knex';
import { queryRows } from '../../base/db/database';
import { boundedPageSql, type Found } from '../../base/db/page';
import { sql } from '../../base/db/sql';
import { noSize, type ChangeSize } from './change-order';
import { fieldChangesOf, type FieldChanges, type FieldValue } from './field-changes';
import { mergeSql, type ChangePosition, type ListedChanges } from './load';
import type { StagedFeed } from './staging';

/** A change that `compareProducts` stored. */
export type ProductChange = {
  sku: string;
  /** The name after the change. */
  product_name: string;
  /** After the change; absent without one, and if no field differs. */
  currency?: string;
  changes: FieldChanges['changes'];
  /** See `priceChangeSql`. */
  price_change_percent?: number;
} & (
  | { action: 'insert' | 'update' | 'restore'; row: number; line: number }
  | { action: 'withdraw'; row: null; line: null }
);

interface ChangePage {
  changes: ProductChange[];
  /** Start of the next page; absent when there are no more changes. */
  next?: ChangePosition;
}

/**
 * Lists the changes after a position, in the order of the file or by the change of price; then withdrawals, by product number.
 *
 * A page has at least one change, and at most `limit` changes or a size (see `boundedPageSql`).
 */
export async function listChanges(
  trx: Knex.Transaction,
  feed: StagedFeed,
  listed: ListedChanges,
  withdrawn: number,
): Promise<ChangePage> {
  const { limit, action, size, afterRow, afterProduct } = listed;
  const rows =
    afterProduct === undefined && action !== 'withdraw'
      ? await queryRows<Found<ChangeRow>>(trx, mergeSql(feed).list(listed))
      : [];
  const changes = rows.map(toChange);
  const last = rows.at(-1);
  const position = last ? { size: last.size, afterRow: last.row } : { size, afterRow };
  if (last && last.found > rows.length) return { changes, next: position };
  if (withdrawn === 0 || limit === 0 || (action ?? 'withdraw') !== 'withdraw') return { changes };

  const start = afterProduct ?? 0;
  const rest = limit - changes.length;
  const next = { size: noSize, afterRow: position.afterRow, afterProduct: start };
  if (rest === 0) return { changes, next };
  const { found, withdrawals } = await listWithdrawals(trx, start, rest);
  return {
    changes: [
      ...changes,
      ...withdrawals.map(({ sku, product_name }): ProductChange => ({
        row: null,
        line: null,
        sku,
        product_name,
        action: 'withdraw',
        changes: [],
      })),
    ],
    ...(found > withdrawals.length && { next: { ...next, afterProduct: withdrawals.at(-1)!.product_id } }),
  };
}

interface Withdrawal {
  product_id: number;
  sku: string;
  product_name: string;
}

/** Lists withdrawals by product number. @returns the first of the `found` ones, of which there is one more than the page has room for */
async function listWithdrawals(
  trx: Knex.Transaction,
  afterProduct: number,
  limit: number,
): Promise<{ found: number; withdrawals: Withdrawal[] }> {
  const statement = sql`
    select product_id, sku, (
      select product_name from products
      where (products.partner_id, products.sku, products.product_id)
        = (feed_withdrawals.partner_id, feed_withdrawals.sku, feed_withdrawals.product_id)
    ) as product_name
    from feed_withdrawals where product_id > ${afterProduct} order by product_id limit ${limit + 1}`;
  const withdrawals = await queryRows<Found<Withdrawal>>(trx, boundedPageSql(statement, limit));
  return { found: withdrawals[0]?.found ?? 0, withdrawals };
}

type ChangeRow = {
  row: number;
  line: number;
  sku: string;
  action: 'insert' | 'update' | 'restore';
  price_change: string | null;
  size: ChangeSize;
} & Record<string, FieldValue>;

function toChange(row: ChangeRow): ProductChange {
  const { changes, currency } = fieldChangesOf(row);
  return {
    row: row.row,
    line: row.line,
    sku: row.sku,
    product_name: row.after_product_name!,
    ...(currency !== null && { currency }),
    action: row.action,
    changes,
    ...(row.price_change !== null && { price_change_percent: Number(row.price_change) }),
  };
}

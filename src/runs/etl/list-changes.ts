import type { Knex } from 'knex';
import { queryRows } from '../../base/db/database';
import { sql } from '../../base/db/sql';
import { productColumns, type ProductColumn } from '../../feed-format/columns';
import { mergeSql } from './load';
import type { StagedFeed } from './staging';

/** Value of a product's field; a price is a decimal text. */
type FieldValue = string | null;

/** Position in the list of changes: after a row of the file, or after a withdrawn product. */
export interface ChangePosition {
  afterRow: number;
  /** Absent before the first withdrawal. */
  afterProduct?: number;
}

/** A change that `compareProducts` stored. */
export type ProductChange = {
  sku: string;
  /** Fields with another value; of a new product, all fields with a value. */
  changes: { field: ProductColumn; before: FieldValue; after: FieldValue }[];
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
 * Lists the changes after a position: in the order of the file, then withdrawals by product number.
 *
 * A page has at least one change, and at most `limit` changes or a size (see `boundedPageSql`).
 */
export async function listChanges(
  trx: Knex.Transaction,
  feed: StagedFeed,
  { limit, ...position }: ChangePosition & { limit: number },
  withdrawn: number,
): Promise<ChangePage> {
  const rows =
    position.afterProduct === undefined
      ? await queryRows<ChangeRow>(trx, mergeSql(feed).list(position.afterRow, limit))
      : [];
  const changes = rows.map(toChange);
  const afterRow = rows.at(-1)?.row ?? position.afterRow;
  if (rows.length > 0 && rows[0]!.found > rows.length) return { changes, next: { afterRow } };
  if (withdrawn === 0 || limit === 0) return { changes };

  const rest = limit - changes.length;
  const afterProduct = position.afterProduct ?? 0;
  const found = await queryRows<{ product_id: number; sku: string }>(
    trx,
    sql`select product_id, sku from feed_withdrawals where product_id > ${afterProduct} order by product_id limit ${rest + 1}`,
  );
  const page = found.slice(0, rest);
  const next = { afterRow, afterProduct: page.at(-1)?.product_id ?? afterProduct };
  return {
    changes: [
      ...changes,
      ...page.map(({ sku }): ProductChange => ({
        row: null,
        line: null,
        sku,
        action: 'withdraw',
        changes: [],
      })),
    ],
    ...(found.length > page.length && { next }),
  };
}

type ChangeRow = {
  row: number;
  line: number;
  sku: string;
  is_new: boolean;
  is_restored: boolean;
  found: number;
} & Record<string, FieldValue>;

function toChange(row: ChangeRow): ProductChange {
  return {
    row: row.row,
    line: row.line,
    sku: row.sku,
    action: row.is_new ? 'insert' : row.is_restored ? 'restore' : 'update',
    changes: productColumns
      .filter((field) => field !== 'sku')
      .map((field) => ({ field, before: row[`before_${field}`]!, after: row[`after_${field}`]! }))
      .filter(({ before, after }) => before !== after),
  };
}

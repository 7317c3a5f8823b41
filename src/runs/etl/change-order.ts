import { raw, sql, type Sql } from '../../base/db/sql';

/** Effect on a product. */
export type ChangeAction = 'insert' | 'update' | 'restore' | 'withdraw';

/** Order of changes: the usual one, or the largest change of price in percent first, up or down. */
export type ChangeSort = 'usual' | 'price_change';

/** Size of a change of price in percent, as a decimal text. Changes are listed by descending size. */
export type ChangeSize = string;

/** Size of a change without a percentage, and of all changes in the usual order. */
export const noSize: ChangeSize = '-1';

/** Returns the size from which a list begins. */
export const firstSize = (sort: ChangeSort): ChangeSize => (sort === 'usual' ? noSize : 'Infinity');

/** The price of a product with its currency. */
interface PriceSql {
  price: Sql;
  currency: Sql;
}

/**
 * SQL of the change of a price in percent, rounded to two decimals, half away from zero. Null if there is none, or nothing to
 * compare: no price before or after, 0 before, or another currency.
 */
export const priceChangeSql = (before: PriceSql, after: PriceSql): Sql => sql`
  case when ${before.price} > 0 and ${after.price} <> ${before.price} and ${after.currency} is not distinct from ${before.currency}
    then round(100 * (${after.price} - ${before.price}) / ${before.price}, 2) end`;

/** SQL of the size of a change. @param percent - of `priceChangeSql` */
export const sizeSql = (sort: ChangeSort, percent: Sql): Sql =>
  sort === 'usual' ? raw(`cast(${noSize} as numeric)`) : sql`coalesce(abs(${percent}), ${raw(noSize)})`;

/** The condition that a change follows a position. @param place - orders the changes of one size, ascending */
export const followsSql = (size: Sql, place: Sql, after: { size: ChangeSize; place: number }): Sql => sql`
  (${size} < cast(${after.size} as numeric) or ${size} = cast(${after.size} as numeric) and ${place} > ${after.place})`;

/** The condition that a change has the action; absent: true. */
export const hasActionSql = (action: ChangeAction | undefined): Sql =>
  action === undefined ? raw('true') : sql`action = ${action}`;

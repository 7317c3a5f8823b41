import { queryRows, queryRowsWithin, type Database } from '../../base/db/database';
import { productsFor } from '../../base/db/layout/product-layout';
import { boundedPageSql, type Found } from '../../base/db/page';
import { raw, sql, type Sql } from '../../base/db/sql';
import { inSnapshot } from '../../base/db/transaction';
import {
  allEffects,
  effectsSql,
  isDistinct,
  isNamed,
  listTouched,
  valueOf,
  type EffectTime,
  type RunChange,
} from './change-effects';
import {
  firstSize,
  followsSql,
  hasActionSql,
  priceChangeSql,
  sizeSql,
  type ChangeAction,
  type ChangeSize,
  type ChangeSort,
} from './change-order';
import { changingFields, fieldChangesOf, type FieldChanges, type FieldValue } from './field-changes';
import { allowWholeRead, wholeReadMilliseconds } from './revert-counts';

/** A product with its values before and after, in the history or in a revert. */
export interface ProductEffect extends FieldChanges {
  productId: number;
  sku: string;
  /** The name after the change. */
  productName: string;
  action: ChangeAction;
  /** See `priceChangeSql`; a decimal text. */
  priceChange: string | null;
  /** Size of the change in the order of the list. */
  size: ChangeSize;
  before: EffectState;
  after: EffectState;
}

interface EffectState {
  /** Null for a new product. */
  feedId: number | null;
  withdrawnAt: Date | null;
}

/** Position in the list of effects. */
export interface EffectPosition {
  size: ChangeSize;
  /** The product with a change of this size. */
  afterProduct: number;
}

/** A page of effects: at most `limit` after a position. */
export interface EffectPage extends EffectPosition {
  limit: number;
  sort: ChangeSort;
  /** Absent: all. */
  action?: ChangeAction;
}

interface ListedEffects {
  effects: ProductEffect[];
  /** Whether there are more. */
  hasMore: boolean;
}

/** Lists of effects: changes of the run; changes of a revert; and changes that a revert would overwrite. */
const lists = {
  done: {
    before: 'before',
    after: 'after',
    isInserted: 'before.product_id is null',
    where: 'is_new or is_different',
  },
  reverted: {
    before: 'now',
    after: 'target',
    isInserted: 'false',
    where: 'is_needed and not is_changed_since',
  },
  conflicts: { before: 'now', after: 'target', isInserted: 'false', where: 'is_needed and is_changed_since' },
} as const satisfies Record<
  string,
  { before: EffectTime; after: EffectTime; isInserted: string; where: string }
>;

type EffectRow = Record<string, FieldValue> & {
  product_id: number;
  sku: string;
  action: ChangeAction;
  price_change: string | null;
  size_text: ChangeSize;
  before_feed_id: number | null;
  after_feed_id: number;
  before_withdrawn_at: Date | null;
  after_withdrawn_at: Date | null;
};

/** The values that a list shows, whether they differ, and what the list is sorted and filtered by. */
function shownColumns({ before, after, isInserted }: (typeof lists)[keyof typeof lists]): string {
  const shown = (time: EffectTime, column: string) =>
    column === 'price' ? `cast(trim_scale(${valueOf(time, column)}) as text)` : valueOf(time, column);
  const columns = [...changingFields, 'feed_id', 'withdrawn_at'].flatMap((column) => [
    `${shown(before, column)} as before_${column}`,
    `${shown(after, column)} as after_${column}`,
  ]);
  const isWithdrawn = (time: EffectTime) => `${valueOf(time, 'withdrawn_at')} is not null`;
  const pricesAt = (time: EffectTime) => ({
    price: raw(`(${valueOf(time, 'price')})`),
    currency: raw(`(${valueOf(time, 'currency')})`),
  });
  return [
    ...columns,
    `${isDistinct(before, after, changingFields).sql} or (${isWithdrawn(before)}) <> (${isWithdrawn(after)}) as is_different`,
    `case when ${isInserted} then 'insert' when (${isWithdrawn(before)}) = (${isWithdrawn(after)}) then 'update'
      when ${isWithdrawn(after)} then 'withdraw' else 'restore' end as action`,
    `${priceChangeSql(pricesAt(before), pricesAt(after)).sql} as price_change`,
  ].join(', ');
}

/** Maximum number of products that one statement examines for a page. */
const partMax = 10_000;

/** Lists effects of a run. A page has at least one, unless there are none. */
export async function listEffects(db: Database, change: RunChange, page: EffectPage): Promise<ListedEffects> {
  if (page.sort !== 'usual') return sortEffects(db, change, page);
  // One more effect shows whether there are further ones.
  const wanted = page.limit + 1;
  const effects: ProductEffect[] = [];
  for (let after = page.afterProduct, size = wanted; ; size = Math.min(4 * size, partMax)) {
    const productIds = await listTouched(db, change, after, size);
    const part = { productIds, limit: wanted - effects.length, action: page.action };
    const read = await listKnownEffects(db, 'done', change, part);
    effects.push(...read.effects);
    if (read.hasMore || effects.length === wanted)
      return { effects: effects.slice(0, page.limit), hasMore: true };
    if (productIds.length < size) return { effects, hasMore: false };
    after = Number(productIds.at(-1));
  }
}

/** Lists effects in an order that no index has: each page compares all products of the change. */
function sortEffects(db: Database, change: RunChange, page: EffectPage): Promise<ListedEffects> {
  return inSnapshot(db, async (trx) => {
    await allowWholeRead(trx);
    const effects = await allEffects(trx, change, shownColumns(lists.done));
    const statement = pageSql('done', effects, page);
    const rows = await queryRowsWithin<Found<EffectRow>>(trx, wholeReadMilliseconds, statement);
    return toEffects(rows);
  });
}

/** Lists the effects on these products by number. One more product shows whether there are further ones. */
export async function listKnownEffects(
  db: Database,
  list: keyof typeof lists,
  change: RunChange,
  { productIds, ...page }: { productIds: readonly string[]; limit: number; action?: ChangeAction },
): Promise<ListedEffects> {
  const named = isNamed(productIds);
  const products = await productsFor(db, change.partnerId, named);
  const now = sql`
    select * from ${products.as('products')} where partner_id = ${change.partnerId} and ${named}`;
  const effects = effectsSql(change, shownColumns(lists[list]), now, named);
  const start = { sort: 'usual', size: firstSize('usual'), afterProduct: 0 } as const;
  return toEffects(await queryRows<Found<EffectRow>>(db, pageSql(list, effects, { ...start, ...page })));
}

function pageSql(list: keyof typeof lists, effects: Sql, page: EffectPage): Sql {
  const { sort, size, afterProduct, action, limit } = page;
  const statement = sql`
    select *, cast(size as text) as size_text
    from (select *, ${sizeSql(sort, raw('price_change'))} as size from (${effects}) as effect) as effect
    where (${raw(lists[list].where)}) and ${hasActionSql(action)}
      and ${followsSql(raw('size'), raw('product_id'), { size, place: afterProduct })}
    order by size desc, product_id limit ${raw(limit + 1)}`;
  return boundedPageSql(statement, limit);
}

const toEffects = (rows: readonly Found<EffectRow>[]): ListedEffects => ({
  effects: rows.map(toEffect),
  hasMore: rows.length > 0 && rows[0]!.found > rows.length,
});

function toEffect(row: EffectRow): ProductEffect {
  return {
    productId: row.product_id,
    sku: row.sku,
    productName: row.after_product_name!,
    action: row.action,
    ...fieldChangesOf(row),
    priceChange: row.price_change,
    size: row.size_text,
    before: { feedId: row.before_feed_id, withdrawnAt: row.before_withdrawn_at },
    after: { feedId: row.after_feed_id, withdrawnAt: row.after_withdrawn_at },
  };
}

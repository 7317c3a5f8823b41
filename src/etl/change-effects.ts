import type { Database } from '../db/database';
import { boundedPageSql } from '../db/page';
import { isDistributed, type ProductLayout } from '../db/layout';
import { productsFor } from '../db/products-by-number';
import { sql } from '../db/sql';
import { productColumns, type ProductColumn } from '../feed-format/columns';

/*
 * A change of a catalog, as the history has it: each product that it wrote, as it was before, as the change left it, and as it
 * is now. Lists of what a run did and reverts read the same. A product has no version before the change that inserted it.
 */

/** A change by a run of a job. `feedId` is the feed of the job. */
export interface RunChange {
  partnerId: number;
  feedId: number;
  runId: number;
}

/** Fields that can change; the sku stays. */
const fields = productColumns.filter((column) => column !== 'sku');

/** What a revert gives back, and what distinguishes a product from how the change left it. */
const writtenColumns = ['feed_id', 'record_offset', 'collection', 'withdrawn_at', ...fields] as const;

/** Versions of the products of a page that the change ended, and those that a later change ended. */
const versionedSql = `
  (
    select product_id from product_versions
    where until_run_id = :runId and partner_id = :partnerId and product_id > :afterProduct
    order by product_id limit :limit
  ) union (
    select product_id from product_versions
    where run_id = :runId and partner_id = :partnerId and product_id > :afterProduct
    order by product_id limit :limit
  )`;

/** Products of a page that the change inserted, with its feed, and that no change wrote since. All others have a version. */
const insertedSql = `
  select product_id from products
  where partner_id = :partnerId and feed_id = :feedId and run_id = :runId and product_id > :afterProduct`;

/** The condition that restricts a statement to products that are named. */
const isNamedSql = 'and product_id = any(cast(:productIds as bigint[]))';

/**
 * The products that the change wrote, read from the table of the layout at once: for statements that join them.
 * @param andNamed - restricts them to products that are named; empty: their versions name them
 */
export const writtenProductsSql = ({ table }: ProductLayout, andNamed: string) => `
  select * from ${table} as stored
  where partner_id = :partnerId ${
    andNamed ||
    `and (
      feed_id = :feedId and run_id = :runId or product_id in (
        select product_id from product_versions where until_run_id = :runId and partner_id = :partnerId
        union
        select product_id from product_versions where run_id = :runId and partner_id = :partnerId
      )
    )`
  }`;

type State = 'before' | 'after' | 'now' | 'target';

/** The value of a column: as the change left it, or as a revert gives it back. */
function valueOf(state: State, column: string): string {
  switch (state) {
    case 'after':
      return `case when after.product_id is null then now.${column} else after.${column} end`;
    case 'target': {
      const inserted =
        column === 'withdrawn_at' ? 'coalesce(now.withdrawn_at, statement_timestamp())' : `now.${column}`;
      return `case when before.product_id is null then ${inserted} else before.${column} end`;
    }
    default:
      return `${state}.${column}`;
  }
}

const rowOf = (state: State, columns: readonly string[]) =>
  `(${columns.map((column) => valueOf(state, column)).join(', ')})`;

const isDistinct = (one: State, other: State, columns: readonly string[]) =>
  `(${rowOf(one, columns)} is distinct from ${rowOf(other, columns)})`;

/**
 * Effects of the change with `columns`. A product that was deleted since has none, nor has one that was only changed by hand: the
 * version before it is external, and its record and collection stayed the same.
 *
 * Statistics cannot know a change that was just made: PostgreSQL expects one row, and would look through all rows of the change for
 * each of them. A full join is a hash or merge join always. It stays one as no condition says that `now` exists by a plain column.
 * @param now - an item of a `from` with the products of the partner, or those that are named
 * @param andNamed - restricts the versions to the same products
 */
const effectsSql = (columns: string, now: string, andNamed: string) => `
  select now.product_id, now.sku, ${columns},
    before.product_id is null as is_new,
    ${isDistinct('target', 'now', writtenColumns)} as is_needed,
    ${isDistinct('now', 'after', writtenColumns)} as is_changed_since
  from ${now} full join (
    select * from product_versions where partner_id = :partnerId and until_run_id = :runId ${andNamed}
  ) as before on before.product_id = now.product_id full join (
    select * from product_versions where partner_id = :partnerId and run_id = :runId ${andNamed}
  ) as after on after.product_id = now.product_id
  where coalesce(now.product_id, 0) > 0
    and (before.product_id is not null or after.product_id is not null or now.feed_id = :feedId and now.run_id = :runId)
    and not (
      coalesce(before.is_external, false) and not ${isDistinct('before', 'after', ['feed_id', 'record_offset', 'collection'])}
      and (before.withdrawn_at is null) = (${valueOf('after', 'withdrawn_at')} is null)
    )`;

/** An item of a `from`: the products of the partner as they are now. */
const productsSql = (andNamed: string, version = 'null') =>
  `(select *, ${version} as seen_version from products where partner_id = :partnerId ${andNamed}) as now`;

/** Number of changes up to which products are looked up by number, 7 µs each. For more, all of the partner are read, 1 µs each. */
const lookUpsMax = 50_000;

/**
 * Builds a statement of the effects of a revert: the values that it gives back, what was withdrawn, and whether the product needs
 * it (`is_needed`) and is as the change left it (`not is_changed_since`), in its row version `seen_version`.
 * @param version - the version of a row of `products`
 * @returns the statement, and its bindings
 */
export async function revertEffects(
  db: Database,
  change: RunChange,
  version: 'xmin' | 'null',
): Promise<{ sql: string; andNamed: string; bindings: RunChange & { productIds: string[] } }> {
  const productIds = await listTouched(db, change, 0, lookUpsMax + 1);
  const andNamed = productIds.length <= lookUpsMax ? isNamedSql : '';
  const columns = writtenColumns.map((column) => `${valueOf('target', column)} as ${column}`);
  return {
    sql: effectsSql(
      `now.partner_id, now.seen_version, now.withdrawn_at is not null as was_withdrawn, ${columns.join(', ')}`,
      productsSql(andNamed, version),
      andNamed,
    ),
    andNamed,
    bindings: { ...change, productIds: andNamed === '' ? [] : productIds },
  };
}

/** The assignments of a revert, from a relation with the columns of `revertEffects`. */
export const assignmentsSql = (from: string) =>
  writtenColumns.map((column) => `${column} = ${from}.${column}`).join(', ');

/** Value of a field; a price is a decimal text. */
export type FieldValue = string | null;

/** A product with its values before and after, as the history or a revert has them. */
export interface ProductEffect {
  productId: number;
  sku: string;
  isNew: boolean;
  /** The fields that differ. */
  changes: { field: ProductColumn; before: FieldValue; after: FieldValue }[];
  before: EffectState;
  after: EffectState;
}

interface EffectState {
  /** Null for a new product. */
  feedId: number | null;
  withdrawnAt: Date | null;
}

/** A page of effects: at most `limit` after a product. */
export interface EffectPage {
  afterProduct: number;
  limit: number;
}

/** A page of effects on these products, of which one more shows whether there are further ones. */
interface KnownEffectPage {
  productIds: readonly string[];
  limit: number;
}

/** Lists of effects: what the change did; what a revert would do; and what it would overwrite. */
const lists = {
  done: { before: 'before', after: 'after', where: 'is_new or is_different' },
  reverted: { before: 'now', after: 'target', where: 'is_needed and not is_changed_since' },
  conflicts: { before: 'now', after: 'target', where: 'is_needed and is_changed_since' },
} as const satisfies Record<string, { before: State; after: State; where: string }>;

type EffectRow = Record<string, FieldValue> & {
  product_id: number;
  sku: string;
  is_new: boolean;
  before_feed_id: number | null;
  after_feed_id: number;
  before_withdrawn_at: Date | null;
  after_withdrawn_at: Date | null;
  found: number;
};

function listSql({ before, after, where }: (typeof lists)[keyof typeof lists], now: string): string {
  const shown = (state: State, column: string) =>
    column === 'price' ? `cast(trim_scale(${valueOf(state, column)}) as text)` : valueOf(state, column);
  const columns = [...fields, 'feed_id', 'withdrawn_at'].flatMap((column) => [
    `${shown(before, column)} as before_${column}`,
    `${shown(after, column)} as after_${column}`,
  ]);
  const isDifferent = `${isDistinct(before, after, fields)}
    or (${valueOf(before, 'withdrawn_at')} is null) <> (${valueOf(after, 'withdrawn_at')} is null) as is_different`;
  return `
    select * from (${effectsSql([...columns, isDifferent].join(', '), now, isNamedSql)}) as effect
    where ${where} order by product_id limit :limit + 1`;
}

/** Maximum number of products that are looked through for a page in one statement. */
const partMax = 10_000;

/** Lists effects by product number. A page has at least one, unless there is none. @returns whether there are more */
export async function listEffects(
  db: Database,
  list: keyof typeof lists,
  change: RunChange,
  page: EffectPage | KnownEffectPage,
): Promise<{ effects: ProductEffect[]; hasMore: boolean }> {
  if ('productIds' in page) return readEffects(db, list, change, page);
  // One more effect shows whether there are further ones.
  const wanted = page.limit + 1;
  const effects: ProductEffect[] = [];
  for (let after = page.afterProduct, size = wanted; ; size = Math.min(4 * size, partMax)) {
    const productIds = await listTouched(db, change, after, size);
    const read = await readEffects(db, list, change, { productIds, limit: wanted - effects.length });
    effects.push(...read.effects);
    if (read.hasMore || effects.length === wanted)
      return { effects: effects.slice(0, page.limit), hasMore: true };
    if (productIds.length < size) return { effects, hasMore: false };
    after = Number(productIds.at(-1));
  }
}

/** Reads the effects on known products. Distributed products are read before: a statement joins them with local tables. */
async function readEffects(
  db: Database,
  list: keyof typeof lists,
  change: RunChange,
  { productIds, limit }: KnownEffectPage,
): Promise<{ effects: ProductEffect[]; hasMore: boolean }> {
  const bindings = { ...change, productIds, limit };
  let now = productsSql(isNamedSql);
  if (await isDistributed(db)) {
    const ofIds = sql`product_id = any (cast(${productIds as string[]} as bigint[]))`;
    const products = await productsFor(db, change.partnerId, ofIds);
    const source = products.as('now');
    now = source.sql.replace('?', ':products');
    Object.assign(bindings, { products: source.bindings[0] });
  }
  const { rows } = await db.raw<{ rows: EffectRow[] }>(
    boundedPageSql(listSql(lists[list], now), ':limit'),
    bindings as never,
  );
  const effects = rows.map((row) => toEffect(row, list === 'done' && row.is_new));
  return { effects, hasMore: rows.length > 0 && rows[0]!.found > rows.length };
}

/** Lists the first products after a number that the change wrote. Shards have no versions: these are read apart. */
async function listTouched(
  db: Database,
  change: RunChange,
  afterProduct: number,
  limit: number,
): Promise<string[]> {
  const bindings = { ...change, afterProduct, limit };
  const listIds = async (sql: string) => {
    const { rows } = await db.raw<{ rows: { product_id: number }[] }>(
      `select product_id from (${sql}) as touched order by product_id limit :limit`,
      bindings as never,
    );
    return rows.map(({ product_id }) => product_id);
  };
  const ids = [...(await listIds(versionedSql)), ...(await listIds(insertedSql))];
  return [...new Set(ids)]
    .sort((one, other) => one - other)
    .slice(0, limit)
    .map(String);
}

function toEffect(row: EffectRow, isNew: boolean): ProductEffect {
  return {
    productId: row.product_id,
    sku: row.sku,
    isNew,
    changes: fields
      .map((field) => ({ field, before: row[`before_${field}`]!, after: row[`after_${field}`]! }))
      .filter(({ before, after }) => before !== after),
    before: { feedId: row.before_feed_id, withdrawnAt: row.before_withdrawn_at },
    after: { feedId: row.after_feed_id, withdrawnAt: row.after_withdrawn_at },
  };
}

/** A change of a run whose history is kept, or that has changed nothing. */
export type KeptChange = { change: RunChange | null } | 'not kept';

/**
 * Finds the change that a completed run made. Its history is kept unless retention has removed versions that the change, or a
 * later one, has ended; of the last change of each collection, retention removes none.
 * @param isCounted - whether the run has changed products
 */
export async function findRunChange(
  db: Database,
  at: { jobId: number; run: number },
  isCounted: boolean,
): Promise<KeptChange> {
  const { rows } = await db.raw<{ rows: (RunChange & { isKept: boolean })[] }>(
    `select change.run_id as "runId", change.partner_id as "partnerId", feed_id as "feedId",
       change.pruned_at is null and (
         not exists (
           select from catalog_versions as later
           where later.partner_id = change.partner_id and later.run_id > change.run_id and later.pruned_at is not null
         ) or change.run_id = (
           select max(run_id)
           from catalog_versions as other join validation_jobs using (job_id) join feeds as loaded using (feed_id)
           where other.partner_id = feeds.partner_id and loaded.partner_id = feeds.partner_id and loaded.collection = feeds.collection
         )
       ) as "isKept"
     from catalog_versions as change join validation_jobs using (job_id) join feeds using (feed_id)
     -- By the index of the partner: the changes of all partners are many.
     where (job_id, run) = (:jobId, :run) and change.partner_id = feeds.partner_id`,
    at,
  );
  const [found] = rows;
  if (!found) return isCounted ? 'not kept' : { change: null };
  const { isKept, ...change } = found;
  return isKept ? { change } : 'not kept';
}

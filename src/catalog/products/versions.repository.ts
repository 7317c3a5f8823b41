import { queryRows, type Database } from '../../base/db/database';
import { partnerOfProduct, productLayout, productsFor } from '../../base/db/layout/product-layout';
import { boundedPageSql, type Found } from '../../base/db/page';
import { raw, sql } from '../../base/db/sql';
import type { PartnerScope } from '../../base/caller';
import { microsSql, type Micros } from './point-in-time';
import type { ProductRow } from './products.repository';

/** The end of a version whose manual changes no run has ended yet: it is in force in the history. */
export const pendingRunId = '9223372036854775807';

/** The values of a product in a version. */
export const versionColumns = [
  'partner_id',
  'product_id',
  'feed_id',
  'sku',
  'product_name',
  'description',
  'brand',
  'category',
  'price',
  'currency',
  'availability',
  'created_at',
  'withdrawn_at',
] as const;

/** A product of a partner. */
export interface ProductKey {
  partnerId: number;
  productId: number;
}

/** A product between two changes. `price` is a decimal text without trailing zeros. */
export interface VersionRow extends Omit<ProductRow, 'product_id' | 'partner_name'> {
  /** The change that began it; 0: it existed when the history began. */
  run_id: number;
  /** Inclusive. */
  valid_from: Micros;
  /** Exclusive; null for the version in force. */
  valid_to: Micros | null;
  /** The job and the run that began it; null for a single withdrawal, and for change 0. */
  job_id: number | null;
  run: number | null;
  /** Whether the change that ended it includes a manual one. */
  is_external: boolean;
  /** Whether versions that ended when it began may have been removed; without a previous one, it may not be the first. */
  is_pruned: boolean;
}

export async function findPartnerOfProduct(
  db: Database,
  productId: number,
  scope: PartnerScope,
): Promise<number | undefined> {
  const statement = sql`select ${await partnerOfProduct(db, productId, scope)} as partner_id`;
  const [row] = await queryRows<{ partner_id: number | null }>(db, statement, true);
  return row?.partner_id ?? undefined;
}

const [price, others] = ['trim_scale(price) as price', versionColumns.filter((name) => name !== 'price')];
const columns = raw([...others, price].join(', '));

/**
 * Reads versions of a product, newest first: the one in force first.
 * @param page - `untilRunId`: only versions that ended with this change or earlier. `limit`: at most as many, or fewer if they are
 * large, two at least; without it: all of them. `isFirst`: from the first one on
 */
export async function findVersions(
  db: Database,
  product: ProductKey,
  page: VersionPage = {},
): Promise<Found<VersionRow>[]> {
  return readOnce(db, () => readVersions(db, product, page), isTwice);
}

/**
 * Repeats a read that has seen a product twice: a change of a product on a shard may commit between the reads of product and
 * versions, and the product is then also the version that it ended.
 */
export async function readOnce<T>(
  db: Database,
  read: () => Promise<T>,
  hasSeenTwice: (result: T) => boolean,
): Promise<T> {
  const { readsMax } = await productLayout(db);
  let result = await read();
  for (let reads = 1; reads < readsMax && hasSeenTwice(result); reads++) result = await read();
  return result;
}

const isTwice = ([first, second]: readonly VersionRow[]) =>
  first?.valid_to === null && second !== undefined && first.run_id === second.run_id;

interface VersionPage {
  untilRunId?: number;
  limit?: number;
  isFirst?: boolean;
}

async function readVersions(
  db: Database,
  { partnerId, productId }: ProductKey,
  { untilRunId, limit, isFirst = false }: VersionPage,
): Promise<Found<VersionRow>[]> {
  const isProduct = sql`(partner_id, product_id) = (${partnerId}, ${productId})`;
  const products = await productsFor(db, partnerId, sql`product_id = ${productId}`);
  const isInPage = untilRunId === undefined ? raw('true') : sql`until_run_id <= ${untilRunId}`;
  const limited = raw(limit === undefined ? '' : `limit ${limit}`);
  const direction = raw(isFirst ? 'asc' : 'desc');
  const statement = sql`
    select version.*, began.job_id, began.run, version.run_id = 0 or began.pruned_at is not null as is_pruned,
      ${microsSql('greatest(began.effective_at, case when version.run_id = 0 then version.created_at end)')} as valid_from,
      ${microsSql('ended.effective_at')} as valid_to
    from (
      select ${columns}, coalesce(run_id, 0) as run_id, cast(null as bigint) as until_run_id, false as is_external
      from ${products.as('current')}
      where ${isProduct} and ${raw(untilRunId === undefined ? 'true' : 'false')} and not exists (
        select from product_versions where ${isProduct} and until_run_id = ${raw(pendingRunId)}
      )
      union all (
        select ${columns}, coalesce(run_id, 0), until_run_id, is_external
        from product_versions where ${isProduct} and ${isInPage} order by product_versions.until_run_id ${direction} ${limited}
      )
    ) as version
    join catalog_versions as began on began.run_id = version.run_id
    left join catalog_versions as ended on ended.run_id = version.until_run_id
    order by version.run_id ${direction} ${limited}`;
  return queryRows<Found<VersionRow>>(
    db,
    limit === undefined ? statement : boundedPageSql(statement, limit, 2),
  );
}

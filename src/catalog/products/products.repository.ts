import { queryRows, type Database } from '../../base/db/database';
import { findByNumber, isWithin, partnerName } from '../../base/db/layout/product-layout';
import { pageBytesMax } from '../../base/db/page';
import { raw, sql, type Sql } from '../../base/db/sql';
import type { Settled } from '../../base/concurrency/batcher';
import type { PartnerScope } from '../../base/caller';
import { formatId } from '../../base/ids';
import { toPage, type Page } from '../../base/pagination';

/** `price` is an exact decimal text. */
export interface ProductRow {
  product_id: number;
  feed_id: number;
  partner_name: string;
  sku: string;
  product_name: string;
  description: string | null;
  brand: string | null;
  category: string | null;
  price: string | null;
  currency: string | null;
  availability: string | null;
  created_at: Date;
  withdrawn_at: Date | null;
  /** Whether its description is omitted, see `withoutExcessSql`; absent: it is not. */
  is_cut?: boolean | null;
}

export const sortFields = ['product_id', 'price', 'product_name', 'brand', 'category', 'created_at'] as const;
export type SortField = (typeof sortFields)[number];
export const sortOrders = ['asc', 'desc'] as const;
export type SortOrder = (typeof sortOrders)[number];

export interface ProductListing {
  scope: PartnerScope;
  filter: {
    partner_name?: string;
    /** An identifier; an unknown one matches nothing. */
    feed_id?: string;
    sku?: string;
    brand?: string;
    category?: string;
    availability?: string;
    /** Beginnings of words, as `searchWords` returns them. */
    words?: string[];
    include_withdrawn?: boolean;
  };
  sort: { field: SortField; order: SortOrder };
  /** Start of the page; only for `product_id` and `created_at`. */
  afterProductId?: number;
  limit: number;
}

/** The default page size, plus one row. Its statements are prepared. */
export const usualLimit = 11;

/** The columns of a `ProductRow` that are columns of `products`. */
export const ownColumns = `
  product_id, feed_id, sku, product_name, description, brand, category, price, currency, availability, created_at,
  withdrawn_at
`;

/** The columns of a `ProductRow`, from a table or query named `products`. */
export const rowColumns = `${partnerName}, ${ownColumns}`;

/** Rows whose descriptions are read regardless of their size, at most 2.9 MB: the default page has no further cost. */
const wholeRows = 11;

/**
 * Omits descriptions from the row on where they exceed a page: a hundred of the longest are 26 MB. The other columns are short, and
 * all rows remain. Descriptions are measured without being read.
 * @param products - a query of at most `limit` rows in their order, with `ownColumns` and the columns `others`
 */
export function withoutExcessSql(products: Sql, limit: number, others = 'partner_name'): Sql {
  if (limit <= wholeRows) return products;
  const description = 'case when is_cut then null else description end as description';
  return sql`
    select ${raw(others)}, ${raw(ownColumns.replace('description', description))}, is_cut
    from (
      select page.*, sum(octet_length(description)) over in_order - octet_length(description) > ${raw(pageBytesMax)} as is_cut
      from (${products}) as page
      window in_order as (rows unbounded preceding)
    ) as measured`;
}

/** Makes a page of `rows`, which has `limit + 1` rows if more exist. It ends where the descriptions exceed it, as JSON. */
export function toProductPage(rows: readonly ProductRow[], limit: number): Page<ProductRow> {
  let bytes = 0;
  const end = rows.findIndex(({ description, is_cut: isCut }, at) => {
    bytes += description === null ? 0 : jsonBytes(description);
    return at > 0 && (isCut === true || bytes > pageBytesMax);
  });
  const items = end < 0 ? rows : rows.slice(0, end);
  return toPage(items, limit, ({ product_id }) => formatId('PR', product_id), rows.length);
}

/** Maximum length of a short text: a hundred of them are far below the limit of a page. */
const shortCharacters = 1_000;

const jsonBytes = (text: string) =>
  text.length <= shortCharacters ? text.length : Buffer.byteLength(JSON.stringify(text));

/** The product of a request. */
export interface AskedProduct {
  productId: number;
  scope: PartnerScope;
}

/**
 * Finds products by number.
 * @returns undefined for products that do not exist for their caller; an error for products on a lost node of Citus
 */
export async function findProducts(
  db: Database,
  asked: readonly AskedProduct[],
): Promise<Settled<ProductRow | undefined>[]> {
  const numbers = [...new Set(asked.map(({ productId }) => productId))];
  const found = await findByNumber<ProductRow>(db, ownColumns, numbers);
  return asked.map(({ productId, scope }) => {
    const one = found.get(productId);
    const isVisible = one && ('error' in one || scope === null || scope === one.result.partner_name);
    return isVisible ? one : { result: undefined };
  });
}

/** Locks an active product. @returns its partner; undefined when there is no such product */
export async function lockActiveProduct(
  trx: Database,
  { productId, scope }: AskedProduct,
): Promise<number | undefined> {
  const statement = sql`
    select partner_id from products
    where product_id = ${productId} and withdrawn_at is null and ${await isWithin(trx, productId, scope)}
    for no key update`;
  const [active] = await queryRows<{ partner_id: number }>(trx, statement);
  return active?.partner_id;
}

/**
 * Withdraws a product by the change `runId`, which no run makes: the log of manual changes drops the digests of the partner.
 */
export async function markWithdrawn(
  trx: Database,
  { productId, partnerId, runId }: { productId: number; partnerId: number; runId: number },
): Promise<void> {
  const statement = sql`
    update products set withdrawn_at = statement_timestamp(), run_id = ${runId}
    where product_id = ${productId} and partner_id = ${partnerId}`;
  await queryRows(trx, statement);
}

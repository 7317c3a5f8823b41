import type { Settled } from '../../concurrency/batcher';
import type { PartnerScope } from '../../caller';
import { queryRows, type Database } from '../database';
import { listOf, raw, sql, type Sql } from '../sql';
import type { ProductLayout, ProductSource } from './layout-interface';

const nothing = () => Promise.resolve();

const isOfScope = (scope: PartnerScope) =>
  scope === null
    ? raw('true')
    : sql`partner_id = (select partner_id from partners where partner_name = ${scope})`;

/** The name of a product's partner, for a table or query named `products`. */
export const partnerName =
  '(select partner_name from partners where partners.partner_id = products.partner_id) as partner_name';

export const plainProducts: ProductSource = { as: (alias) => raw(`products as ${alias}`) };

/** Layout where `products` is a table of the database itself. */
export const plainLayout: ProductLayout = {
  table: raw('products'),
  partnerTables: [],
  // A statement reads one snapshot.
  readsMax: 1,
  readBefore: () => raw(''),
  choose: ({ plain }) => plain,

  takeWorkingCopy: nothing,
  writeBack: nothing,
  dropWorkingCopy: nothing,
  moveNumbers: nothing,
  recordProducts: nothing,

  ofPartner: (_db, partner) => Promise.resolve(partner ? sql`partner_id = ${partner}` : raw('true')),
  isWithin: (_db, _productId, scope) => Promise.resolve(isOfScope(scope)),
  partnerOfProduct: (_db, productId, scope) => Promise.resolve(partnerOf(productId, scope)),

  findByNumber,
  async findStart(db, productId, scope) {
    const statement = sql`select from products where product_id = ${productId} and ${isOfScope(scope)}`;
    const [start] = await queryRows<object>(db, statement, true);
    return start;
  },

  productsFor: () => Promise.resolve(plainProducts),
  productFor: (_db, productId, scope) =>
    Promise.resolve({
      as: (alias) =>
        sql`(select * from products where product_id = ${productId} and ${isOfScope(scope)}) as ${raw(alias)}`,
    }),
  productNumbers: (_trx, numbers) => Promise.resolve(numbers),
  isUnused: () =>
    Promise.resolve(
      raw(`not exists (
        select from products where products.partner_id = feeds.partner_id and products.feed_id = feeds.feed_id
      )`),
    ),
};

function partnerOf(productId: number, scope: PartnerScope): Sql {
  const partners =
    scope === null
      ? raw('select partner_id from partners')
      : sql`select partner_id from partners where partner_name = ${scope}`;
  return sql`(
    select partner_id from products where product_id = ${productId} and partner_id in (${partners})
    union all
    select partner_id from product_versions where product_id = ${productId} and partner_id = any (array(${partners}))
    limit 1
  )`;
}

/**
 * Finds products by one statement. For few numbers of products it is prepared, with a parameter for each: for an array, PostgreSQL
 * would expect ten, and plan anew each time.
 */
async function findByNumber<Row extends { product_id: number }>(
  db: Database,
  columns: string,
  productIds: readonly number[],
): Promise<Map<number, Settled<Row & { partner_name: string }>>> {
  const prepared = 2 ** Math.ceil(Math.log2(productIds.length));
  const parameters = Array.from(
    { length: prepared },
    (_, at) => sql`${productIds[Math.min(at, productIds.length - 1)]!}`,
  );
  const rows = await queryRows<Row & { partner_name: string }>(
    db,
    sql`select ${raw(partnerName)}, ${raw(columns)} from products where product_id in (${listOf(parameters)})`,
    true,
  );
  return new Map(rows.map((row) => [row.product_id, { result: row }]));
}

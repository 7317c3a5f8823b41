import type { Database } from '../database';
import { connectionOf, poolIdentity, releaseConnection } from '../dialect';
import { distributedLayout } from './distributed';
import { localProducts, tablesSql, type DistributedTables } from './distributed-tables';
import type { ProductLayout, ProductOperations } from './layout-interface';
import { plainLayout } from './plain';

export { partnerName } from './plain';

/** By the identity of a pool. */
const layouts = new WeakMap<object, Promise<ProductLayout>>();

/** Reads the layout of `products`, once per pool. @param db - a pool, or a transaction */
export function productLayout(db: Database): Promise<ProductLayout> {
  const pool = poolIdentity(db);
  const known = layouts.get(pool);
  if (known) return known;
  const layout = readLayout(db);
  layouts.set(pool, layout);
  layout.catch(() => layouts.delete(pool));
  return layout;
}

/** Reads on the connection itself: the statements of requests are counted. */
async function readLayout(db: Database): Promise<ProductLayout> {
  const connection = await connectionOf(db);
  try {
    const { rows } = await connection.query<DistributedTables>(tablesSql);
    return rows[0] ? distributedLayout(rows[0]) : plainLayout;
  } finally {
    await releaseConnection(db, connection);
  }
}

/** An operation in the layout of its database. */
function operation<Name extends keyof ProductOperations>(name: Name): ProductOperations[Name] {
  type Operation = (db: Database, ...others: unknown[]) => Promise<unknown>;
  const run: Operation = async (db, ...others) =>
    ((await productLayout(db))[name] as Operation)(db, ...others);
  return run as ProductOperations[Name];
}

export const takeWorkingCopy = operation('takeWorkingCopy');
export const writeBack = operation('writeBack');
export const dropWorkingCopy = operation('dropWorkingCopy');
export const moveNumbers = operation('moveNumbers');
export const recordProducts = operation('recordProducts');
export const ofPartner = operation('ofPartner');
export const isWithin = operation('isWithin');
export const partnerOfProduct = operation('partnerOfProduct');
export const findByNumber = operation('findByNumber');
export const findStart = operation('findStart');
export const productsFor = operation('productsFor');
export const productFor = operation('productFor');
export const productNumbers = operation('productNumbers');
export const isUnused = operation('isUnused');

/**
 * Requires that products are not distributed now; ignores the layout that this process has read before.
 * @param query - executes a statement
 * @throws the error of `refuse`
 */
export async function requireLocalProducts(
  query: (text: string) => Promise<{ isLocal: boolean }[]>,
  refuse: () => Error,
): Promise<void> {
  const [found] = await query(`select to_regclass('${localProducts}') is null as "isLocal"`);
  if (!found!.isLocal) throw refuse();
}

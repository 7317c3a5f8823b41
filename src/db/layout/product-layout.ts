import type { Knex } from 'knex';
import { connectionOf, type Database } from '../database';
import { distributedLayout } from './distributed';
import { localProducts, tablesSql, type DistributedTables } from './distributed-tables';
import type { ProductLayout, ProductOperations } from './layout-interface';
import { plainLayout } from './plain';

export { partnerName } from './plain';

/** By the settings of a pool, which its transactions share. */
const layouts = new WeakMap<object, Promise<ProductLayout>>();

/** Reads how `products` is stored, once for each pool. @param db - a pool, or a transaction */
export function productLayout(db: Database): Promise<ProductLayout> {
  const { config } = db.client as Knex.Client;
  const known = layouts.get(config);
  if (known) return known;
  const layout = readLayout(db);
  layouts.set(config, layout);
  layout.catch(() => layouts.delete(config));
  return layout;
}

/** Reads on the connection itself: the statements of requests are counted. */
async function readLayout(db: Database): Promise<ProductLayout> {
  const connection = await connectionOf(db);
  try {
    const { rows } = await connection.query<DistributedTables>(tablesSql);
    return rows[0] ? distributedLayout(rows[0]) : plainLayout;
  } finally {
    await (db.client as Knex.Client).releaseConnection(connection);
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
 * Requires that products are not distributed now, whatever this process has read before.
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

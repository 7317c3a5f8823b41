import type { Knex } from 'knex';
import type { Settled } from '../../concurrency/batcher';
import type { PartnerScope } from '../../caller';
import type { Database } from '../database';
import type { Sql } from '../sql';

/**
 * Operations that depend on the storage of `products`: a plain table, perhaps in partitions, or distributed by partner with Citus. The
 * layout never changes while a service runs: services are stopped for `migrate --distribute`.
 * `product-layout.ts` chooses one of the two implementations, and has a function for each operation.
 */
export interface ProductLayout extends ProductOperations {
  /** The stored products, also beside a working copy, which hides only the unqualified name. */
  table: Sql;
  /** Further tables with rows of a partner. */
  partnerTables: readonly string[];
  /** Maximum number of reads of a product and its versions, until both are of one moment. */
  readsMax: number;
  /** The beginning of a statement that joins `products` with local tables: the products that it needs, read before, or nothing. */
  readBefore: (products: Sql) => Sql;
  /** The form of a statement that the layouts do not share. Only `src/catalog/products/pages` has such forms. */
  choose: <Form>(forms: Record<'plain' | 'distributed', Form>) => Form;
}

export interface ProductOperations {
  /**
   * Prepares to write products, and replaces an earlier working copy. Distributed products are written in a working copy.
   * @param fills - copy the products that the work can touch
   * @param options - `isWritten`: whether products are changed at all: with triggers, for `writeBack`
   */
  takeWorkingCopy(
    trx: Knex.Transaction,
    fills: readonly Fill[],
    options?: { isWritten?: boolean },
  ): Promise<void>;
  /**
   * Writes the changed products of these partners back.
   * @throws a serialization failure when a product has been changed since it was copied
   */
  writeBack(trx: Knex.Transaction, partnerIds: readonly number[]): Promise<void>;
  /** Drops the working copy with its changes, if there is one. */
  dropWorkingCopy(trx: Knex.Transaction): Promise<void>;
  /** Moves the numbers of a partner's products to another partner, before they are written back. */
  moveNumbers(trx: Knex.Transaction, partners: { fromId: number; intoId: number }): Promise<void>;
  /** Records changes of a partner's products that no trigger has recorded. */
  recordProducts(trx: Knex.Transaction, partnerId: number): Promise<void>;

  /** The condition that a product belongs to the only partner; undefined if there is no such partner. @param partner - a scalar subquery */
  ofPartner(db: Database, partner: Sql | undefined): Promise<Sql | undefined>;
  /** The condition that the product with a number is within a scope. */
  isWithin(db: Database, productId: number, scope: PartnerScope): Promise<Sql>;
  /** The partner of a product as a scalar expression; of a deleted one, by its versions. Null: unknown in the scope. */
  partnerOfProduct(db: Database, productId: number, scope: PartnerScope): Promise<Sql>;
  /**
   * Finds products by number, with the names of their partners.
   * @param columns - contains `product_id`
   * @returns an error for products on a lost node of Citus
   */
  findByNumber<Row extends { product_id: number }>(
    db: Database,
    columns: string,
    productIds: readonly number[],
  ): Promise<Map<number, Settled<Row & { partner_name: string }>>>;
  /**
   * Finds where a page by time begins after a product: its creation time, if the statement of the page needs it.
   * @returns undefined if there is no such product in the scope
   */
  findStart(
    db: Database,
    productId: number,
    scope: PartnerScope,
  ): Promise<{ afterCreatedAt?: string } | undefined>;
  /** The products of a partner that satisfy a condition, for a statement that joins them and repeats the condition. */
  productsFor(db: Database, partnerId: number, condition: Sql): Promise<ProductSource>;
  /** The product with a number, if there is one in the scope, for a statement that joins it. */
  productFor(db: Database, productId: number, scope: PartnerScope): Promise<ProductSource>;
  /** A query of product numbers, for a statement that writes local tables. */
  productNumbers(trx: Knex.Transaction, numbers: Sql): Promise<Sql>;
  /** The condition on `feeds` that no product comes from one of them. @param feeds - a query of `feed_id` and `partner_id` */
  isUnused(trx: Knex.Transaction, feeds: Sql): Promise<Sql>;
}

/** Products for a statement: the table itself or, if it is distributed, rows that were read before. */
export interface ProductSource {
  /** An item of a `from`. */
  as(alias: string): Sql;
}

/** Copies stored products into a working copy. @param table - the stored products */
export type Fill = (trx: Knex.Transaction, table: Sql) => Promise<void>;

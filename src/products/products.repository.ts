import type { Knex } from 'knex';
import { queryRows, type Database } from '../db/database';
import { productNotFound } from '../shared/errors';
import { parseId } from '../shared/ids';
import type { PartnerScope } from '../shared/caller';

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
  };
  sort: { field: SortField; order: SortOrder };
  /** Start of the page; only for `product_id` and `created_at`. */
  afterProductId?: number;
  limit: number;
}

/** The columns of a `ProductRow`, from a table or query named `products`. */
export const productColumns = `
  product_id, feed_id,
  (select partner_name from partners where partners.partner_id = products.partner_id) as partner_name,
  sku, product_name, description, brand, category, price, currency, availability, created_at
`;

function ofProduct(productId: number, scope: PartnerScope): { sql: string; bindings: Knex.Value[] } {
  if (scope === null) return { sql: 'product_id = ?', bindings: [productId] };
  const ofPartner = 'partner_id = (select partner_id from partners where partner_name = ?)';
  return { sql: `product_id = ? and ${ofPartner}`, bindings: [productId, scope] };
}

async function findProduct(db: Database, productId: number, scope: PartnerScope): Promise<ProductRow | null> {
  const { sql, bindings } = ofProduct(productId, scope);
  const select = `select ${productColumns} from products where ${sql}`;
  const [row] = await queryRows<ProductRow>(db, select, bindings, true);
  return row ?? null;
}

/** @throws product_not_found */
export async function getProduct(db: Database, id: string, scope: PartnerScope): Promise<ProductRow> {
  const productId = parseId('PR', id);
  const product = productId === undefined ? null : await findProduct(db, productId, scope);
  if (!product) throw productNotFound(id);
  return product;
}

export async function productExists(db: Database, productId: number, scope: PartnerScope): Promise<boolean> {
  const { sql, bindings } = ofProduct(productId, scope);
  return (await queryRows(db, `select from products where ${sql}`, bindings, true)).length > 0;
}

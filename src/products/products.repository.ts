import type { Knex } from 'knex';
import { queryRows, type Database } from '../db/database';
import { productNotFound } from '../shared/errors';
import { parseId } from '../shared/ids';
import type { PartnerScope } from '../shared/caller';

/** A product with its partner's name. `price` is a decimal text, exact. */
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

/** Which products to list, in which order, and from where on. */
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
  };
  sort: { field: SortField; order: SortOrder };
  /** The product after which the page starts; only for `product_id` and `created_at`. */
  afterProductId?: number;
  limit: number;
}

/** What a `ProductRow` is made of, to select from something called `products`. */
export const productColumns = `
  product_id, feed_id,
  (select partner_name from partners where partners.partner_id = products.partner_id) as partner_name,
  sku, product_name, description, brand, category, price, currency, availability, created_at
`;

/** The product with this number, in the scope. */
function ofProduct(productId: number, scope: PartnerScope): { sql: string; bindings: Knex.Value[] } {
  if (scope === null) return { sql: 'product_id = ?', bindings: [productId] };
  const ofPartner = 'partner_id = (select partner_id from partners where partner_name = ?)';
  return { sql: `product_id = ? and ${ofPartner}`, bindings: [productId, scope] };
}

/** The product with this number; null when there is none in the scope. */
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

/** Whether there is a product with this number in the scope. */
export async function productExists(db: Database, productId: number, scope: PartnerScope): Promise<boolean> {
  const { sql, bindings } = ofProduct(productId, scope);
  return (await queryRows(db, `select from products where ${sql}`, bindings, true)).length > 0;
}

import type { Knex } from 'knex';
import type { Database } from '../db/database';

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
  filter: {
    partner_name?: string;
    feed_id?: number;
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

const columns = [
  'products.product_id',
  'products.feed_id',
  'partners.partner_name',
  'products.sku',
  'products.product_name',
  'products.description',
  'products.brand',
  'products.category',
  'products.price',
  'products.currency',
  'products.availability',
  'products.created_at',
];

function selectProducts(db: Database): Knex.QueryBuilder {
  return db('products').join('partners', 'partners.partner_id', 'products.partner_id').select(columns);
}

/** The product with this number; null when there is none. */
export async function findProduct(db: Database, productId: number): Promise<ProductRow | null> {
  const [row] = (await selectProducts(db).where('products.product_id', productId)) as ProductRow[];
  return row ?? null;
}

/** Whether there is a product with this number. */
export async function productExists(db: Database, productId: number): Promise<boolean> {
  return (await db('products').where('product_id', productId).first('product_id')) !== undefined;
}

/** The products of a listing, at most `limit`. Nulls are last in both directions, ties are by product number. */
export async function listProducts(db: Database, listing: ProductListing): Promise<ProductRow[]> {
  const { filter, sort, afterProductId, limit } = listing;
  const query = selectProducts(db).limit(limit);

  for (const column of ['brand', 'category', 'availability', 'feed_id'] as const) {
    const value = filter[column];
    if (value !== undefined) void query.where(`products.${column}`, value);
  }
  if (filter.partner_name !== undefined) {
    void query.whereRaw('products.partner_id = (select partner_id from partners where partner_name = ?)', [
      filter.partner_name,
    ]);
  }
  if (filter.sku !== undefined) {
    // The index leads with the partner: one look-up per partner, of which there are few.
    void query.whereRaw(
      'products.partner_id = any (array(select partner_id from partners)) and products.sku = ?',
      [filter.sku],
    );
  }
  if (afterProductId !== undefined) void query.whereRaw(...startAfter(sort, afterProductId));

  const isNullable = sort.field === 'price' || sort.field === 'brand' || sort.field === 'category';
  void query.orderBy(`products.${sort.field}`, sort.order, isNullable ? 'last' : undefined);
  if (sort.field !== 'product_id') void query.orderBy('products.product_id', sort.order);
  return (await query) as ProductRow[];
}

function startAfter(sort: ProductListing['sort'], productId: number): [sql: string, bindings: Knex.Value[]] {
  const comparison = sort.order === 'asc' ? '>' : '<';
  if (sort.field === 'product_id') return [`products.product_id ${comparison} ?`, [productId]];
  return [
    `(products.created_at, products.product_id) ${comparison}
       (select created_at, product_id from products where product_id = ?)`,
    [productId],
  ];
}

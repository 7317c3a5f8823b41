import type { components } from '../../generated/openapi';
import type { Database } from '../db/database';
import { defaulted, type Checks, type Handlers } from '../http/contract';
import { formatId } from '../ids';
import type { ProductRow } from './products.repository';
import {
  getProduct,
  listCatalog,
  listProductsOfFeed,
  parseProductCursor,
  resolveListingOrder,
  type ProductPage,
} from './products.service';

type Product = components['schemas']['Product'];

export function productHandlers(
  db: Database,
): Pick<Handlers, 'listProducts' | 'getProduct' | 'listProductsByFeed'> {
  return {
    async listProducts({ query, reply }) {
      const { limit, cursor, sort_by, order, ...filter } = query;
      return reply(
        200,
        toPage(await listCatalog(db, { filter, limit: defaulted(limit), cursor, sort_by, order })),
      );
    },

    async getProduct({ path, reply }) {
      return reply(200, toBody(await getProduct(db, path.product_id)));
    },

    async listProductsByFeed({ path, query, reply }) {
      const page = { limit: defaulted(query.limit), cursor: query.cursor };
      return reply(200, toPage(await listProductsOfFeed(db, path.feed_id, page)));
    },
  };
}

export function productChecks(db: Database) {
  return {
    async listProducts({ query }) {
      await resolveListingOrder(db, query);
    },
    listProductsByFeed({ query }) {
      if (query.cursor !== undefined) parseProductCursor(query.cursor);
    },
  } satisfies Checks;
}

function toPage({ items, nextCursor }: ProductPage): components['schemas']['ProductList'] {
  return {
    count: items.length,
    items: items.map((row) => withoutNulls(toBody(row))),
    next_cursor: nextCursor,
  };
}

function toBody(row: ProductRow): Product {
  return {
    product_id: formatId('PR', row.product_id),
    feed_id: formatId('FD', row.feed_id),
    partner_name: row.partner_name,
    sku: row.sku,
    product_name: row.product_name,
    description: row.description,
    brand: row.brand,
    category: row.category,
    price: row.price === null ? null : Number(row.price),
    currency: row.currency,
    availability: row.availability,
    created_at: row.created_at.toISOString(),
  };
}

/** A list leaves out the fields that have no value; none of the required ones can be null. */
function withoutNulls(product: Product): Product {
  return Object.fromEntries(Object.entries(product).filter(([, value]) => value !== null)) as Product;
}

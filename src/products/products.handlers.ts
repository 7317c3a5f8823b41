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

/** The operations of the catalog. */
export function productHandlers(
  db: Database,
): Pick<Handlers, 'listProducts' | 'getProduct' | 'listProductsByFeed'> {
  return {
    async listProducts({ query, checked, caller, reply }) {
      const { limit, cursor: _cursor, sort_by: _sortBy, order: _order, ...filter } = query;
      const page = await listCatalog(db, {
        scope: caller.partnerName,
        filter,
        start: checked,
        limit: defaulted(limit),
      });
      return reply(200, toBodyPage(page));
    },

    async getProduct({ path, caller, reply }) {
      return reply(200, toBody(await getProduct(db, path.product_id, caller.partnerName)));
    },

    async listProductsByFeed({ path, query, caller, reply }) {
      const page = { limit: defaulted(query.limit), cursor: query.cursor };
      const products = await listProductsOfFeed(db, path.feed_id, caller.partnerName, page);
      return reply(200, toBodyPage(products));
    },
  };
}

/** A wrong order of the list, or a wrong cursor, is 400. */
export function productChecks(db: Database) {
  return {
    listProducts: ({ query, caller }) => resolveListingOrder(db, query, caller.partnerName),
    listProductsByFeed({ query }) {
      if (query.cursor !== undefined) parseProductCursor(query.cursor);
    },
  } satisfies Checks;
}

function toBodyPage({ items, nextCursor }: ProductPage): components['schemas']['ProductList'] {
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

import type { components } from '../../generated/openapi';
import type { Database } from '../db/database';
import type { Reads } from '../db/reads';
import { storedPartnerName } from '../partners/stored-partner-name';
import { ageSecondsMaxOf } from '../http/caching';
import { defaulted, type Handlers } from '../http/contract';
import { formatId } from '../shared/ids';
import { exactNumber } from '../shared/exact-json';
import type { Page } from '../shared/pagination';
import { parseProductCursor, requireProduct } from './products.checks';
import { listProducts } from './products.listing';
import { listFacets } from './facets.repository';
import { getProduct, type ProductListing, type ProductRow } from './products.repository';
import { searchWords } from './search-words.repository';

type Product = components['schemas']['Product'];

export function productHandlers(
  reads: Reads,
): Pick<Handlers, 'listProducts' | 'listProductFacets' | 'getProduct' | 'listProductsByFeed'> {
  return {
    async listProducts({ query, headers, checked, caller, reply }) {
      const { limit, cursor: _cursor, sort_by: _sortBy, order: _order, ...filters } = query;
      const scope = caller.partnerName;
      const page = await reads(ageSecondsMaxOf(headers), async (db, isReplica) => {
        if (isReplica) await requireProduct(db, checked.afterProductId, scope);
        const filter = await resolveFilters(db, filters);
        return listProducts(db, { scope, filter, ...checked, limit: defaulted(limit) });
      });
      return reply(200, toBodyPage(page));
    },

    async listProductFacets({ query, headers, caller, reply }) {
      const { field: sentField, ...filters } = query;
      const field = defaulted(sentField);
      const values = await reads(ageSecondsMaxOf(headers), async (db) =>
        listFacets(db, field, await resolveFilters(db, filters), caller.partnerName),
      );
      return reply(200, { field, values });
    },

    async getProduct({ path, headers, caller, reply }) {
      const product = await reads(ageSecondsMaxOf(headers), (db) =>
        getProduct(db, path.product_id, caller.partnerName),
      );
      return reply(200, toBody(product));
    },

    async listProductsByFeed({ path, query, headers, caller, reply }) {
      const afterProductId = query.cursor === undefined ? undefined : parseProductCursor(query.cursor);
      const listing = {
        scope: caller.partnerName,
        filter: { feed_id: path.feed_id },
        sort: { field: 'product_id', order: 'asc' } as const,
        afterProductId,
        limit: defaulted(query.limit),
      };
      const products = await reads(ageSecondsMaxOf(headers), async (db, isReplica) => {
        if (isReplica) await requireProduct(db, afterProductId, listing.scope);
        return listProducts(db, listing);
      });
      return reply(200, toBodyPage(products));
    },
  };
}

/** Filters as sent. */
interface SentFilters extends Omit<ProductListing['filter'], 'words'> {
  q?: string;
}

/** @throws invalid_shape for words that cannot be searched for */
async function resolveFilters(
  db: Database,
  { q, ...filters }: SentFilters,
): Promise<ProductListing['filter']> {
  const { partner_name } = filters;
  if (partner_name) filters.partner_name = await storedPartnerName(db, partner_name);
  return { ...filters, words: await searchWords(db, q) };
}

function toBodyPage({ items, nextCursor }: Page<ProductRow>): components['schemas']['ProductList'] {
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
    price: row.price === null ? null : exactNumber(row.price),
    currency: row.currency,
    availability: row.availability,
    created_at: row.created_at.toISOString(),
  };
}

/** Omits fields without a value, as lists do; required fields are never null. */
function withoutNulls(product: Product): Product {
  return Object.fromEntries(Object.entries(product).filter(([, value]) => value !== null)) as Product;
}

import type { components } from '../../../generated/openapi';
import type { Database } from '../../base/db/database';
import type { Reads } from '../../base/db/reads';
import { getPartner } from '../partners/partners.repository';
import { storedPartnerName } from '../partners/stored-partner-name';
import {
  ageSecondsMaxOf,
  cacheHeaders,
  representationOf,
  type Representation,
} from '../../http/reply/caching';
import { defaulted, type OperationsOf } from '../../http/contract/contract';
import { EncodedFile } from '../../http/contract/encoded-file';
import { getFormatOfQuery } from '../formats/find-format';
import { formatId } from '../../base/ids';
import { holderOf, type PartnerScope } from '../../base/caller';
import { exactNumber } from '../../base/exact-json';
import { toListBody, type Page } from '../../base/pagination';
import { createSharedReads } from '../../base/concurrency/shared-reads';
import type { TransferLimit } from '../../base/concurrency/transfer-limit';
import { getProductAsOf, listProductsAsOf } from './catalog-as-of';
import {
  findStartByTime,
  parseProductCursor,
  requirePosition,
  resolveListingOrder,
  type ListingStart,
} from './products.checks';
import { listProducts } from './products.listing';
import { listFacets } from './facets.repository';
import { openProductFile } from './product-file';
import { createProductLookup } from './product-lookup';
import type { ProductListing, ProductRow } from './products.repository';
import { searchWords } from './search-words.repository';
import { withdrawProduct } from './withdraw-product';

declare module '../../http/contract/contract' {
  interface CheckResults {
    listProducts: ListingStart;
  }
}

type Product = components['schemas']['Product'];
type ProductList = components['schemas']['ProductList'];
type Facets = components['schemas']['ProductFacets'];

/** The operations on the catalog. `downloads` limits files of a partner's products, which are read from `db`. */
export function productOperations(
  db: Database,
  reads: Reads,
  downloads: TransferLimit,
): OperationsOf<
  | 'listProducts'
  | 'listProductFacets'
  | 'getProduct'
  | 'listProductsByFeed'
  | 'downloadPartnerProducts'
  | 'withdrawProduct'
> {
  const sharePage = createSharedReads<Representation<ProductList>>();
  const shareFacets = createSharedReads<Representation<Facets>>();
  const lookUp = createProductLookup(reads);

  return {
    listProducts: {
      async check({ query, headers, caller, isValid }) {
        const start = resolveListingOrder(query);
        // The page itself finds an unknown product out, after a search text that is refused.
        if (!isValid || query.q !== undefined)
          await reads(ageSecondsMaxOf(headers), (db) => findStartByTime(db, start, caller.partnerName));
        return start;
      },
      async handle({ query, headers, checked, caller, reply }) {
        const { limit: sentLimit, cursor: _cursor, as_of: asOf, sort_by, order: _order, ...filters } = query;
        const limit = defaulted(sentLimit);
        const scope = caller.partnerName;
        const ageSecondsMax = ageSecondsMaxOf(headers);
        if (asOf !== undefined) {
          const { q, ...values } = filters;
          const { sentOrder: order, afterProductId } = checked;
          const filter = await resolvePartner(db, values);
          const asked = { asOf, scope, ageSecondsMax, filter, q, sort_by, order, afterProductId, limit };
          const page = representationOf(toBodyPage(await listProductsAsOf(reads, asked)));
          return reply(200, page.body, cacheHeaders(page));
        }
        const page = await sharePage(keyOf(scope, ageSecondsMax, query), () =>
          reads(ageSecondsMax, async (db, isReplica) => {
            if (isReplica) await requirePosition(db, checked, scope);
            const filter = await resolveFilters(db, filters);
            return representationOf(toBodyPage(await listProducts(db, { scope, filter, ...checked, limit })));
          }),
        );
        return reply(200, page.body, cacheHeaders(page));
      },
    },

    listProductFacets: {
      async handle({ query, headers, caller, reply }) {
        const { field: sentField, ...filters } = query;
        const field = defaulted(sentField);
        const ageSecondsMax = ageSecondsMaxOf(headers);
        const facets = await shareFacets(keyOf(caller.partnerName, ageSecondsMax, query), () =>
          reads(ageSecondsMax, async (db) => {
            const items = await listFacets(db, field, await resolveFilters(db, filters), caller.partnerName);
            return representationOf({ field, count: items.length, items });
          }),
        );
        return reply(200, facets.body, cacheHeaders(facets));
      },
    },

    getProduct: {
      async handle({ path, query, headers, caller, reply }) {
        const scope = caller.partnerName;
        const ageSecondsMax = ageSecondsMaxOf(headers);
        const found =
          query.as_of === undefined
            ? await lookUp(path.product_id, scope, ageSecondsMax)
            : await getProductAsOf(reads, path.product_id, { asOf: query.as_of, scope, ageSecondsMax });
        const product = representationOf(toBody(found, null));
        return reply(200, product.body, cacheHeaders(product));
      },
    },

    withdrawProduct: {
      async handle({ path, caller, reply }) {
        return reply(200, toBody(await withdrawProduct(db, path.product_id, caller.partnerName), null));
      },
    },

    listProductsByFeed: {
      check({ query }) {
        if (query.cursor !== undefined) parseProductCursor(query.cursor);
      },
      async handle({ path, query, headers, caller, reply }) {
        const afterProductId = query.cursor === undefined ? undefined : parseProductCursor(query.cursor);
        const listing = {
          scope: caller.partnerName,
          filter: { feed_id: path.feed_id, include_withdrawn: query.include_withdrawn },
          sort: { field: 'product_id', order: 'asc' } as const,
          afterProductId,
          limit: defaulted(query.limit),
        };
        const ageSecondsMax = ageSecondsMaxOf(headers);
        const page = await sharePage(keyOf(listing.scope, ageSecondsMax, { path, query }), () =>
          reads(ageSecondsMax, async (db, isReplica) => {
            if (isReplica) await requirePosition(db, listing, listing.scope);
            return representationOf(toBodyPage(await listProducts(db, listing)));
          }),
        );
        return reply(200, page.body, cacheHeaders(page));
      },
    },

    downloadPartnerProducts: {
      async handle({ path, query, caller, client, refusal, isAborted, reply }) {
        const { partner_id, partner_name } = await getPartner(db, path.partner_name, caller.partnerName);
        const format = query.format ? await getFormatOfQuery(db, query.format, partner_name) : null;
        const holder = { ...holderOf(caller, partner_name), client, refusal };
        const file = await downloads.open(holder, () => openProductFile(db, partner_id, format, isAborted));
        const charset = format?.definition.encoding ?? 'utf-8';
        return reply(200, new EncodedFile(file, charset), {
          'Content-Disposition': 'attachment; filename="products.csv"',
        });
      },
    },
  };
}

/** Returns the key by which requests share a response: the partner of the key, the age, and the whole query. */
function keyOf(scope: PartnerScope, ageSecondsMax: number, asked: object): string {
  return JSON.stringify([scope, ageSecondsMax, asked]);
}

interface SentFilters extends Omit<ProductListing['filter'], 'words'> {
  q?: string;
}

/** @throws validation_error for words that cannot be searched for */
async function resolveFilters(
  db: Database,
  { q, ...filters }: SentFilters,
): Promise<ProductListing['filter']> {
  return { ...(await resolvePartner(db, filters)), words: await searchWords(db, q) };
}

async function resolvePartner<Filters extends { partner_name?: string }>(
  db: Database,
  filters: Filters,
): Promise<Filters> {
  const { partner_name } = filters;
  return partner_name ? { ...filters, partner_name: await storedPartnerName(db, partner_name) } : filters;
}

function toBodyPage(page: Page<ProductRow>): ProductList {
  return toListBody(page, (row) => toBody(row, undefined));
}

/** @param absent - value of empty fields; lists omit them. Required fields have a value. */
function toBody(row: ProductRow, absent: null | undefined): Product {
  return {
    product_id: formatId('PR', row.product_id),
    feed_id: formatId('FD', row.feed_id),
    partner_name: row.partner_name,
    sku: row.sku,
    product_name: row.product_name,
    description: row.description ?? absent,
    brand: row.brand ?? absent,
    category: row.category ?? absent,
    price: row.price === null ? absent : exactNumber(row.price),
    currency: row.currency ?? absent,
    availability: row.availability ?? absent,
    created_at: row.created_at.toISOString(),
    ...(row.withdrawn_at && { withdrawn_at: row.withdrawn_at.toISOString() }),
  };
}

import type { paths } from '../../../../generated/openapi';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { usePages } from './queries';
import { searchOf } from './search';

export const facetFields = ['brand', 'category', 'availability'] as const;
export type FacetField = (typeof facetFields)[number];

type Query = NonNullable<paths['/products']['get']['parameters']['query']>;
type Read = (name: string) => string;

/** Returns the end of a day in the user's time zone as an instant; undefined without a day, and before its end. */
export function endOfDay(day: string): string | undefined {
  const end = new Date(`${day}T23:59:59.999`);
  return Number.isNaN(end.getTime()) || end.getTime() > Date.now() ? undefined : end.toISOString();
}

/** Returns the filters that products and facets have in common. @param read - as `useFilters` */
export const sharedFilters = (read: Read) => ({
  partner_name: read('partner') || undefined,
  include_withdrawn: read('withdrawn') === 'yes' || undefined,
  ...Object.fromEntries(facetFields.map((field) => [field, read(field) || undefined])),
});

/** Returns the query of the catalog: by search and order, or as of a day. @param read - as `useFilters` */
export function productsQuery(read: Read): Query {
  const as_of = endOfDay(read('day'));
  if (as_of) return { ...sharedFilters(read), as_of };
  const [sort_by, order] = read('sort').split(',') as [
    Schemas['ProductSortField'] | '',
    Schemas['SortOrder'],
  ];
  return { ...sharedFilters(read), q: searchOf(read('q')), ...(sort_by && { sort_by, order }) };
}

const pageSize = 50;
const listMax = 100;

/** Reads products: page by page in the order of their creation and as of a day, else the first ones (`isCut`: there are more). */
export function useProducts(query: Query) {
  // Other orders have no cursors.
  const hasPages = query.sort_by === undefined;
  return usePages(['products', query], async (cursor) => {
    const params = { query: { ...query, limit: hasPages ? pageSize : listMax, cursor } };
    const { items, next_cursor } = await bodyOf(client.GET('/products', { params }));
    const isCut = !hasPages && next_cursor !== undefined;
    return { items, isCut, next_cursor: hasPages ? next_cursor : undefined };
  });
}

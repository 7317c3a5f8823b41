import type { OpenAPIV3 } from 'openapi-types';
import document from '../../generated/openapi.json';
import { filterValues, type FilterValues } from './catalog-data';

export interface Combination {
  query: Record<string, string>;
  hasLaterPages: boolean;
  scope: string | null;
  name: string;
}

type Filter = keyof FilterValues;

const { parameters } = document.paths['/products'].get as unknown as {
  parameters: OpenAPIV3.ParameterObject[];
};
const names = parameters.map(({ name }) => name);
const filters = Object.keys(filterValues.frequent!) as Filter[];
const { ProductSortField, SortOrder } = document.components.schemas;

/** Parameters of `GET /products`, except the search, that no combination uses: must be empty. */
export const unknownParameters = names.filter(
  (name) => ![...filters, 'limit', 'cursor', 'sort_by', 'order', 'q'].includes(name),
);

/**
 * Lists all combinations of filters, sort, direction and kind of key. Filters take their values from the sets of `filterValues`
 * in turn; single filters from each set, and two filters also from a set without matches.
 */
export function combinations(): Combination[] {
  const sets = Object.keys(filterValues);
  const excluding = 'that exclude each other';
  const all: Combination[] = [];
  for (let chosen = 0; chosen < 2 ** filters.length; chosen++) {
    const some = filters.filter((_, bit) => chosen & (1 << bit));
    for (const sort_by of [undefined, ...ProductSortField.enum]) {
      for (const order of SortOrder.enum) {
        for (const isScoped of [false, true]) {
          const set = sets[all.length % sets.length]!;
          const chosenSets = some.length === 1 ? sets : [set];
          if (some.length === 2 && set !== excluding) chosenSets.push(excluding);
          for (const each of chosenSets) all.push(combine(each, some, sort_by, order, isScoped));
        }
      }
    }
  }
  return all;
}

function combine(
  set: string,
  some: Filter[],
  sort_by: string | undefined,
  order: string,
  isScoped: boolean,
): Combination {
  const values = filterValues[set]!;
  const scope = isScoped ? values.partner_name : null;
  return {
    query: {
      ...Object.fromEntries(some.map((filter) => [filter, values[filter]])),
      ...(sort_by === undefined ? {} : { sort_by }),
      order,
    },
    hasLaterPages: sort_by === undefined || sort_by === 'product_id',
    scope,
    name: `${some.length > 0 ? `${some.join(', ')} (${set})` : 'all'} by ${sort_by ?? 'default'} ${order}${
      scope === null ? '' : `, key of ${scope}`
    }`,
  };
}

/** Whether a listing is typical: at most one filter (the partner of the key included), no sku, default order or by price. */
export function isTypical({ query, scope }: Combination): boolean {
  const filtered = filters.filter((filter) => query[filter] !== undefined);
  const isTypicalOrder = query.sort_by === undefined || query.sort_by === 'price';
  return filtered.length + Number(scope !== null) <= 1 && !filtered.includes('sku') && isTypicalOrder;
}

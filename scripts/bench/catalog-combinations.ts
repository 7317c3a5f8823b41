import type { OpenAPIV3 } from 'openapi-types';
import document from '../../generated/openapi.json';
import { filterValues, type FilterValues } from './catalog-data';

/** One documented way to ask for products. */
export interface Combination {
  /** The query, without the cursor. */
  query: Record<string, string>;
  /** Whether it takes a cursor. */
  hasLaterPages: boolean;
  /** The partner that the key is limited to. */
  scope: string | null;
  /** What it asks for, for people. */
  name: string;
}

type Filter = keyof FilterValues;

const { parameters } = document.paths['/products'].get as unknown as {
  parameters: OpenAPIV3.ParameterObject[];
};
const names = parameters.map(({ name }) => name);
const filters = Object.keys(filterValues.frequent!) as Filter[];
const { ProductSortField, SortOrder } = document.components.schemas;

/** The parameters of `GET /products` that no combination knows: there must be none. */
export const unknownParameters = names.filter(
  (name) => ![...filters, 'limit', 'cursor', 'sort_by', 'order'].includes(name),
);

/**
 * Every combination of filters, sort, direction and kind of key that the document has. The filters of a combination get
 * their values from one of the sets of `filterValues` in turn; single ones from each set, and two from some that match
 * nothing together besides.
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

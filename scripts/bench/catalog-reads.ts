import { filterValues } from './catalog-data';
import { timeGet } from './measure';
import type { Measurement } from './report';

const { frequent } = filterValues;
const asked = (path: string, query: Record<string, string>) =>
  `${path}?${new URLSearchParams(query).toString()}`;
const facetsOf = (field: string, query: Record<string, string> = {}) =>
  asked('/products/facets', { field, ...query });
const partner = { partner_name: frequent!.partner_name };

/** Searches and facets of a filled catalog. A fiftieth of the products have the same name, the others a number. */
const readsOf = (products: number): Record<string, string> => ({
  'search with nearly all products': asked('/products', { q: 'product number', limit: '50' }),
  'search with nearly all products, by price': asked('/products', {
    q: 'product number',
    sort_by: 'price',
    order: 'asc',
    limit: '50',
  }),
  'search with a fiftieth of the products': asked('/products', { q: 'same name', limit: '50' }),
  'search with one product': asked('/products', { q: String(Math.floor(products * 0.77)), limit: '50' }),
  'search with none': asked('/products', { q: 'product nowhere', limit: '50' }),
  'facets: brands of all products': facetsOf('brand'),
  'facets: categories of all products': facetsOf('category'),
  'facets: availabilities of all products': facetsOf('availability'),
  'facets: brands of a partner with 60 %': facetsOf('brand', partner),
  'facets: categories of a brand': facetsOf('category', { brand: frequent!.brand }),
  'facets: brands of a search with a fiftieth of the products': facetsOf('brand', { q: 'same name' }),
});

/** Latency limit of a search in milliseconds. */
const searchMax = 150;

/** Measures searches and facets, requested one at a time. */
export async function measureReads(
  url: string,
  { products, rounds }: { products: number; rounds: number },
): Promise<Omit<Measurement, 'part'>[]> {
  const measured: Omit<Measurement, 'part'>[] = [];
  for (const [name, path] of Object.entries(readsOf(products))) {
    await timeGet(url + path);
    const values: number[] = [];
    for (let round = 0; round < rounds; round++) values.push(await timeGet(url + path));
    const target = name.startsWith('search') ? ({ kind: 'at most', value: searchMax } as const) : undefined;
    measured.push({ name, unit: 'ms', values, target });
  }
  return measured;
}

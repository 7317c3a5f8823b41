import type { Client } from 'pg';
import { formatId } from '../../src/base/ids';
import type { DrawnRequest } from './http-load';
import { brandsCount, categoriesCount } from './etl-feeds';
import { categoryName, neighborName, neighborsCount } from './neighbors';

/** A kind of request: its concurrency, and its random generator. */
export interface RequestKind {
  name: string;
  connections: number;
  draw: (catalog: DrawnCatalog, random: Random) => DrawnRequest;
}

/** Product numbers and names for random requests. */
export interface DrawnCatalog {
  products: number;
  /** By partner, the largest first. */
  ofPartners: number[][];
  orderable: number[];
}

/** Returns a number from 0 to below 1. */
type Random = () => number;

const many = 50;
const encoded = (query: Record<string, string>) => `/products?${new URLSearchParams(query).toString()}`;
const productId = (number: number) => formatId('PR', number);

/** Draws a rank from 1 to `count`; the n-th has a share proportional to 1/n. */
const zipf = (count: number, random: Random) => Math.floor((count + 1) ** random());
/** Draws a value by Zipf. The ranks have an order that favors no cache. */
const drawn = (values: readonly number[], random: Random) =>
  values[(zipf(values.length, random) * 7_368_787) % values.length]!;

const draws = {
  defaultPage: () => ({ path: '/products' }),
  pageOfPartner: (_, random) => ({
    path: encoded({ partner_name: neighborName(zipf(neighborsCount, random)) }),
  }),
  laterPageOfPartner: ({ ofPartners }, random) => {
    const partner = zipf(neighborsCount, random);
    const numbers = ofPartners[partner - 1]!;
    const cursor = productId(numbers[Math.floor(random() * numbers.length)]!);
    return { path: encoded({ partner_name: neighborName(partner), cursor }) };
  },
  pageOfBrand: (_, random) => ({ path: encoded({ brand: `Brand ${zipf(brandsCount, random) - 1}` }) }),
  categoryByPrice: (_, random) => ({
    path: encoded({
      category: categoryName(zipf(categoriesCount, random) - 1),
      sort_by: 'price',
      order: 'asc',
    }),
  }),
  product: ({ products }, random) => ({
    path: `/products/${productId(1 + ((zipf(products, random) * 7_368_787) % products))}`,
  }),
  order: ({ orderable }, random) => {
    const numbers = new Set<number>();
    while (numbers.size < 3) numbers.add(drawn(orderable, random));
    return {
      path: '/orders',
      body: JSON.stringify({
        partner_name: neighborName(zipf(neighborsCount, random)),
        customer_reference: 'measured',
        items: [...numbers].map((number, at) => ({ product_id: productId(number), quantity: at + 1 })),
      }),
    };
  },
} satisfies Record<string, RequestKind['draw']>;

/** Requests of the mixture, in percent. */
const mixtureShares: Partial<Record<keyof typeof draws, number>> = {
  product: 40,
  pageOfPartner: 20,
  pageOfBrand: 15,
  defaultPage: 10,
  categoryByPrice: 10,
  laterPageOfPartner: 5,
};

const drawMixture: RequestKind['draw'] = (catalog, random) => {
  let rest = random() * 100;
  const [name] = Object.entries(mixtureShares).find(([, share]) => (rest -= share) < 0)!;
  return (draws as Record<string, RequestKind['draw']>)[name]!(catalog, random);
};

const drawKeyedOrder: RequestKind['draw'] = (catalog, random) => ({
  ...draws.order(catalog, random),
  isKeyed: true,
});

/** Partners, brands, categories and products are drawn by Zipf; only the default page is the same for all. */
export const requestKinds: readonly RequestKind[] = [
  { name: 'default page, the same for all', connections: many, draw: draws.defaultPage },
  { name: 'page of a partner', connections: many, draw: draws.pageOfPartner },
  { name: 'later page of a partner, another for each', connections: many, draw: draws.laterPageOfPartner },
  { name: 'page of a brand', connections: many, draw: draws.pageOfBrand },
  { name: 'category by price', connections: many, draw: draws.categoryByPrice },
  { name: 'one product', connections: many, draw: draws.product },
  { name: 'mixture', connections: many, draw: drawMixture },
  { name: 'order of three', connections: many, draw: draws.order },
  { name: 'order of three with a key', connections: many, draw: drawKeyedOrder },
  { name: 'lone client: page of a partner', connections: 1, draw: draws.pageOfPartner },
  { name: 'lone client: one product', connections: 1, draw: draws.product },
  { name: 'lone client: order of three', connections: 1, draw: draws.order },
];

export const isOrder = ({ name }: RequestKind) => name.includes('order');

/** Selects the kinds whose name contains one of the parts, separated by commas. @throws Error if none does */
export function chooseKinds(parts: string | undefined): readonly RequestKind[] {
  const chosen = requestKinds.filter(
    ({ name }) => parts?.split(',').some((part) => name.includes(part)) ?? true,
  );
  if (chosen.length === 0) throw new Error(`no kind of request contains '${parts}'`);
  return chosen;
}

/** Reads the values for random requests. @throws Error unless products are numbered from 1 without gaps */
export async function readCatalog(database: Client): Promise<DrawnCatalog> {
  const numbersOf = async (from: string, bindings: unknown[] = []) => {
    const sql = `select cast(product_id as integer) as number from products ${from} order by product_id`;
    const { rows } = await database.query<{ number: number }>(sql, bindings);
    return rows.map(({ number }) => number);
  };
  const all = await numbersOf('');
  if (all.at(-1) !== all.length) throw new Error('expected products numbered from 1');
  const ofPartners = [];
  for (let rank = 1; rank <= neighborsCount; rank++)
    ofPartners.push(
      await numbersOf('join partners using (partner_id) where partner_name = $1', [neighborName(rank)]),
    );
  return { products: all.length, ofPartners, orderable: await numbersOf(`where availability = 'in_stock'`) };
}

/** Draws the same requests each time. */
export function drawRequests(kind: RequestKind, catalog: DrawnCatalog, count = 20_000): DrawnRequest[] {
  const random = seeded(35);
  return Array.from({ length: count }, () => kind.draw(catalog, random));
}

/** Returns a generator of pseudo-random numbers (mulberry32). */
function seeded(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

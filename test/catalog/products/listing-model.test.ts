import fc from 'fast-check';
import { openDatabase, type Database } from '../../../src/base/db/database';
import { createObjectsSql } from '../../../src/operation/database/distribution/objects';
import { resolveListingOrder } from '../../../src/catalog/products/products.checks';
import { listProducts } from '../../../src/catalog/products/products.listing';
import { searchWords } from '../../../src/catalog/products/search-words.repository';
import { indexBacklog } from '../../../src/catalog/products/search-index';
import type { ApiClient } from '../../support/api-client';
import { loadProducts, type FeedRow } from '../../support/catalog';
import { casesFor } from '../../support/fuzz';
import { afterFile } from '../../support/harness';
import { inTurn } from '../../support/matrix';
import { startTestService, withStoredKey, type TestService } from '../../support/service';

/** A product as stored in the table. */
interface Row {
  product_id: number;
  feed_id: number;
  partner_name: string;
  sku: string;
  product_name: string;
  brand: string | null;
  category: string | null;
  price: string | null;
  availability: string | null;
  created_at: Date;
  withdrawn_at: Date | null;
}

type FilterName = (typeof filterNames)[number];
type Filters = Partial<Record<FilterName, string>>;

type Query = Record<string, string>;

/** Reads a page of the products that one kind of key can see. */
interface Reader {
  name: string;
  partner: string | null;
  read: (query: Query) => Promise<{ ids: string[]; next: string | undefined }>;
}

interface Order {
  sort_by: (typeof sortFields)[number];
  order: 'asc' | 'desc';
}

const filterNames = [
  'partner_name',
  'feed_id',
  'sku',
  'brand',
  'category',
  'availability',
  'q',
  'include_withdrawn',
] as const;
const sortFields = ['product_id', 'created_at', 'price', 'product_name', 'brand', 'category'] as const;
const orders = sortFields.flatMap((sort_by) =>
  (['asc', 'desc'] as const).map((order) => ({ sort_by, order })),
);
const limits = [10, 1, 100, 3];

const cases = casesFor('pages of a catalog', 60);

/** Prefixes after which an index stores nothing: 24 characters of a name, 600 of a category. */
const beginnings = {
  product_name: ['Acme Outdoor Two-Person-', '𠀀é'.repeat(12)],
  category: ['Camping/Tents & more/ é '.repeat(25), '𠀀'.repeat(600)],
} as const;

/** More products than a listing sorts instead of scanning: most have one prefix. With all cases, still more. */
const largePartner = Math.max(...inTurn([13_000, 45_000], 0, 1));

/** More partners than a listing of few products merges. */
const tinyPartners = 60;

const end = fc.string({
  unit: fc.constantFrom('a', 'B', 'Z', 'é', 'ß', 'Ａ', '😀', '0', '9', ' '),
  maxLength: 4,
});
const often = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary });
const text = (weight: number, value: string) => often(weight, fc.constant(value));
const beginning = (weight: number, value: string) =>
  often(
    weight,
    end.map((each) => value + each),
  );
const number = (weight: number, max: number, toText: (value: number) => string) =>
  often(weight, fc.integer({ min: 0, max }).map(toText));
const draft = fc.record({
  product_name: fc.oneof(
    beginning(780, `${beginnings.product_name[0]}Tent, variant `),
    beginning(80, beginnings.product_name[1]),
    beginning(120, 'x'),
    text(10, beginnings.product_name[0]),
    text(10, beginnings.product_name[1]),
    text(2, 'Acme'),
  ),
  brand: fc.oneof(
    text(60, 'Acme'),
    text(10, 'acme'),
    text(10, ''),
    text(2, 'Rare'),
    number(18, 300, (value) => `Brand ${value}`),
  ),
  category: fc.oneof(
    text(20, ''),
    text(45, 'Tents'),
    beginning(12, beginnings.category[0]),
    beginning(12, beginnings.category[1]),
    beginning(10, 'x'),
    text(1, beginnings.category[1]),
  ),
  price: fc.oneof(
    text(20, ''),
    text(40, '19.99'),
    number(40, 10_000_000, (value) => (value / 10_000).toFixed(4)),
  ),
  availability: fc.oneof(text(80, 'in_stock'), text(15, 'out_of_stock'), text(5, '')),
});

let service: TestService;
let callers: { partner: string | null; api: ApiClient }[];
/** Requests of each caller, and the statements for sharded products, which run on any PostgreSQL. */
let readers: Reader[];
let rows: Row[];
let sorted: Map<string, Row[]>;
let filterValues: Record<FilterName, string[]>;

beforeAll(async () => {
  service = await startTestService();
  const tiny = Array.from({ length: tinyPartners }, (_, at) => [`Tiny ${at}`, [2]] as const);
  const feeds = {
    Large: [largePartner - 3000, 3000],
    Middle: [300, 300],
    Small: [60],
    ...Object.fromEntries(tiny),
  };
  let seed = cases.seed!;
  for (const [partner, sizes] of Object.entries(feeds)) {
    for (const [at, numRuns] of sizes.entries()) {
      const drafts = fc.sample(draft, { numRuns, seed: seed++ });
      const products: FeedRow[] = drafts.map((each, number) => ({ sku: `S${at}-${number}`, ...each }));
      await loadProducts(service, products, partner);
    }
  }
  await service.db('products').update({
    created_at: service.db.raw(`timestamptz '2026-03-01' + product_id * 7919 % 50 * interval '1 minute'`),
    withdrawn_at: service.db.raw('case when product_id % 9 = 0 then now() end'),
  });
  const gone = service.db('partners').select('partner_id').where({ partner_name: 'Tiny 1' });
  await service.db('products').whereIn('partner_id', gone).update({ withdrawn_at: service.db.fn.now() });
  await indexBacklog(service.db);
  rows = await service.db('products').join('partners', 'partners.partner_id', 'products.partner_id').select();
  sorted = new Map(orders.map((order) => [nameOf(order), [...rows].sort(comparing(order))]));
  const anyLong = (at: 0 | 1) => rows.find(({ category }) => category?.startsWith(beginnings.category[at]));
  filterValues = {
    partner_name: ['Large', 'Middle', 'Small', 'Tiny 1', 'Unknown'],
    feed_id: ['FD00001', 'FD00002', 'FD00004', 'FD00099'],
    sku: ['S0-1', 'S0-200', 'S1-2000', 'none'],
    brand: ['Acme', 'acme', 'Rare', 'Brand 7', 'none'],
    category: ['Tents', anyLong(0)!.category!, anyLong(1)!.category!, 'x', beginnings.category[1]],
    availability: ['in_stock', 'out_of_stock'],
    q: ['tent', 'rare', 'acme out', 'brand 77', 'none'],
    include_withdrawn: ['true', 'false'],
  };
  callers = [
    { partner: null, api: service.api },
    { partner: 'Large', api: await withStoredKey(service, 'Large') },
    { partner: 'Middle', api: await withStoredKey(service, 'Middle') },
  ];
  const shards = await openShards(service);
  readers = [...callers.map(byRequest), ...[null, 'Large'].map((partner) => byShard(shards, partner))];
});

const byRequest = ({ partner, api }: (typeof callers)[number]): Reader => ({
  name: `requests with a key of ${partner ?? 'all partners'}`,
  partner,
  async read(query) {
    const { status, body } = await api.get(`/products?${new URLSearchParams(query).toString()}`);
    expect([query, status]).toEqual([query, 200]);
    const items = body.items as { product_id: string }[];
    return { ids: items.map(({ product_id: id }) => id), next: body.next_cursor as string | undefined };
  },
});

const byShard = (db: Database, partner: string | null): Reader => ({
  name: `statements for shards, of ${partner ?? 'all partners'}`,
  partner,
  async read({ sort_by, order, cursor, limit, q, include_withdrawn, ...filters }) {
    const start = resolveListingOrder({ sort_by, order, cursor });
    const words = await searchWords(db, q);
    const filter = { ...filters, words, include_withdrawn: include_withdrawn === 'true' };
    const page = await listProducts(db, { scope: partner, filter, ...start, limit: Number(limit) });
    return { ids: page.items.map(idOf), next: page.nextCursor };
  },
});

/** Opens a pool for which the products are distributed. Without Citus, it creates the local tables of distributed products. */
async function openShards({ address, db }: TestService): Promise<Database> {
  if (!process.env.TEST_SHARDS) {
    await db.raw('create table products_local as select * from products');
    await db.raw(createObjectsSql);
    await db.raw('insert into product_partners select distinct partner_id from products');
  }
  // Shards are planned by estimates.
  await db.raw('analyze products, product_words');
  const shards = openDatabase(address, { applicationName: 'test', connectionsMax: 2 });
  afterFile(() => shards.destroy());
  return shards;
}

const nameOf = ({ sort_by, order }: Order) => `${sort_by} ${order}`;
const idOf = ({ product_id: number }: { product_id: number }) => `PR${String(number).padStart(5, '0')}`;

/** Compares texts by code point, which is the order of their bytes. */
const compareTexts = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other));

/** Nulls come last in both directions; ties are by number in the same direction. */
function comparing({ sort_by, order }: Order): (one: Row, other: Row) => number {
  const sign = order === 'asc' ? 1 : -1;
  return (one, other) => {
    const [a, b] = [one[sort_by], other[sort_by]];
    if ((a === null) !== (b === null)) return a === null ? 1 : -1;
    const values =
      a === null || b === null
        ? 0
        : sort_by === 'product_name' || sort_by === 'brand' || sort_by === 'category'
          ? compareTexts(a as string, b as string)
          : Number(a) - Number(b);
    return sign * (values || one.product_id - other.product_id);
  };
}

/** Words of the products' texts; é is the only letter with a mark. */
const wordsOf = ({ product_name, brand, sku }: Row) =>
  `${product_name} ${brand ?? ''} ${sku}`.toLowerCase().split(/[^\p{L}\p{Nd}]+/u);

const conditions: Record<FilterName, (row: Row, value: string) => boolean> = {
  partner_name: (row, value) => row.partner_name === value,
  feed_id: (row, value) => row.feed_id === Number(value.slice(2)),
  sku: (row, value) => row.sku === value,
  brand: (row, value) => row.brand === value,
  category: (row, value) => row.category === value,
  availability: (row, value) => row.availability === value,
  q: (row, value) => value.split(' ').every((sought) => wordsOf(row).some((word) => word.startsWith(sought))),
  include_withdrawn: () => true,
};

function matching(filters: Filters, order: Order, partner: string | null): Row[] {
  const sought = Object.entries(filters) as [FilterName, string][];
  return sorted
    .get(nameOf(order))!
    .filter(
      (row) =>
        (partner === null || row.partner_name === partner) &&
        (row.withdrawn_at === null || filters.include_withdrawn === 'true') &&
        sought.every(([name, value]) => conditions[name](row, value)),
    );
}

interface Listing {
  filters: Filters;
  order: Order;
  limit: number;
  reader: Reader;
}

/** Compares the first page, and a page from each of `starts` (fractions of the listing) if cursors are available. */
async function comparePages({ filters, order, limit, reader }: Listing, starts: number[]): Promise<void> {
  const wanted = matching(filters, order, reader.partner).map(idOf);
  const compare = async (at: number, sort: Query, cursor?: string) => {
    const query = {
      ...filters,
      ...sort,
      order: order.order,
      limit: String(limit),
      ...(cursor && { cursor }),
    };
    const ids = wanted.slice(at, at + limit);
    const next = wanted.length > at + limit ? ids.at(-1) : undefined;
    const { name } = reader;
    expect({ name, query, ...(await reader.read(query)) }).toEqual({ name, query, ids, next });
    return next;
  };

  const { sort_by } = order;
  await compare(0, { sort_by });
  if (wanted.length === 0 || (sort_by !== 'product_id' && sort_by !== 'created_at')) return;
  // Only the default order has cursors by time.
  const sort: Query = sort_by === 'product_id' ? { sort_by } : {};
  for (const start of starts) {
    const at = Math.floor(start * wanted.length);
    await compare(at + 1, sort, wanted[at]);
  }
  if (wanted.length > 5 * limit) return;
  let cursor: string | undefined;
  for (let at = 0; at === 0 || cursor !== undefined; at += limit) cursor = await compare(at, sort, cursor);
}

/** No filter, each filter, and each pair of them. */
const chosen = filterNames.reduce<FilterName[][]>(
  (all, name) => [...all, ...all.filter((names) => names.length < 2).map((names) => [...names, name])],
  [[]],
);

/** Values for filters, different in each turn. */
const valuesOf = (names: readonly FilterName[], turn: number): Filters =>
  Object.fromEntries(
    names.map((name, at) => [name, filterValues[name][(turn * (at + 1)) % filterValues[name].length]]),
  );

describe('a page of the catalog has the same products as a sort of all', () => {
  it.each(orders.map((order, at) => [nameOf(order), order, at] as const))(
    'by %s, with each filter and pair of filters',
    async (_, order, first) => {
      for (const [second, names] of chosen.entries()) {
        for (const [third, reader] of inTurn(readers, first + second, 1).entries()) {
          const turn = first + second + third;
          const limit = limits[turn % limits.length]!;
          await comparePages({ filters: valuesOf(names, turn), order, limit, reader }, [0.5]);
        }
      }
    },
  );

  it('for any filters, order, limit and start', async () => {
    const filters = fc.record(
      Object.fromEntries(filterNames.map((name) => [name, fc.constantFrom(...filterValues[name])])),
      { requiredKeys: [] },
    );
    const listing = fc.record({
      filters,
      order: fc.constantFrom(...orders),
      limit: fc.integer({ min: 1, max: 100 }),
      reader: fc.constantFrom(...readers),
    });
    const starts = fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { maxLength: 3 });
    await fc.assert(fc.asyncProperty(listing, starts, comparePages), cases);
  });
});

describe('the facets of the catalog', () => {
  it.each(['brand', 'category', 'availability'] as const)(
    'count the values of %s like a loop over all products, with each filter and pair of filters',
    async (field) => {
      for (const [turn, names] of chosen.entries()) {
        const filters = valuesOf(names, turn);
        const { partner, api } = callers[turn % callers.length]!;
        const counts = new Map<string, number>();
        for (const { [field]: value } of matching(filters, orders[0]!, partner)) {
          if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
        }
        const frequent = [...counts]
          .sort(([a, one], [b, other]) => other - one || compareTexts(a, b))
          .slice(0, 50)
          .map(([value, count]) => ({ value, count: Math.min(count, 10_000), is_exact: count <= 10_000 }));

        const asked = new URLSearchParams({ ...filters, field }).toString();
        const { body } = await api.get(`/products/facets?${asked}`);

        expect([asked, partner, body]).toEqual([
          asked,
          partner,
          { field, count: frequent.length, items: frequent },
        ]);
      }
    },
  );
});

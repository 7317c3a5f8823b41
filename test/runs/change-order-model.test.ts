import fc from 'fast-check';
import { casesFor } from '../support/fuzz';
import { startTestService, type TestService } from '../support/service';

/*
 * Changes of a plan and of a run, in each order and with each filter, in pages: the same as all of them, filtered and sorted in memory.
 */

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

interface Change {
  sku: string;
  product_name: string;
  action: string;
  changes: { field: string; before: string | null; after: string | null }[];
  price_change_percent?: number;
}

type Asked = (typeof queries)[number];
const queries = ['', 'price_change'].flatMap((sort) =>
  ['', 'insert', 'update', 'restore', 'withdraw'].map((action) => ({ sort, action })),
);

/** Few skus and prices, so that rows meet and changes tie. A null row is absent. */
const row = fc.record({
  name: fc.constantFrom('Tent', 'Lamp'),
  price: fc.constantFrom('', '0', '0.0001', '0.03', '1', '2', '3', '4.5', '8', '999999999999.9999'),
  currency: fc.constantFrom('EUR', 'EUR', 'EUR', 'USD', ''),
});
const feed = fc.array(fc.option(row, { freq: 4 }), { minLength: 9, maxLength: 9 });
type Feed = ({ name: string; price: string; currency: string } | null)[];

function textOf(feedRows: Feed, isBackwards: boolean): string {
  const rows = feedRows.flatMap((each, at) =>
    each ? [`S${at},${each.name},${each.price},${each.currency}\n`] : [],
  );
  return `sku,product_name,price,currency\nLAST,Last,7,EUR\n${(isBackwards ? rows.reverse() : rows).join('')}`;
}

/** Reads a price in ten thousandths. */
function units(price: string): bigint {
  const [whole = '', fraction = ''] = price.split('.');
  return BigInt(whole + fraction.padEnd(4, '0'));
}

/** The change of a price in percent, by the changes of an item. */
function percentOf({ changes }: Change): number | undefined {
  const price = changes.find(({ field }) => field === 'price');
  if (!price?.before || !price.after || changes.some(({ field }) => field === 'currency')) return undefined;
  const before = units(price.before);
  if (before === 0n) return undefined;
  const change = 10_000n * (units(price.after) - before);
  const size = (2n * (change < 0n ? -change : change) + before) / (2n * before);
  return Number(change < 0n ? -size : size) / 100;
}

/** Sorts by the size of the change; the order of equal ones stays. */
const bySize = (items: Change[]): Change[] => {
  const sizeOf = (item: Change) => Math.abs(item.price_change_percent ?? NaN);
  return [
    ...items.filter((item) => !Number.isNaN(sizeOf(item))).sort((one, other) => sizeOf(other) - sizeOf(one)),
    ...items.filter((item) => Number.isNaN(sizeOf(item))),
  ];
};

type ReadPage = (query: string) => Promise<{ status: number; body: Body }>;
interface Body {
  items: Change[];
  summary: unknown;
  count: number;
  next_cursor?: string;
}

async function readAll(readPage: ReadPage, query: string, limit: number): Promise<Body> {
  const items: Change[] = [];
  for (let cursor = ''; ;) {
    const { status, body } = await readPage(`limit=${limit}&cursor=${cursor}${query}`);
    expect(status).toBe(200);
    expect(body.count).toBe(body.items.length);
    if (body.next_cursor !== undefined) expect(body.count).toBe(limit);
    items.push(...body.items);
    if (body.next_cursor === undefined) return { ...body, items };
    cursor = body.next_cursor;
  }
}

/** Checks lists against all changes. */
async function checkLists(readPage: ReadPage, asked: Asked[], limit: number): Promise<Change[]> {
  const all = await readAll(readPage, '', 1000);
  for (const item of all.items) expect(item.price_change_percent).toBe(percentOf(item));
  for (const { sort, action } of asked) {
    const filtered = all.items.filter((item) => action === '' || item.action === action);
    const { items, summary } = await readAll(readPage, `&sort_by=${sort}&action=${action}`, limit);
    expect({ sort, action, items }).toEqual({ sort, action, items: sort ? bySize(filtered) : filtered });
    expect(summary).toEqual(all.summary);
  }
  return all.items;
}

it('lists all changes of a plan and of its run in each order, with each filter, in pages', async () => {
  let partners = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(feed, feed, feed),
      fc.boolean(),
      fc.shuffledSubarray(queries, { minLength: 3, maxLength: 3 }),
      fc.integer({ min: 1, max: 4 }),
      async (feeds, isBackwards, asked, limit) => {
        const partner = `Partner ${++partners}`;
        const [first, second, third] = feeds.map((each) => textOf(each, isBackwards));
        await service.api.loadFeed(first!, partner, { mode: 'replace' });
        const { jobId: secondId } = await service.api.uploadFeed(second!, partner, { mode: 'replace' });
        await service.api.post(`/jobs/${secondId}/run?max_withdrawn=100`);
        const { jobId } = await service.api.uploadFeed(third!, partner, { mode: 'replace' });

        const planned = await checkLists(
          (query) => service.api.post(`/jobs/${jobId}/plan?max_withdrawn=100&${query}`),
          asked,
          limit,
        );
        await service.api.post(`/jobs/${jobId}/run?max_withdrawn=100`);
        const done = await checkLists(
          (query) => service.api.get(`/jobs/${jobId}/changes?run=1&${query}`),
          asked,
          limit,
        );

        const facts = (items: Change[]) =>
          items
            .map(({ sku, product_name, action, changes, price_change_percent }) => ({
              sku,
              product_name,
              action,
              changes,
              price_change_percent,
            }))
            .sort((one, other) => (one.sku < other.sku ? -1 : 1));
        expect(facts(done)).toEqual(facts(planned));
        const { body: products } = await service.api.get(
          `/products?partner_name=${encodeURIComponent(partner)}&include_withdrawn=true&limit=100`,
        );
        const names = new Map(
          (products.items as Change[]).map(({ sku, product_name }) => [sku, product_name]),
        );
        for (const { sku, product_name } of done) expect(product_name).toBe(names.get(sku));
      },
    ),
    casesFor('orders of changes', 3),
  );
});

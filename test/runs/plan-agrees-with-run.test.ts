import fc from 'fast-check';
import { anyFeed } from '../support/arbitrary';
import { casesFor } from '../support/fuzz';
import { startTestService, type TestService } from '../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

type Fields = Record<string, string | null>;
/** The fields of each product, by sku. */
type Catalog = Record<string, Fields>;

interface Change {
  row: number;
  sku: string;
  action: 'insert' | 'update';
  changes: { field: string; before: string | null; after: string | null }[];
}

const noFields: Fields = {
  product_name: null,
  description: null,
  brand: null,
  category: null,
  price: null,
  currency: null,
  availability: null,
};

async function catalogOf(partnerName: string): Promise<Catalog> {
  const rows = await service
    .db('products')
    .join('partners', 'partners.partner_id', 'products.partner_id')
    .where({ partner_name: partnerName })
    .select<Fields[]>(
      'sku',
      ...Object.keys(noFields).filter((field) => field !== 'price'),
      service.db.raw('trim_scale(price)::text as price'),
    );
  return Object.fromEntries(rows.map(({ sku, ...fields }) => [sku, fields]));
}

async function planAll(jobId: string, limit: number) {
  const items: Change[] = [];
  for (let cursor = ''; ;) {
    const { status, body } = await service.api.post(`/jobs/${jobId}/plan?limit=${limit}&cursor=${cursor}`);
    expect(status).toBe(200);
    items.push(...(body.items as Change[]));
    if (body.next_cursor === undefined) return { plan: body, items };
    cursor = body.next_cursor;
  }
}

/** Applies the changes; the `before` of each must match. */
function apply(before: Catalog, items: Change[]): Catalog {
  const after = structuredClone(before);
  for (const { sku, action, changes } of items) {
    expect(sku in after).toBe(action === 'update');
    expect(changes.length).toBeGreaterThan(0);
    const product = (after[sku] ??= { ...noFields });
    for (const change of changes) {
      expect({ sku, ...change, before: product[change.field] }).toEqual({ sku, ...change });
      expect(change.after).not.toBe(change.before);
      product[change.field] = change.after;
    }
  }
  return after;
}

describe('a plan', () => {
  it('agrees with the next run in counters, issues and every change, for any catalog and feed', async () => {
    let partners = 0;
    await fc.assert(
      fc.asyncProperty(anyFeed, anyFeed, fc.integer({ min: 1, max: 12 }), async (first, second, limit) => {
        const partner = `Partner ${++partners}`;
        await service.api.loadFeed(first, partner);
        const before = await catalogOf(partner);
        const { jobId } = await service.api.uploadFeed(second, partner);

        const { plan, items } = await planAll(jobId, limit);
        expect(await catalogOf(partner)).toEqual(before);
        const { body: job } = await service.api.post(`/jobs/${jobId}/run`);

        const { status, message, summary, issue_counts } = job;
        expect(plan).toMatchObject({ status, message, summary, issue_counts });
        expect(items.map(({ row }) => row)).toEqual(items.map(({ row }) => row).sort((a, b) => a - b));
        const inserted = items.filter(({ action }) => action === 'insert').length;
        expect([inserted, items.length - inserted]).toEqual([summary.inserted, summary.updated]);
        expect(apply(before, items)).toEqual(await catalogOf(partner));

        const { plan: again } = await planAll(jobId, limit);
        expect(again).toMatchObject({
          summary: { ...summary, inserted: 0, updated: 0, unchanged: summary.processed - summary.skipped },
          issue_counts,
          count: 0,
          items: [],
        });
      }),
      // Each case takes two loads and some plans.
      casesFor('plans and runs', 8),
    );
  });

  it('agrees with an inspection of a partner without products: issues and rows', async () => {
    let partners = 0;
    await fc.assert(
      fc.asyncProperty(anyFeed, async (csv) => {
        const partner = `New partner ${++partners}`;
        const { body: inspection } = await service.api.inspect({ csv, partnerName: partner });
        const { jobId } = await service.api.uploadFeed(csv, partner);

        const { plan, items } = await planAll(jobId, 100);

        expect(inspection.issue_counts).toEqual(plan.issue_counts);
        expect(inspection.row_count).toBe(plan.summary.processed);
        expect(inspection.rows.map(({ row }: { row: number }) => row)).toEqual(
          items.map(({ row }) => row).slice(0, 10),
        );
      }),
      casesFor('plans and inspections', 8),
    );
  });
});

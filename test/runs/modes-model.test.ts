import fc from 'fast-check';
import { formatId } from '../../src/base/ids';
import { casesFor, forgetAll } from '../support/fuzz';
import { findBrokenHistory } from '../support/history-invariants';
import { startTestService, type TestService } from '../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

/** A row of a feed: valid, or skipped for its price, its name, its sku or an extra cell. */
interface Row {
  sku: string;
  name: string;
  price: string;
  hasExtraCell: boolean;
}

interface Feed {
  mode: 'upsert' | 'replace' | 'update';
  /** Undefined: absent from the feed. */
  collection: string | undefined;
  rows: Row[];
  /** Whether a row follows that cannot be split into cells. */
  isBroken: boolean;
}

/** The confirmed number of a replace run. */
interface Confirmation {
  maxWithdrawn: number | undefined;
  allowsOlder: boolean;
}

interface Product {
  name: string;
  price: string;
  collection: string;
  isActive: boolean;
}

/** A product with the position of the feed that wrote it, and the number of its withdrawal; 0 if active. */
type Stored = Product & { feed: number; withdrawal: number };

/** A completed run: the products that it wrote, before (null: inserted) and after. */
interface Run {
  changed: Map<string, { before: Stored | null; after: Stored }>;
  reverts?: Run;
}

/** More than ten: the usual limit of withdrawals can be exceeded. */
const skus = [...'ABCDEFGHIJKL'];
const price = fc.constantFrom('1', '1', '1', '2');
const goodRow = (sku: string) =>
  fc.record({
    sku: fc.constant(sku),
    name: fc.constantFrom('Tent', 'Tent', 'Lamp'),
    price,
    hasExtraCell: fc.constant(false),
  });
const anyRow = fc.record({
  sku: fc.constantFrom('A', 'B', 'C', 'D', 'E', ''),
  name: fc.constantFrom('Tent', 'Lamp', ''),
  price: fc.oneof(price, fc.constant('NA')),
  hasExtraCell: fc.integer({ min: 0, max: 9 }).map((often) => often === 0),
});
/** Any subset of the skus, all or only a few, and rows of any kind. */
const rows = fc
  .tuple(
    fc
      .oneof(fc.constant(skus), fc.subarray(skus, { maxLength: 2 }), fc.subarray(skus))
      .chain((some) => fc.tuple(...some.map(goodRow))),
    fc.array(anyRow, { maxLength: 4 }),
  )
  .map(([good, any]) => [...good, ...any]);
const feed: fc.Arbitrary<Feed> = fc.record({
  mode: fc.constantFrom('upsert', 'replace', 'replace', 'update'),
  collection: fc.constantFrom(undefined, undefined, 'main', 'sale'),
  rows: fc.oneof(
    { weight: 3, arbitrary: rows },
    { weight: 1, arbitrary: fc.array(anyRow, { maxLength: 2 }) },
  ),
  isBroken: fc.integer({ max: 9, min: 0 }).map((often) => often === 0),
});
const confirmation: fc.Arbitrary<Confirmation> = fc.oneof(
  { weight: 2, arbitrary: fc.constant({ maxWithdrawn: skus.length, allowsOlder: true }) },
  {
    weight: 3,
    arbitrary: fc.record({
      maxWithdrawn: fc.option(fc.integer({ min: 0, max: skus.length }), { nil: undefined }),
      allowsOlder: fc.boolean(),
    }),
  },
);

type Step = (
  { feed: Feed } | { repeat: number } | { withdraw: string } | { revert: number; skips: boolean }
) & {
  confirmation: Confirmation;
};
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ feed, confirmation }) },
  { weight: 2, arbitrary: fc.record({ repeat: fc.nat(), confirmation }) },
  { weight: 1, arbitrary: fc.record({ withdraw: fc.constantFrom('A', 'B', 'C'), confirmation }) },
  { weight: 3, arbitrary: fc.record({ revert: fc.nat(), skips: fc.boolean(), confirmation }) },
);

const toCsv = ({ rows, isBroken }: Feed) =>
  [
    'sku,product_name,price',
    ...rows.map(({ sku, name, price, hasExtraCell }) => `${sku},${name},${price}${hasExtraCell ? ',x' : ''}`),
  ].join('\n') + (isBroken ? '\n"A"x,Tent,1' : '');

/** Applies a feed as the document describes. @returns its counters */
function apply(
  catalog: Map<string, Stored>,
  { mode, collection: named, rows, isBroken }: Feed,
  feed: number,
  withdrawal: number,
) {
  const collection = named ?? 'main';
  const moves = named !== undefined || mode === 'replace';
  const processed = rows.length + (isBroken ? 1 : 0);
  const counters = {
    processed,
    inserted: 0,
    updated: 0,
    unchanged: 0,
    skipped: 0,
    withdrawn: 0,
    restored: 0,
  };
  const isValid = ({ sku, name, price, hasExtraCell }: Row) =>
    sku !== '' && price !== 'NA' && (name !== '' || mode === 'update') && !hasExtraCell;
  const namedSkus = new Set(rows.map(({ sku }) => sku));
  const last = new Map(rows.filter(isValid).map((row) => [row.sku, row]));
  if (mode === 'replace' && !isBroken) {
    for (const [sku, product] of catalog) {
      if (product.collection !== collection || namedSkus.has(sku) || !product.isActive) continue;
      Object.assign(product, { isActive: false, withdrawal });
      counters.withdrawn++;
    }
  }
  for (const [sku, { name, price }] of last) {
    const known = catalog.get(sku);
    if (!known && mode === 'update') continue;
    const target = moves || !known ? collection : known.collection;
    const loaded = {
      name: name || known!.name,
      price,
      collection: target,
      isActive: true,
      withdrawal: 0,
      feed,
    };
    const isUnchanged = known?.isActive && known.name === loaded.name && known.price === price;
    counters[!known ? 'inserted' : isUnchanged ? 'unchanged' : 'updated']++;
    if (known?.isActive === false) counters.restored++;
    catalog.set(sku, isUnchanged ? { ...known, collection: target } : loaded);
  }
  counters.skipped = processed - counters.inserted - counters.updated - counters.unchanged;
  return { ...counters, ...(mode === 'replace' && isBroken && { is_withdrawal_withheld: true }) };
}

/** Whether products have the same values from the same feed, in the same collection. */
const isSame = (one: Stored, other: Stored) =>
  (['name', 'price', 'feed', 'withdrawal', 'collection'] as const).every(
    (field) => one[field] === other[field],
  );

/** Models runs as the document describes: each applies its feed or reverts a run completely, or fails and changes nothing. */
class Model {
  catalog = new Map<string, Stored>();
  /** Completed runs, reverts included. */
  readonly runs: Run[] = [];
  /** Position of the newest replace feed completed in each collection. */
  private readonly newest = new Map<string, number>();
  private withdrawals = 0;

  /** @returns the summary of a completed run, or the known part of the summary of a failed one */
  run(feed: Feed, position: number, { maxWithdrawn, allowsOlder }: Confirmation) {
    const { mode, collection = 'main' } = feed;
    const after = new Map([...this.catalog].map(([sku, product]) => [sku, { ...product }]));
    const summary = apply(after, feed, position, ++this.withdrawals);
    const { withdrawn } = summary;
    if (mode === 'replace') {
      if (!allowsOlder && (this.newest.get(collection) ?? -1) > position)
        return { isCompleted: false, summary: {} };
      const isActive = (product: Product) => product.isActive && product.collection === collection;
      const active = [...this.catalog.values()].filter(isActive).length;
      const isEmptied = withdrawn > 0 && ![...after.values()].some(isActive);
      const isTooMany = withdrawn > (maxWithdrawn ?? Math.max(10, active / 5));
      if (isTooMany || (isEmptied && maxWithdrawn === undefined)) {
        return { isCompleted: false, summary: { would_withdraw: withdrawn, withdrawn: 0 } };
      }
      this.newest.set(collection, Math.max(this.newest.get(collection) ?? -1, position));
    }
    this.replaceBy(after);
    return { isCompleted: true, summary };
  }

  withdraw(sku: string): void {
    const product = this.catalog.get(sku)!;
    if (product.isActive)
      this.catalog.set(sku, { ...product, isActive: false, withdrawal: ++this.withdrawals });
  }

  /** @returns the summary of a revert, the number of conflicts that prevent it, or that it is reverted already */
  revert(run: Run, skips: boolean) {
    const isReverted = (of: Run): boolean => this.runs.some((by) => by.reverts === of && !isReverted(by));
    if (isReverted(run)) return 'reverted already';
    const summary = {
      processed: 0,
      inserted: 0,
      updated: 0,
      unchanged: 0,
      skipped: 0,
      withdrawn: 0,
      restored: 0,
    };
    const after = new Map(this.catalog);
    const withdrawal = ++this.withdrawals;
    for (const [sku, { before, after: left }] of run.changed) {
      const now = this.catalog.get(sku)!;
      const target = before ?? (now.isActive ? { ...now, isActive: false, withdrawal } : now);
      if (isSame(now, target)) summary.unchanged++;
      else if (!isSame(now, left)) summary.skipped++;
      else {
        after.set(sku, target);
        summary[now.isActive && !target.isActive ? 'withdrawn' : 'updated']++;
        if (!now.isActive && target.isActive) summary.restored++;
      }
    }
    if (summary.skipped > 0 && !skips) return { conflicts: summary.skipped };
    summary.processed = summary.updated + summary.unchanged + summary.skipped;
    this.replaceBy(after, run);
    return { summary };
  }

  private replaceBy(after: Map<string, Stored>, reverts?: Run): void {
    const changed: Run['changed'] = new Map();
    for (const [sku, product] of after) {
      const before = this.catalog.get(sku);
      if (before && isSame(before, product)) continue;
      changed.set(sku, { before: before ?? null, after: product });
    }
    this.runs.push({ changed, reverts });
    this.catalog = after;
  }
}

async function catalogNow(): Promise<Record<string, Product>> {
  const rows = await service
    .db('products')
    .select<({ sku: string } & Product)[]>(
      'sku',
      'product_name as name',
      'collection',
      service.db.raw('trim_scale(price)::text as price'),
      service.db.raw('withdrawn_at is null as "isActive"'),
    );
  return Object.fromEntries(rows.map(({ sku, ...product }) => [sku, product]));
}

async function withdraw(sku: string): Promise<boolean> {
  const product = await service
    .db('products')
    .where({ sku })
    .first<{ product_id: number } | undefined>('product_id');
  if (!product) return false;
  const { status } = await service.api.post(`/products/${formatId('PR', product.product_id)}/withdraw`);
  expect(status).toBe(200);
  return true;
}

const shown = ({ feed: _feed, withdrawal: _withdrawal, ...product }: Stored): Product => product;

/** The result of a revert, in the terms of the model. */
function outcomeOf(status: number, body: { summary?: object; conflicts?: unknown[]; detail?: string }) {
  if (status === 200) return { summary: body.summary };
  return body.conflicts
    ? { conflicts: body.conflicts.length }
    : body.detail?.includes('already reverted') && 'reverted already';
}

const queryOf = ({ maxWithdrawn, allowsOlder }: Confirmation) =>
  `?allow_older=${allowsOlder}${maxWithdrawn === undefined ? '' : `&max_withdrawn=${maxWithdrawn}`}`;

describe('feeds of all modes and collections, and reverts of their runs', () => {
  it('have the same catalog and counters as a simple model, and fail when it does', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 8 }), async (steps) => {
        await forgetAll(service);
        const model = new Model();
        const uploaded: { jobId: string; feed: Feed }[] = [];
        const runs: { jobId: string; run: number }[] = [];
        for (const each of steps) {
          if ('withdraw' in each) {
            if (!(await withdraw(each.withdraw))) continue;
            model.withdraw(each.withdraw);
          } else if ('revert' in each) {
            if (runs.length === 0) continue;
            const at = each.revert % runs.length;
            const { jobId, run } = runs[at]!;
            const expected = model.revert(model.runs[at]!, each.skips);
            const query = `?run=${run}${each.skips ? '&on_conflict=skip' : ''}`;
            const { status, body } = await service.api.post(`/jobs/${jobId}/revert${query}`);
            expect(outcomeOf(status, body)).toEqual(expected);
            if (status === 200) runs.push({ jobId, run: body.run });
          } else {
            if ('feed' in each) {
              const { mode, collection } = each.feed;
              const { jobId } = await service.api.uploadFeed(toCsv(each.feed), 'Acme', {
                mode,
                ...(collection && { collection }),
              });
              uploaded.push({ jobId, feed: each.feed });
            } else if (uploaded.length === 0) continue;
            const position = 'feed' in each ? uploaded.length - 1 : each.repeat % uploaded.length;
            const { jobId, feed } = uploaded[position]!;
            const expected = model.run(feed, position, each.confirmation);
            const query = feed.mode === 'replace' ? queryOf(each.confirmation) : '';
            const { body: job } = await service.api.post(`/jobs/${jobId}/run${query}`);
            expect(job.status).toBe(expected.isCompleted ? 'completed' : 'failed');
            const { body: listed } = await service.api.get(`/jobs/${jobId}/runs?limit=1`);
            if (expected.isCompleted) runs.push({ jobId, run: listed.items[0].run });
            if (expected.isCompleted) expect(job.summary).toEqual(expected.summary);
            else expect(job.summary).toMatchObject(expected.summary);
          }
          const { catalog } = model;
          expect(await catalogNow()).toEqual(
            Object.fromEntries([...catalog].map(([sku, product]) => [sku, shown(product)])),
          );
          const active = [...catalog].filter(([, { isActive }]) => isActive).map(([sku]) => sku);
          const { body: listed } = await service.api.get('/products?limit=100');
          expect(listed.items.map(({ sku }: { sku: string }) => sku).sort()).toEqual(active.sort());
          expect((await service.api.get('/partners/Acme')).body.products).toBe(active.length);
          expect(await findBrokenHistory(service.db)).toEqual([]);
        }
      }),
      casesFor('feeds of all modes and collections', 6),
    );
  });
});

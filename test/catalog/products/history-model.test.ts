import fc from 'fast-check';
import { casesFor, forgetAll } from '../../support/fuzz';
import { toCsv } from '../../support/catalog';
import { pendingRunId } from '../../../src/catalog/products/versions.repository';
import { findBrokenHistory } from '../../support/history-invariants';
import { startTestService, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const partner = 'Model';

interface Row {
  sku: string;
  price: string;
  brand: string;
}

/** A feed, a withdrawal, a revert (of products unchanged since), or a manual change, which the next feed takes into account. */
type Action =
  | { kind: 'upsert' | 'replace'; rows: Row[] }
  | { kind: 'withdraw' | 'edit' | 'delete'; sku: string }
  | { kind: 'revert'; of: number };

let runs: { jobId: string; run: number }[] = [];

const sku = fc.constantFrom('A', 'B', 'C', 'D');
const rows = fc.uniqueArray(
  fc.record({ sku, price: fc.constantFrom('', '1', '2'), brand: fc.constantFrom('', 'Acme') }),
  { selector: (row) => row.sku, minLength: 1, maxLength: 4 },
);
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('upsert' as const), rows }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('replace' as const), rows }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('withdraw' as const), sku }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('revert' as const), of: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('edit' as const, 'delete' as const), sku }) },
);

/** Products as the catalog shows them, by number. */
type Catalog = Product[];

interface Product {
  product_id: string;
  sku: string;
  price?: number;
  [field: string]: unknown;
}

const list = async (query: string): Promise<Catalog> => {
  const path = `/products?partner_name=${partner}&include_withdrawn=true&limit=100${query}`;
  const { status, body } = await service.api.get(path);
  expect([path, status]).toEqual([path, 200]);
  return body.items as Catalog;
};

const timeOfDatabase = async () => {
  const { rows: times } = await service.db.raw<{ rows: [{ at: string }] }>(
    `select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at`,
  );
  return times[0].at;
};

/** @returns whether the catalog equals the history, which does not contain manual changes yet */
async function apply(next: Action): Promise<boolean> {
  if ('rows' in next) {
    const query = next.kind === 'replace' ? '?max_withdrawn=100' : '';
    const { job, jobId } = await service.api.loadFeed(toCsv(next.rows), partner, { mode: next.kind }, query);
    expect(job.status).toBe('completed');
    runs.push({ jobId, run: 1 });
    return true;
  }
  if (next.kind === 'revert') {
    const of = runs[next.of % runs.length];
    if (!of) return false;
    const { status, body } = await service.api.post(
      `/jobs/${of.jobId}/revert?run=${of.run}&on_conflict=skip`,
    );
    if (status !== 409) expect(body.status).toBe('completed');
    if (status === 200) runs.push({ jobId: of.jobId, run: body.run as number });
    // A manual change waits for a load.
    const pending = await service
      .db('product_versions')
      .where('until_run_id', pendingRunId)
      .first('product_id');
    return status === 200 && !pending;
  }
  const found = (await list('')).find((product) => product.sku === next.sku);
  if (!found) return true;
  const products = service.db('products').where('product_id', Number(found.product_id.slice(2)));
  if (next.kind === 'edit') await products.update({ description: await timeOfDatabase() });
  else if (next.kind === 'delete') await products.delete();
  else await service.api.post(`/products/${found.product_id}/withdraw`);
  return next.kind === 'withdraw';
}

/** The states of a product by the changes of its versions, oldest first. */
function replayed(versions: { changes: { field: string; after: string | null }[] }[]): object[] {
  let product: Record<string, unknown> = {};
  return versions.toReversed().map(({ changes }) => {
    product = { ...product, ...Object.fromEntries(changes.map(({ field, after }) => [field, after])) };
    return Object.fromEntries(Object.entries(product).filter(([, value]) => value !== null));
  });
}

/** A product of the catalog, reduced to the fields of versions. */
function valuesOf({
  product_id: _id,
  feed_id: _feed,
  partner_name: _partner,
  created_at: _at,
  ...values
}: Catalog[0]) {
  return { ...values, ...(values.price !== undefined && { price: String(values.price) }) };
}

describe('the history of a catalog', () => {
  it('shows the catalog at every time and every change of a product once, for any loads, withdrawals and manual changes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 2, maxLength: 7 }), async (actions) => {
        await forgetAll(service);
        runs = [];
        await service.db('product_versions').delete();
        await service.db('catalog_versions').where('run_id', '>', 0).delete();
        const seen: { at: string; catalog: Catalog }[] = [];
        for (const next of actions) {
          const isInHistory = await apply(next);
          if (isInHistory && next.kind !== 'withdraw') {
            seen.push({ catalog: await list('&sort_by=product_id&order=asc'), at: await timeOfDatabase() });
          }
        }

        for (const { at, catalog } of seen) expect(await list(`&as_of=${at}`)).toEqual(catalog);
        const ids = new Set(seen.flatMap(({ catalog }) => catalog.map(({ product_id: id }) => id)));
        for (const id of ids) {
          const { body } = await service.api.get(`/products/${id}/history?limit=100`);
          const states = replayed(body.items);
          for (const { at, catalog } of seen) {
            const product = catalog.find((each) => each.product_id === id);
            const inForce = body.items.findIndex(
              ({ valid_from: from, valid_to: to }: { valid_from: string; valid_to: string | null }) =>
                from <= at && (to === null || at < to),
            ) as number;
            const shown = inForce < 0 ? undefined : states.toReversed()[inForce];
            expect(shown).toEqual(product && valuesOf(product));
            const { status, body: then } = await service.api.get(`/products/${id}?as_of=${at}`);
            expect(status).toBe(product ? 200 : 404);
            if (product) expect(then).toMatchObject(product);
          }
        }
        expect(await findBrokenHistory(service.db)).toEqual([]);
      }),
      casesFor('histories of a catalog', 4),
    );
  });

  it('starts the versions of all products of a run at one instant, with job and number of the run', async () => {
    const first = await service.api.loadFeed('sku,product_name\nA,A\nB,B\n', 'Instants');
    const second = await service.api.loadFeed('sku,product_name\nA,New A\nB,New B\n', 'Instants');
    await service.api.post(`/jobs/${first.jobId}/run`);
    await service.api.post(`/jobs/${first.jobId}/run`);
    const { body } = await service.api.get('/products?partner_name=Instants');

    const histories = await Promise.all(
      (body.items as { product_id: string }[]).map(
        async ({ product_id: id }) =>
          (await service.api.get(`/products/${id}/history`)).body.items as unknown[],
      ),
    );

    const [ofB, ofA] = histories as { valid_from: string; job_id: string; run: number }[][];
    expect(ofA!.map(({ job_id: job, run }) => [job, run])).toEqual([
      [first.jobId, 2],
      [second.jobId, 1],
      [first.jobId, 1],
    ]);
    expect(ofB!.map(({ valid_from: from }) => from)).toEqual(ofA!.map(({ valid_from: from }) => from));
  });
});

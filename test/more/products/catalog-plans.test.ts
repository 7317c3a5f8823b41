import { Client } from 'pg';
import {
  combinations,
  unknownParameters,
  type Combination,
} from '../../../scripts/bench/catalog-combinations';
import { fillCatalog, filterValues } from '../../../scripts/bench/catalog-data';
import { openDatabase, type Database } from '../../../src/base/db/database';
import { resolveListingOrder } from '../../../src/catalog/products/products.checks';
import { listProducts } from '../../../src/catalog/products/products.listing';
import { findProducts } from '../../../src/catalog/products/products.repository';
import { afterFile } from '../../support/harness';
import { createTestDatabase } from '../../support/databases';

/** Enough for the planner to have a choice, and for full scans to be expensive. */
const products = 200_000;
const sortedMax = 25_000;
/** Number of products of a frequent brand. */
const readMax = 25_000;

/** A node of a plan in the JSON of EXPLAIN. */
interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: PlanNode[];
}

interface Statement {
  sql: string;
  bindings: unknown[];
}

let db: Database;
let client: Client;
beforeAll(async () => {
  await openCatalog();
  await fillCatalog(products, (sql) => client.query(sql));
});

async function openCatalog(): Promise<void> {
  const { address } = await createTestDatabase();
  const pool = openDatabase(address, { applicationName: 'test', connectionsMax: 1 });
  afterFile(() => pool.destroy());
  const session = new Client(address);
  await session.connect();
  afterFile(() => session.end());
  [db, client] = [pool, session];
}

async function statementsOf<T>(work: () => Promise<T>): Promise<{ result: T; statements: Statement[] }> {
  const statements: Statement[] = [];
  const note = ({ sql, bindings }: Partial<Statement> & { sql: string }) =>
    void statements.push({ sql, bindings: bindings ?? [] });
  db.on('query', note);
  try {
    return { result: await work(), statements };
  } finally {
    db.off('query', note);
  }
}

/** Finds problems in the plans of the statements, which are executed again in the same order. */
async function faultsOf(statements: Statement[]): Promise<string[]> {
  const faults: string[] = [];
  for (const { sql, bindings } of statements) {
    if (!/^\s*(select|with)/.test(sql)) {
      await client.query(sql, bindings);
      continue;
    }
    for (const mode of planModes(sql)) {
      const plan = await planOf(sql, bindings, mode);
      const wrong = nodesOf(plan).flatMap(faultsOfNode);
      if (wrong.length === 0) continue;
      faults.push(
        `${wrong.join('; ')} (${mode})\n${sql}\n${JSON.stringify(bindings)}\n${JSON.stringify(plan, null, 1)}`,
      );
    }
  }
  return faults;
}

/** Only a sort of all matches needs the values. Other statements may be prepared, and get a generic plan. */
const planModes = (sql: string) =>
  sql.includes('offset 0') ? ['force_custom_plan'] : ['force_custom_plan', 'force_generic_plan'];

async function planOf(sql: string, bindings: unknown[], mode: string): Promise<PlanNode> {
  const values = bindings.map((value) => client.escapeLiteral(String(value))).join(', ');
  await client.query(`set plan_cache_mode = ${mode}; prepare listing as ${sql}`);
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
    `explain (analyze, timing off, format json) execute listing${values && `(${values})`}`,
  );
  await client.query('deallocate listing');
  return rows[0]!['QUERY PLAN'][0].Plan;
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

function faultsOfNode(node: PlanNode): string[] {
  const { 'Node Type': type, 'Relation Name': relation, 'Actual Loops': loops } = node;
  const faults: string[] = [];
  if (relation === 'products') {
    if (type === 'Seq Scan') faults.push('a sequential scan');
    const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
    const read = (node['Actual Rows'] + removed) * loops;
    if (read > readMax) faults.push(`${read} rows read`);
  }
  if (/Sort$/.test(type)) {
    const sorted = node.Plans![0]!['Actual Rows'] * loops;
    if (sorted > sortedMax) faults.push(`${sorted} rows sorted`);
  }
  return faults;
}

async function list({ query, scope }: Combination, cursor?: string) {
  const { sort_by, order, ...filter } = query;
  const start = resolveListingOrder({ sort_by, order, cursor });
  return listProducts(db, { scope, filter, ...start, limit: 10 });
}

/** Numbers of the same products by one plain statement, of any cost. */
async function plainly({ query, scope }: Combination, limit: number): Promise<string[]> {
  const { sort_by = 'created_at', order, feed_id, partner_name, ...columns } = query;
  const matching = db('products')
    .join('partners', 'partners.partner_id', 'products.partner_id')
    .where(Object.fromEntries(Object.entries(columns).map(([name, value]) => [`products.${name}`, value])))
    .orderByRaw(`${sort_by} ${order} nulls last, product_id ${order}`)
    .limit(limit);
  if (feed_id !== undefined) void matching.where('feed_id', Number(feed_id.slice(2)));
  for (const name of [partner_name, scope ?? undefined]) {
    if (name !== undefined) void matching.where({ partner_name: name });
  }
  const numbers: number[] = await matching.pluck('product_id');
  return numbers.map((number) => `PR${String(number).padStart(5, '0')}`);
}

describe('a page of a large catalog', () => {
  const some = combinations().filter((_, at) => at % 29 === 0);
  it.each(some.map((each) => [each.name, each] as const))(
    'has the same products as a plain statement: %s',
    async (_, combination) => {
      const wanted = await plainly(combination, 20);
      const idsOf = ({ items }: { items: { product_id: number }[] }) =>
        items.map(({ product_id }) => `PR${String(product_id).padStart(5, '0')}`);

      const first = await list(combination);
      expect(idsOf(first)).toEqual(wanted.slice(0, 10));
      if (!combination.hasLaterPages || first.nextCursor === undefined) return;
      expect(idsOf(await list(combination, first.nextCursor))).toEqual(wanted.slice(10));
    },
  );
});

describe('the plans of the catalog', () => {
  it('are tested for every parameter of the document', () => {
    expect(unknownParameters).toEqual([]);
  });

  it('neither scan the table nor sort much, for any combination of filters, sort and cursor', async () => {
    const faults: string[] = [];
    const report = (name: string, found: string[]) =>
      faults.push(...found.map((fault) => `${name}: ${fault}`));
    for (const combination of combinations()) {
      const first = await statementsOf(() => list(combination));
      report(combination.name, await faultsOf(first.statements));
      const { nextCursor } = first.result;
      if (!combination.hasLaterPages || nextCursor === undefined) continue;
      const later = await statementsOf(() => list(combination, nextCursor));
      report(`${combination.name}, a later page`, await faultsOf(later.statements));
    }
    // One plan explains more than a thousand.
    expect({ names: faults.map((fault) => fault.split('\n')[0]), plan: faults[0] }).toEqual({
      names: [],
      plan: undefined,
    });
  }, 300_000);

  it('of a later page read only this page, wherever it starts', async () => {
    for (const scope of [null, 'Large']) {
      for (const sort_by of [undefined, 'product_id']) {
        for (const order of ['asc', 'desc']) {
          const query = { order, ...(sort_by === undefined ? {} : { sort_by }) };
          const combination = { query, scope, hasLaterPages: true, name: '' };
          const cursor = `PR${products / 2}`;

          const { statements } = await statementsOf(() => list(combination, cursor));
          const sql = statements.at(-1)!;
          const { rows } = await client.query(
            `explain (analyze, timing off, format json) ${sql.sql}`,
            sql.bindings,
          );
          const read = nodesOf(rows[0]['QUERY PLAN'][0].Plan)
            .filter((node) => node['Relation Name'] === 'products')
            .reduce((sum, node) => sum + node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0), 0);
          expect(read).toBeLessThanOrEqual(12);
        }
      }
    }
  });

  it.each(Object.entries(filterValues))(
    'of a feed and of one product do not scan or sort either: %s',
    async (_, values) => {
      for (const scope of [null, values.partner_name]) {
        for (const afterProductId of [undefined, products / 2]) {
          const { statements } = await statementsOf(() =>
            listProducts(db, {
              scope,
              filter: { feed_id: values.feed_id },
              sort: { field: 'product_id', order: 'asc' },
              afterProductId,
              limit: 100,
            }),
          );
          expect(await faultsOf(statements)).toEqual([]);
        }
        const { statements } = await statementsOf(() => findProducts(db, [{ productId: 1, scope }]));
        expect(await faultsOf(statements)).toEqual([]);
      }
    },
  );
});

describe('the plans of a catalog of three partners that was just loaded, and partly withdrawn', () => {
  beforeAll(async () => {
    await openCatalog();
    await client.query(`
      insert into partners (partner_name) select 'Partner ' || number from generate_series(1, 30) as number;
      insert into products (partner_id, feed_id, sku, product_name, brand, category, price, availability, withdrawn_at)
      select partner_id, partner_id, 'S' || number, 'Product ' || number, 'Brand ' || number % 3, 'Category ' || number % 2,
        number % 1000, 'in_stock', case when number % 10 < 4 then now() end
      from partners, generate_series(1, 40000) as number
      where partner_name in ('Partner 1', 'Partner 2', 'Partner 3');
      analyze products, partners`);
  });

  const byPrice = { field: 'price', order: 'asc' } as const;
  const byNumber = { field: 'product_id', order: 'asc' } as const;
  const newest = { field: 'created_at', order: 'desc' } as const;
  it.each([
    ['all by price', {}, byPrice, undefined],
    ['a partner by number', { partner_name: 'Partner 2' }, byNumber, undefined],
    ['a later page of a partner by number', { partner_name: 'Partner 2' }, byNumber, 60_000],
    ['a partner, newest first', { partner_name: 'Partner 2' }, newest, undefined],
    ['an unknown brand', { brand: 'none' }, newest, undefined],
    ['an unknown brand by price', { brand: 'none' }, byPrice, undefined],
    ['a category of a partner', { partner_name: 'Partner 2', category: 'Category 1' }, byNumber, undefined],
  ])('read little: %s', async (_, filter, sort, afterProductId) => {
    for (const limit of [10, 100]) {
      const { statements } = await statementsOf(() =>
        listProducts(db, { scope: null, filter, sort, afterProductId, limit }),
      );
      expect(await faultsOf(statements)).toEqual([]);
    }
  });
});

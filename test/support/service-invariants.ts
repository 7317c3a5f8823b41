import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { parse } from 'csv-parse/sync';
import type { Database } from '../../src/base/db/database';
import { cleanObjects } from '../../src/intake/feeds/clean-objects';
import { keyPrefixes } from '../../src/base/storage/object-key';
import type { ObjectStore } from '../../src/base/storage/object-store';
import type { ApiClient } from './api-client';
import { historyQuestions, withProducts } from './history-invariants';

/** Targets of a fault, to be checked. */
export interface FaultySystem {
  /** A pool of the test, named `test`, without injected faults. */
  db: Database;
  objectStore: ObjectStore;
  /** APIs of the processes that should be healthy. */
  apis: ApiClient[];
}

/** Leftovers that are allowed after the fault. */
export interface Allowances {
  /** A process was killed: the clean-up removes its leftovers in the object store a day later. */
  orphans?: boolean;
  /** With a pooler, connections belong to no pool of the service, and have the name of their last client. */
  pooled?: boolean;
  /** Time for a connection to become idle, and for a busy machine to report a connected database. */
  patienceMilliseconds?: number;
}

/**
 * Checks a database, its object store and services after a fault, without work in progress. Returns all violations. Feeds must be
 * simple: a valid row has a sku, a name, and optionally a plain number as its price.
 */
export async function findBroken(
  system: FaultySystem,
  { orphans = false, pooled = false, patienceMilliseconds = 30_000 }: Allowances = {},
): Promise<string[]> {
  const { rows } = await system.db.raw<{ rows: { what: string; broken: unknown }[] }>(
    `${withProducts} ${askAll}`,
  );
  const found = rows.map(({ what, broken }) => `${what}: ${JSON.stringify(broken)}`);
  found.push(...(await brokenFeeds(system)));
  found.push(...(await leftInStore(system, orphans)));
  found.push(...(await leakedConnections(system.db, pooled, patienceMilliseconds)));
  for (const api of system.apis) found.push(...(await whatHealthSays(api, patienceMilliseconds)));
  return found;
}

/** Problems of the health check that persist. */
async function whatHealthSays(api: ApiClient, patienceMilliseconds: number): Promise<string[]> {
  const deadline = performance.now() + patienceMilliseconds;
  for (;;) {
    const { status, body } = await api.get('/health');
    const said = JSON.stringify(body);
    if (status === 200 && said === '{"status":"ok","database":"connected"}') return [];
    if (performance.now() > deadline) return [`/health is wrong: ${status} ${said}`];
    await pause(50);
  }
}

/** Sums that disagree with the orders seen by the roll-up, and missing sums. */
function sumsGoneWrong(table: string, key: string): string {
  const expected = `
    select ${key}, sum(quantity) as units_sold, sum(line_total) as total_sales
    from (
      select *, cast(created_at at time zone 'UTC' as date) as sales_day,
        cast(date_trunc('month', created_at at time zone 'UTC') as date) as sales_month
      from sales_rollup join orders on pg_visible_in_snapshot(orders.transaction_id, seen) join order_items using (order_id)
    ) as line
    group by ${key}`;
  const found = `select ${key}, units_sold, total_sales from ${table}`;
  return `(${expected} except ${found}) union all (${found} except ${expected})`;
}

/** Statements that find violations. */
const questions = {
  ...historyQuestions,
  'a product of a feed that never ran': `
    select product_id, feed_id from products join validation_jobs using (feed_id) where run_count = 0`,
  'a product of a feed whose only run failed': `
    select product_id, feed_id from products join validation_jobs using (feed_id)
    where run_count = 1 and status <> 'completed'`,
  'two products of one partner and sku': `
    select partner_id, sku, count(*) from products group by partner_id, sku having count(*) > 1`,
  'an order without items': `
    select order_id from orders where not exists (select from order_items where order_items.order_id = orders.order_id)`,
  'an order whose total is not the sum of its items': `
    select order_id, total_amount, sum(line_total) from orders join order_items using (order_id)
    group by order_id having total_amount <> sum(line_total)`,
  'an item whose total is not price times quantity': `
    select order_item_id from order_items where line_total <> unit_price * quantity`,
  'a sum of a partner that is not that of the orders in it': sumsGoneWrong(
    'sales_by_partner',
    'partner_name, currency',
  ),
  'a sum of a day that is not that of the orders in it': sumsGoneWrong('sales_by_day', 'sales_day, currency'),
  'a sum of a partner and a day that is not that of the orders in it': sumsGoneWrong(
    'sales_by_partner_and_day',
    'partner_name, sales_day, currency',
  ),
  'a sum of a product that is not that of the orders in it': sumsGoneWrong(
    'sales_by_product',
    'partner_name, product_id, currency',
  ),
  'a sum of a product and a month that is not that of the orders in it': sumsGoneWrong(
    'sales_by_product_and_month',
    'partner_name, product_id, currency, sales_month',
  ),
  'a sum of a product and a day that is not that of the orders in it': sumsGoneWrong(
    'sales_by_product_and_day',
    'partner_name, product_id, currency, sales_day',
  ),
  'numbers of a partner that are not what there is': `
    select partner_name, counted.*, actual.*
    from partners
    cross join lateral (
      select coalesce(sum(products), 0) as products, coalesce(sum(feeds), 0) as feeds, max(last_completed_at) as completed_at
      from partner_counts where partner_counts.partner_id = partners.partner_id
    ) as counted
    cross join lateral (
      select
        (
          select count(*) from products where products.partner_id = partners.partner_id and withdrawn_at is null
        ) as actual_products,
        (select count(*) from feeds where feeds.partner_id = partners.partner_id) as actual_feeds
    ) as actual
    where products <> actual_products or feeds <> actual_feeds
      or (completed_at is null and exists (
        select from validation_jobs join feeds using (feed_id)
        where feeds.partner_id = partners.partner_id and validation_jobs.status = 'completed'))`,
  'a feed without both jobs': `
    select feed_id from feeds
    where not exists (select from submission_jobs where submission_jobs.feed_id = feeds.feed_id)
      or not exists (select from validation_jobs where validation_jobs.feed_id = feeds.feed_id)`,
  'a job that is stuck': `select job_id, status from validation_jobs where status = 'running'`,
  'a feed whose status is not that of its job': `
    select feed_id, feeds.status, validation_jobs.status as job_status
    from feeds join validation_jobs using (feed_id)
    where feeds.status <> case validation_jobs.status when 'completed' then 'processed' when 'failed' then 'failed'
      when 'queued' then 'processing' else '(no state to end in)' end`,
  'an object that is still to be deleted': 'select bucket, object_key from removed_objects',
  'counters that do not add up': `
    select job_id from validation_jobs
    where processed <> inserted + updated + unchanged + skipped
      or (status in ('completed', 'failed')) <> (processed is not null)
      or (status = 'failed' and inserted + updated + unchanged > 0)`,
};

/** One statement, because it is polled. */
const askAll = Object.entries(questions)
  .map(([what, sql]) => `select '${what}' as what, to_json(found) as broken from (${sql}) as found`)
  .join(' union all ');

/** Checks every feed: its object, byte for byte, and all of its valid rows among the products, or none. */
async function brokenFeeds({ db, objectStore }: FaultySystem): Promise<string[]> {
  const { rows: feeds } = await db.raw<{ rows: LoadedFeed[] }>(`
    ${withProducts}
    select feed_id, partner_id, raw_file_object_key as key, encode(sha256, 'hex') as sha256, status,
      inserted + updated + unchanged as loaded, raw_file_removed_at is not null as is_file_removed,
      exists (select from products where products.feed_id = feeds.feed_id) as has_products
    from feeds left join (select feed_id, inserted, updated, unchanged from validation_jobs) as job using (feed_id)`);
  const { rows: products } = await db.raw<{ rows: { partner_id: number; skus: string[] }[] }>(
    'select partner_id, array_agg(sku) as skus from products group by partner_id',
  );
  const skusOf = new Map(products.map(({ partner_id, skus }) => [partner_id, new Set(skus)]));
  const objects = await readObjects(objectStore);
  return feeds.flatMap((feed) =>
    whatIsBroken(feed, objects.get(feed.key), skusOf.get(feed.partner_id)).map(
      (what) => `${what}: ${feed.feed_id} ${feed.key}`,
    ),
  );
}

function whatIsBroken(
  feed: LoadedFeed,
  object: KnownObject | undefined,
  stored = new Set<string>(),
): string[] {
  if (feed.is_file_removed) return object ? ['a feed whose removed file is there'] : [];
  if (!object) return ['a feed without its object'];
  const found: string[] = [];
  if (object.sha256 !== feed.sha256) found.push('a feed whose object is another');
  const isLoaded = feed.status === 'processed';
  if (!isLoaded && !feed.has_products) return found;
  const { skus } = object;
  const there = skus.filter((sku) => stored.has(sku)).length;
  if (there !== skus.length)
    found.push(`a feed that is loaded by half (${there} of ${skus.length} products)`);
  if (isLoaded && feed.loaded !== skus.length)
    found.push(`a feed of ${skus.length} products that counts ${feed.loaded}`);
  return found;
}

interface KnownObject {
  version: string;
  sha256: string;
  skus: string[];
}

/** Objects that were read before: after each of many faults, only new ones are read. */
const knownObjects = new WeakMap<ObjectStore, Map<string, KnownObject>>();

/** Lists every object that the store lists and returns. */
async function readObjects(objectStore: ObjectStore): Promise<Map<string, KnownObject>> {
  const known = knownObjects.get(objectStore) ?? new Map<string, KnownObject>();
  const now = new Map<string, KnownObject>();
  for await (const { key, bytes, modifiedAt } of objectStore.list(keyPrefixes[0]!)) {
    const version = `${bytes} bytes of ${modifiedAt.toISOString()}`;
    const object = known.get(key);
    if (object?.version === version) now.set(key, object);
    else {
      const content = Buffer.concat((await (await objectStore.get(key)).toArray()) as Buffer[]);
      const sha256 = createHash('sha256').update(content).digest('hex');
      now.set(key, { version, sha256, skus: goodSkus(content) });
    }
  }
  knownObjects.set(objectStore, now);
  return now;
}

interface LoadedFeed {
  feed_id: number;
  partner_id: number;
  key: string;
  sha256: string;
  status: string;
  loaded: number | null;
  has_products: boolean;
  is_file_removed: boolean;
}

function goodSkus(content: Buffer): string[] {
  type Row = { sku: string; product_name: string; price?: string };
  const rows = parse<Row>(content, { columns: true, skip_empty_lines: true, relax_column_count: true });
  const isGood = ({ sku, product_name, price = '' }: Row) =>
    sku !== '' && product_name !== '' && /^(\d+(\.\d+)?)?$/.test(price);
  return [...new Set(rows.filter(isGood).map(({ sku }) => sku))];
}

/** Objects without a feed, and unfinished uploads. */
async function leftInStore({ db, objectStore }: FaultySystem, orphans: boolean): Promise<string[]> {
  const found: string[] = [];
  if (orphans) {
    const aDayLater = new Date(Date.now() + 1_000);
    await cleanObjects(db, objectStore, { dryRun: false, before: aDayLater, report: () => undefined });
  }
  const named = new Set(
    await db('feeds').whereNull('raw_file_removed_at').pluck<string[]>('raw_file_object_key'),
  );
  for (const prefix of keyPrefixes) {
    for await (const { key } of objectStore.list(prefix)) {
      if (!named.has(key)) found.push(`an object that no feed names: ${key}`);
    }
  }
  for await (const { name } of objectStore.listUnfinished()) found.push(`an unfinished upload: ${name}`);
  return found;
}

/** Waits for idle connections: periodic tasks and closing connections end soon. */
async function leakedConnections(
  db: Database,
  pooled: boolean,
  patienceMilliseconds: number,
): Promise<string[]> {
  const ours = ['api', 'upload keys', 'sales rollup', 'search index', 'etl', 'queue', 'test'];
  const deadline = performance.now() + patienceMilliseconds;
  for (;;) {
    const { rows } = await db.raw<{ rows: object[] }>(
      `select application_name, state, left(query, 60) as query from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
         -- Citus keeps those between nodes.
         and application_name not like 'citus_internal %'
         and (state <> 'idle' or not (:pooled or application_name = any(:ours)))`,
      { pooled, ours },
    );
    if (rows.length === 0) return [];
    if (performance.now() > deadline) return rows.map((row) => `a leaked connection: ${JSON.stringify(row)}`);
    await pause(20);
  }
}

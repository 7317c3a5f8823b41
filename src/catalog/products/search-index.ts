import type { Knex } from 'knex';
import { tryLock } from '../../base/db/locks';
import { openDatabase, queryRows, type Database, type DatabaseAddress } from '../../base/db/database';
import { productNumbers } from '../../base/db/layout/product-layout';
import { raw, sql } from '../../base/db/sql';
import { inTransaction } from '../../base/db/transaction';
import type { Log } from '../../base/log';
import { startPeriodicTask } from '../../base/concurrency/periodic-task';

/** Interval of reading the backlog: a load is found within 5 s of its commit. */
const indexMilliseconds = 1_000;

/** Maximum number of products per transaction, which takes about 0.2 s. */
const batchProducts = 2_000;

/** Maximum number of backlog rows per batch: a manual change has hardly more than one product. */
const batchRows = 500;

/** Stored size from which a list of product numbers counts as a batch: 250 numbers or, compressed, some more. */
const largeBytes = 2_000;

/** Partners per round, each with one batch: a large load delays the others by hardly more than a batch. */
const roundPartners = 100;

interface BacklogRow {
  search_backlog_id: number;
  feed_id: number | null;
  /** Number of its products; null: all of the feed or the partner. */
  products: number | null;
}

/**
 * Starts the periodic indexer of the products that runs and manual changes have logged. It has a connection of its own, as
 * the split of a large load exceeds the statement timeout of requests.
 */
export function startSearchIndexer(address: DatabaseAddress, log: Log): { stop(): Promise<void> } {
  const db = openDatabase(address, { applicationName: 'search index', connectionsMax: 1 });
  const task = startPeriodicTask({
    milliseconds: indexMilliseconds,
    run: (signal) => indexBacklog(db, signal),
    onError: (error) => log.warn({ err: error }, 'failed to index products for search'),
  });
  return {
    async stop() {
      await task.stop();
      await db.destroy();
    },
  };
}

/**
 * Indexes all logged products, in small transactions. Safe concurrently in several processes; an interrupted transaction leaves its
 * part of the backlog to the next.
 * @throws the error of a partner, after a round through the others
 */
export async function indexBacklog(db: Database, signal?: AbortSignal): Promise<void> {
  for (let hasProgress = true; hasProgress;) {
    hasProgress = false;
    const errors: unknown[] = [];
    for (const partnerId of await listPartners(db)) {
      if (signal?.aborted) return;
      try {
        if (await indexBatch(db, partnerId)) hasProgress = true;
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }
}

/** Measures the age of the oldest unindexed change, in seconds; 0 if there is none. */
export async function measureSearchLag(db: Database): Promise<number> {
  const [lag] = await queryRows<{ seconds: number }>(
    db,
    sql`select cast(coalesce(extract(epoch from clock_timestamp() - min(logged_at)), 0) as double precision) as seconds
     from search_backlog`,
  );
  return lag!.seconds;
}

/** Lists the partners of the backlog, the longest waiting first. */
async function listPartners(db: Database): Promise<number[]> {
  const rows = await queryRows<{ partner_id: number }>(
    db,
    sql`select partner_id from search_backlog group by partner_id order by min(logged_at) limit ${raw(roundPartners)}`,
  );
  return rows.map(({ partner_id }) => partner_id);
}

/**
 * Indexes some of the partner's products, unless another process does.
 * The lock precedes the statement that reads the products: of two processes that index a product, the later one reads
 * the newer state.
 * @returns whether there was something to do
 */
function indexBatch(db: Database, partnerId: number): Promise<boolean> {
  return inTransaction(db, 'bulk', async (trx) => {
    if (!(await tryLock(trx, 'searchIndex', partnerId))) return false;
    // Counting a compressed list takes as long as indexing some of its products: a large one is a batch of its own.
    const rows = await queryRows<BacklogRow>(
      trx,
      sql`select search_backlog_id, feed_id,
         case when pg_column_size(product_ids) > ${raw(largeBytes)} then ${raw(batchProducts)} else cardinality(product_ids) end as products
       from search_backlog where partner_id = ${partnerId} order by search_backlog_id limit ${raw(batchRows)}`,
    );
    const [first] = rows;
    if (!first) return false;
    if (first.products === null) await split(trx, partnerId, rows);
    else await index(trx, partnerId, batchOf(rows));
    return true;
  });
}

/** Takes rows with product numbers, up to the size of a batch, but at least one. */
function batchOf(rows: BacklogRow[]): number[] {
  let count = 0;
  const isWithin = ({ products }: BacklogRow, at: number) => {
    count += products ?? Infinity;
    return at === 0 || count <= batchProducts;
  };
  const end = rows.findIndex((row, at) => !isWithin(row, at));
  return idsOf(rows.slice(0, end === -1 ? undefined : end));
}

/**
 * Replaces the first row by rows with product numbers. A row for all products replaces the other rows too, and includes deleted
 * products. Rows that were logged after the read follow later.
 */
async function split(trx: Knex.Transaction, partnerId: number, rows: BacklogRow[]): Promise<void> {
  const [{ feed_id: feedId }] = rows as [BacklogRow];
  const replaced = feedId === null ? rows : rows.slice(0, 1);
  const ofPartner = (table: string) =>
    sql`select product_id from ${raw(table)} where partner_id = ${partnerId}`;
  const numbers = await productNumbers(
    trx,
    feedId === null
      ? sql`${ofPartner('products')} union ${ofPartner('product_words')}`
      : sql`${ofPartner('products')} and feed_id = ${feedId}`,
  );
  await queryRows(
    trx,
    sql`with replaced as (
       delete from search_backlog where partner_id = ${partnerId} and search_backlog_id = any (${idsOf(replaced)})
       returning logged_at
     )
     insert into search_backlog (partner_id, product_ids, logged_at)
     select ${partnerId}, array_agg(product_id), (select min(logged_at) from replaced)
     from (
       select product_id, (row_number() over (order by product_id) - 1) / ${raw(batchProducts)} as batch
       from (${numbers}) as found
     ) as numbered
     group by batch
     order by batch`,
  );
}

const idsOf = (rows: readonly BacklogRow[]) => rows.map(({ search_backlog_id }) => search_backlog_id);

/** Indexes the products that the rows of the backlog name. */
async function index(trx: Knex.Transaction, partnerId: number, backlogIds: number[]): Promise<void> {
  const rows = await queryRows<{ product_ids: string[] }>(
    trx,
    sql`delete from search_backlog where partner_id = ${partnerId} and search_backlog_id = any (${backlogIds})
     returning product_ids`,
  );
  const productIds = [...new Set(rows.flatMap(({ product_ids }) => product_ids))];
  const isNamed = sql`partner_id = ${partnerId} and product_id = any (cast(${productIds} as bigint[]))`;
  // A manual change can store texts of any length; a tsvector has at most 1 MB.
  await queryRows(
    trx,
    sql`insert into product_words (partner_id, product_id, words)
     select partner_id, product_id, array_to_tsvector(search_words(left(concat_ws(' ', product_name, brand, sku), 20000)))
     from products
     where ${isNamed}
     on conflict (partner_id, product_id) do update set words = excluded.words
     where product_words.words <> excluded.words`,
  );
  // Not joined: for a partner without statistics, PostgreSQL would read all products for each row.
  await queryRows(
    trx,
    sql`delete from product_words
     where ${isNamed} and product_id not in (select product_id from products where ${isNamed})`,
  );
}

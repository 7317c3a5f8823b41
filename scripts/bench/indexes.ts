import type { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { productColumns } from '../../src/feed-format/columns';
import { writeFeeds } from './etl-feeds';
import { measureListings } from './index-listings';
import { timed } from './measure';
import { fillNeighbors, neighborsCount } from './neighbors';
import type { BenchContext, Measurement } from './report';
import { withService } from './servers';

/** Index of `products`; `create` has the placeholders `%name` and `%table`. */
interface Index {
  name: string;
  create: string;
  isPrimary: boolean;
}

/** Work of PostgreSQL for a load and an update with certain indexes. */
interface Cost {
  insertSeconds: number;
  insertLogMegabytes: number;
  updateSeconds: number;
  updateLogMegabytes: number;
  /** Size of the indexes after both. */
  megabytes: number;
}

const primaryKeyAlone = 'primary key alone';
const allIndexes = 'all indexes';

/**
 * Measures the cost of each index of `products`: the primary key and this index, minus the primary key alone. Differences from a
 * table with all indexes would be smaller than their spread; all of them together have a row of their own. Listings are measured
 * with all of them, and without each. The table has as many products of other partners; a new partner inserts its products, then
 * changes a tenth of the prices.
 */
export async function measureIndexes({
  quick,
  rounds,
  folder,
  products = quick ? 100_000 : 1_000_000,
  log,
}: BenchContext): Promise<Measurement[]> {
  const rows = quick ? 10_000 : Math.min(products, 1_000_000);
  const { base } = await writeFeeds(folder, rows);
  return withService(folder, async ({ url, database }) => {
    await fillNeighbors(database, products);
    const listings = await measureListings(database, { url, log });
    await copyRows(database, base);
    const indexes = await listIndexes(database);
    const trials: Record<string, Index[]> = {
      [primaryKeyAlone]: indexes.filter(({ isPrimary }) => isPrimary),
      [allIndexes]: indexes,
    };
    for (const { name, isPrimary } of indexes) {
      if (!isPrimary) trials[name] = indexes.filter((index) => index.isPrimary || index.name === name);
    }
    const costs: Record<string, Cost[]> = {};
    for (let round = 1; round <= rounds; round++) {
      for (const [name, ofTrial] of Object.entries(trials)) {
        const cost = await measureCost(database, ofTrial);
        (costs[name] ??= []).push(cost);
        log(
          `round ${round}, ${name}: ${JSON.stringify(cost, (_key, value: unknown) => (typeof value === 'number' ? Number(value.toFixed(2)) : value))}`,
        );
      }
    }
    return [...listings, ...describe(costs, rows, products)];
  });
}

const productsCopied = productColumns.join(', ');

/** Copies the feed into a table with the columns of `products`, in the order of the file. */
async function copyRows(database: Client, file: string): Promise<void> {
  await database.query(`create table bench_rows as select ${productsCopied} from products limit 0`);
  // The service stores other values of availability; their lengths and number of distinct values are the same.
  await pipeline(createReadStream(file), database.query(copyFrom('copy bench_rows from stdin csv header')));
  await database.query('vacuum analyze bench_rows');
}

/** Lists the indexes of `products` as PostgreSQL describes them. */
async function listIndexes(database: Client): Promise<Index[]> {
  const { rows } = await database.query<{ name: string; definition: string; is_primary: boolean }>(`
    select indexname as name, indexdef as definition, indisprimary as is_primary
    from pg_indexes join pg_index on indexrelid = to_regclass(format('%I.%I', schemaname, indexname))
    where tablename = 'products' order by indisprimary desc, indexname
  `);
  return rows.map(({ name, definition, is_primary: isPrimary }) => ({
    name,
    create: definition.replace(/ INDEX .* ON (?:ONLY )?\S+ /, ` INDEX bench_${name} ON bench_products `),
    isPrimary,
  }));
}

/** Inserts the rows of a new partner and updates a tenth of their prices, in a table with these indexes. */
async function measureCost(database: Client, indexes: readonly Index[]): Promise<Cost> {
  await database.query(`
    create table bench_products (like products including defaults including constraints including identity)
      with (autovacuum_enabled = off);
    insert into bench_products overriding system value select * from products order by product_id;
    select setval(pg_get_serial_sequence('bench_products', 'product_id'), max(product_id)) from bench_products;
    ${indexes.map(({ create }) => create).join(';\n')}
  `);
  const step = async (sql: string): Promise<{ seconds: number; megabytes: number }> => {
    await database.query('vacuum analyze bench_products');
    await database.query('checkpoint');
    const { rows: before } = await database.query<{ lsn: string }>(
      'select pg_current_wal_insert_lsn() as lsn',
    );
    const seconds = await timed(() => database.query(sql));
    const { rows: after } = await database.query<{ megabytes: number }>(
      'select cast(pg_wal_lsn_diff(pg_current_wal_insert_lsn(), $1) / 1e6 as double precision) as megabytes',
      [before[0]!.lsn],
    );
    return { seconds, megabytes: after[0]!.megabytes };
  };
  const insert = await step(`
    insert into bench_products (feed_id, partner_id, ${productsCopied})
    select (select max(feed_id) + 1 from feeds), (select max(partner_id) + 1 from partners), ${productsCopied} from bench_rows
  `);
  const update = await step(`
    update bench_products set price = price + 1, feed_id = feed_id + 1
    where partner_id = (select max(partner_id) + 1 from partners) and product_id % 10 = 0
  `);
  const { rows } = await database.query<{ megabytes: number }>(
    "select cast(pg_indexes_size('bench_products') / 1e6 as double precision) as megabytes",
  );
  await database.query('drop table bench_products');
  return {
    insertSeconds: insert.seconds,
    insertLogMegabytes: insert.megabytes,
    updateSeconds: update.seconds,
    updateLogMegabytes: update.megabytes,
    megabytes: rows[0]!.megabytes,
  };
}

/** Describes each index by its difference from the primary key alone, and the two extremes by their own values. */
function describe(costs: Record<string, Cost[]>, rows: number, products: number): Measurement[] {
  const what: [keyof Cost, string, string][] = [
    ['insertSeconds', `insert of ${rows.toLocaleString('en')} rows`, 's'],
    ['insertLogMegabytes', 'its log', 'MB'],
    ['updateSeconds', 'update of 10% of their prices', 's'],
    ['updateLogMegabytes', 'its log', 'MB'],
    ['megabytes', `size, with ${products.toLocaleString('en')} products of ${neighborsCount} partners`, 'MB'],
  ];
  const alone = costs[primaryKeyAlone]!;
  return Object.entries(costs).flatMap(([name, measured]) =>
    what.map(([key, of, unit]): Measurement => ({
      part: 'indexes',
      name: `${name}: ${of}`,
      unit,
      values: measured.map((cost, round) =>
        name === primaryKeyAlone || name === allIndexes ? cost[key] : cost[key] - alone[round]![key],
      ),
    })),
  );
}

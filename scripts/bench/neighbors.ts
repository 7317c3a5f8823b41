import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { brandsCount, categoriesCount, priceCents, priceUnitsMax } from './etl-feeds';

/** Partners in the catalog when a new one loads its first feed. */
export const neighborsCount = 30;

/** Returns the name of the n-th largest, from 1. */
export const neighborName = (rank: number) => `${namePrefix}${rank}`;
const namePrefix = 'Neighbor ';

/** Returns the name of a category, from 0, the most frequent one. */
export const categoryName = (number: number) => `${categoryPrefix}${number}`;
const categoryPrefix = 'Home & Garden / Category ';

/** Each partner has loaded its products in as many feeds. */
const loadsCount = 5;

/**
 * Fills the catalog with other partners: the n-th has a share proportional to 1/n. Writes only columns that the last release has
 * too. Loads of all partners alternate, as over the years of a catalog.
 */
const fillSql = (products: number) => `
  begin;
  select setseed(0.5);
  insert into partners (partner_name) select '${namePrefix}' || n from generate_series(1, ${neighborsCount}) as n;

  create temporary table loads on commit drop as
  select row_number() over (order by load, n) as place, load, n,
    cast(${products} / ${loadsCount} / n / (select sum(1.0 / m) from generate_series(1, ${neighborsCount}) as m) as integer) as rows
  from generate_series(1, ${loadsCount}) as load, generate_series(1, ${neighborsCount}) as n;

  insert into feeds (partner_id, filename, content_type, status, raw_file_bucket, raw_file_object_key, sha256, size_bytes)
  select partner_id, 'feed.csv', 'text/csv', 'processed', 'local', 'neighbor-' || place, sha256('x'), 1
  from loads join partners on partner_name = '${namePrefix}' || n order by place;

  insert into products
    (feed_id, partner_id, sku, product_name, description, brand, category, price, currency, availability, created_at)
  select feed_id, partner_id,
    'SKU-' || lpad(((place * 1000000 + row) * 7368787 % 1000000007)::text, 10, '0'),
    (array['Wooden', 'Steel', 'Oak', 'Portable', 'Classic', 'Modern', 'Ultra', 'Mini', 'Blue', 'Folding'])[1 + floor(random() * 10)::int]
      || ' ' || (array['table', 'chair', 'lamp', 'tent', 'shelf', 'Bücherregal', 'lámpara', 'テント', 'kettle', 'bag'])[1 + floor(random() * 10)::int]
      || ' no. ' || floor(random() * 1000000),
    'Made of steel and oak, ' || floor(random() * 97) || ' x ' || floor(random() * 31) || ' cm, assembled by hand in the far north of this country',
    'Brand ' || floor(${brandsCount} * random() ^ 2),
    '${categoryPrefix}' || floor(${categoriesCount} * random() ^ 2),
    1 + floor(${priceUnitsMax} * random() ^ 2) + (array[${priceCents.join()}])[1 + floor(random() * ${priceCents.length})::int] / 100.0,
    'USD',
    (array['in_stock', 'out_of_stock', 'preorder', 'limited_stock'])[1 + floor(random() * 4)::int],
    timestamptz '2026-01-01' + place * interval '1 hour'
  from loads join feeds on raw_file_object_key = 'neighbor-' || place, generate_series(1, rows) as row
  order by place, row;
  commit;
`;

/** Fills an empty catalog with about this many products of other partners. */
export async function fillNeighbors(database: Client, products: number): Promise<void> {
  await database.query(fillSql(products));
  await untilIndexed(database);
  await database.query('vacuum analyze');
}

/** Waits until all products are in the search index, if there is one: the last release has none. */
export async function untilIndexed(database: Client): Promise<void> {
  const { rows } = await database.query<{ hasSearch: boolean }>(
    `select to_regclass('search_backlog') is not null as "hasSearch"`,
  );
  const isBacklog = async () => (await database.query('select from search_backlog limit 1')).rowCount! > 0;
  while (rows[0]!.hasSearch && (await isBacklog())) await sleep(500);
}

import { Agent } from 'node:http';
import { quantile, timeGet } from './measure';
import type { BenchContext, Measurement } from './report';
import { withService } from './servers';

const days = 30;
const versions = 400;

/**
 * A partner whose catalog was loaded a month ago. Since then, a tenth of the products has changed each day: each product three
 * times, in varying order. The first product has 400 versions.
 */
const fillSql = (products: number) => `
  begin;
  update catalog_versions set effective_at = now() - interval '1 year' where run_id = 0;
  insert into partners (partner_name) values ('Large');
  insert into feeds (partner_id, filename, content_type, status, raw_file_bucket, raw_file_object_key, sha256, size_bytes)
  select partner_id, 'feed.csv', 'text/csv', 'processed', 'local', 'history', sha256('x'), 1 from partners;

  -- Change 0 of the month loads the catalog, the last hour has further changes of the first product.
  create function pg_temp.change(number integer) returns bigint language sql
    as 'select 1000000000000 + number * 10000000::bigint';
  insert into catalog_versions (run_id, partner_id, effective_at)
  select pg_temp.change(number), partner_id, case
      when number <= ${days} then now() - interval '31 days' + number * interval '1 day'
      else now() - interval '1 hour' + number * interval '1 second' end
  from partners, generate_series(0, ${days + versions}) as number;

  insert into products (feed_id, partner_id, run_id, sku, product_name, description, brand, category, price, currency, availability, created_at)
  select feed_id, partner_id, pg_temp.change(${days} - (number + ${days}) % 10), 'SKU-' || number, 'Product number ' || number,
    'Made of steel and oak, assembled in the north of the country', 'Brand ' || number % 100, 'Category ' || number % 20,
    number % 1000 + 1, 'EUR', 'in_stock', now() - interval '31 days'
  from feeds, generate_series(1, ${products}) as number;

  create temporary table ended on commit drop as
  select product_id, pg_temp.change(day) as until_run_id,
    pg_temp.change(case when day > 10 then day - 10 else 0 end) as run_id
  from products, generate_series(1, ${days}) as day where (product_id + day) % 10 = 0;
  -- A table in the order in which runs write it.
  insert into product_versions
    (partner_id, product_id, run_id, until_run_id, feed_id, sku, product_name, description, brand, category, price, currency, availability, created_at, collection)
  select partner_id, product_id, ended.run_id, until_run_id, feed_id, sku, product_name, description, brand, category, price + 1, currency,
    availability, created_at, collection
  from ended join products using (product_id) order by until_run_id, product_id;

  insert into product_versions
    (partner_id, product_id, run_id, until_run_id, feed_id, sku, product_name, description, brand, category, price, currency, availability, created_at, collection)
  select partner_id, product_id, case when number = 1 then run_id else pg_temp.change(${days} + number - 1) end,
    pg_temp.change(${days} + number), feed_id, sku, product_name, description, brand, category, number, currency,
    availability, created_at, collection
  from products, generate_series(1, ${versions}) as number
  where product_id = (select min(product_id) from products);
  update products set run_id = pg_temp.change(${days + versions})
  where product_id = (select min(product_id) from products);
  delete from product_versions where until_run_id = 9223372036854775807;
  commit;
  vacuum analyze;
`;

const requests = 100;

/** Measures sequential reads of the history of a partner with 100,000 products. */
export async function measureHistory({ quick, rounds, folder, log }: BenchContext): Promise<Measurement[]> {
  const products = quick ? 10_000 : 100_000;
  return withService(folder, async ({ url, database }) => {
    for (const statement of fillSql(products).split(/;\n(?=\s*vacuum)/)) await database.query(statement);
    const { rows } = await database.query<{ middle: number; first: number }>(
      'select min(product_id) as first, min(product_id) + $1 as middle from products',
      [products / 2],
    );
    const { first, middle } = rows[0]!;
    const daysAgo = (number: number) => new Date(Date.now() - number * 24 * 3600 * 1000).toISOString();
    const catalog = (ago: number) => `/products?partner_name=Large&limit=100&as_of=${daysAgo(ago)}`;
    const productId = `PR${String(first).padStart(5, '0')}`;
    const count = products.toLocaleString('en');
    const asked: [name: string, path: string, milliseconds: number][] = [
      [`catalog of ${count} products as of yesterday, first page of 100`, catalog(1), 100],
      [
        `catalog of ${count} products of a month ago, all changed since, first page of 100`,
        catalog(30.5),
        100,
      ],
      [
        `catalog of ${count} products of a month ago, a page in the middle`,
        `${catalog(30.5)}&cursor=PR${String(middle).padStart(5, '0')}`,
        100,
      ],
      [
        `catalog of ${count} products of a month ago, by a brand that none has`,
        `${catalog(30.5)}&brand=None`,
        2_000,
      ],
      [
        `product with ${versions} versions, first page of its history`,
        `/products/${productId}/history?limit=100`,
        50,
      ],
      [
        `product with ${versions} versions, as of a month ago`,
        `/products/${productId}?as_of=${daysAgo(30.5)}`,
        50,
      ],
      [`product with ${versions} versions, its prices`, `/products/${productId}/prices`, 50],
    ];
    const measured: Measurement[] = [];
    for (const [name, path, milliseconds] of asked) {
      const values: number[] = [];
      for (let round = 0; round < rounds; round++) values.push(await p99Of(url + path));
      log(`${name}: p99 ${values.map((value) => value.toFixed(2)).join(', ')} ms`);
      const target = { kind: 'at most', value: milliseconds } as const;
      measured.push({ part: 'history', name: `${name}, p99`, unit: 'ms', values, target });
    }
    return measured;
  });
}

/** @returns milliseconds */
async function p99Of(url: string): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const latencies: number[] = [];
  for (let number = 0; number < requests; number++) latencies.push(await timeGet(url, agent));
  agent.destroy();
  return quantile(latencies, 0.99);
}

import type { Client } from 'pg';
import { median } from '../service-process';
import { timeGet } from './measure';
import type { Measurement } from './report';

/** Frequent listings of partners and shops, in the catalog of `fillNeighbors`. */
const listings: Record<string, string> = {
  'default page': '/products',
  'one product': '/products/PR00777',
  'page of the largest partner': '/products?partner_name=Neighbor+1',
  'page of the smallest partner': '/products?partner_name=Neighbor+30',
  'page of a feed': '/products?feed_id=FD00001',
  'page of a brand': '/products?brand=Brand+7',
  'page of a brand of a partner': '/products?partner_name=Neighbor+2&brand=Brand+7',
  'page of a category': '/products?category=Home+%26+Garden+%2F+Category+7',
  'page of a category of a partner':
    '/products?partner_name=Neighbor+2&category=Home+%26+Garden+%2F+Category+7',
  'category of a partner by price':
    '/products?partner_name=Neighbor+2&category=Home+%26+Garden+%2F+Category+7&sort_by=price&order=asc',
  'partner by price': '/products?partner_name=Neighbor+2&sort_by=price&order=asc',
  'all by price': '/products?sort_by=price&order=asc',
  'partner by name': '/products?partner_name=Neighbor+2&sort_by=product_name&order=asc',
  'all by name': '/products?sort_by=product_name&order=asc',
  'partner by brand': '/products?partner_name=Neighbor+2&sort_by=brand&order=asc',
  'available products of a partner': '/products?partner_name=Neighbor+2&availability=preorder',
  'one sku of all partners': '/products?sku=SKU-0007368787',
};

const requests = 5;
/** A listing slower than this is requested once. */
const slowMilliseconds = 1_000;
/** A difference is shown if the time without an index is more than twice as long, and longer by this. */
const shownMilliseconds = 3;

/**
 * Measures each listing with all indexes, and without each one. An index is marked as invalid, so that no plan uses it. A listing
 * that exceeds the statement timeout of requests counts with the time until its 503.
 */
export async function measureListings(
  database: Client,
  { url, log }: { url: string; log: (line: string) => void },
): Promise<Measurement[]> {
  const { rows: indexes } = await database.query<{ name: string }>(
    "select indexname as name from pg_indexes where tablename = 'products' order by indexname",
  );
  const timeAll = async () => {
    const times: Record<string, number> = {};
    for (const [name, path] of Object.entries(listings)) times[name] = await time(url + path);
    return times;
  };
  await timeAll();
  const withAll = await timeAll();
  const measured = Object.entries(withAll).map(([name, milliseconds]): Measurement => ({
    part: 'indexes',
    name: `listing: ${name}`,
    unit: 'ms',
    values: [milliseconds],
    target: { kind: 'at most', value: 20 },
  }));
  for (const { name: index } of indexes) {
    const setValid = async (isValid: boolean) => {
      await database.query('update pg_index set indisvalid = $1 where indexrelid = to_regclass($2)', [
        isValid,
        index,
      ]);
      // Plans of prepared statements depend on the table, not on the index.
      await database.query("update pg_class set reltuples = reltuples where oid = to_regclass('products')");
    };
    await setValid(false);
    const without = await timeAll();
    await setValid(true);
    for (const [name, milliseconds] of Object.entries(without)) {
      const limit = withAll[name]!;
      if (milliseconds < 2 * limit || milliseconds < limit + shownMilliseconds) continue;
      log(`${name} without ${index}: ${milliseconds.toFixed(0)} ms instead of ${limit.toFixed(1)}`);
      measured.push({
        part: 'indexes',
        name: `listing: ${name}, without ${index}`,
        unit: 'ms',
        values: [milliseconds],
        limit: { name: 'with it', values: [limit] },
      });
    }
  }
  return measured;
}

/** Returns the median time of a request, in milliseconds. */
async function time(url: string): Promise<number> {
  const times: number[] = [];
  while (times.length < requests) {
    times.push(await timeGet(url, undefined, [200, 404, 503]));
    if (times.at(-1)! > slowMilliseconds) break;
  }
  return times.length === requests ? median(times) : times.at(-1)!;
}

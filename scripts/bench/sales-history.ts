import type { Client } from 'pg';

export const partners = 500;
export const products = 100_000;
const productsSoldByPartner = 40;

/** Creates orderable products of one feed without a file, and partners. */
export async function fillCatalog(database: Client): Promise<void> {
  await database.query(`
    insert into partners (partner_name) select 'Partner ' || number from generate_series(1, ${partners}) as number;
    insert into feeds (partner_id, filename, content_type, raw_file_bucket, raw_file_object_key, sha256, size_bytes)
    values (1, 'feed.csv', 'text/csv', 'local', 'measured', sha256('measured'), 1);
    insert into products (feed_id, partner_id, sku, product_name, price, currency, availability)
    select 1, 1, 'SKU-' || number, 'Product number ' || number, 1 + (number % 10000) / 100.0, 'EUR', 'in_stock'
    from generate_series(1, ${products}) as number;
    analyze`);
}

/**
 * Creates orders of three items, spread evenly over time and partners; a tenth has another currency. Each partner sells 40 products, of
 * which a fifth makes 58 % of the sales.
 */
export async function fillOrders(
  database: Client,
  { orders, days, untilDaysAgo = 0 }: { orders: number; days: number; untilDaysAgo?: number },
): Promise<void> {
  await database.query('begin');
  await database.query(
    `insert into orders (partner_name, currency, total_amount, created_at)
     select 'Partner ' || 1 + number % ${partners}, case number % 10 when 0 then 'USD' else 'EUR' end,
       6 * (1 + (number % 1000) / 100.0),
       now() - $3::integer * interval '1 day' - ($1::integer - number) * ($2::integer * interval '1 day' / $1::integer)
     from generate_series(1, $1::integer) as number`,
    [orders, days, untilDaysAgo],
  );
  // PostgreSQL believes the table empty, and would look for the order of each item in any of its indexes.
  await database.query('analyze orders');
  await database.query(
    `insert into order_items (order_id, product_id, sku, product_name, quantity, unit_price, line_total)
     select order_id, product, 'SKU-' || product, 'Product number ' || product, item, price, item * price
     from (
       select order_id, item, total_amount / 6 as price,
         ${products / partners} * (cast(substr(partner_name, length('Partner ') + 1) as integer) - 1) + 1
           + cast(floor(${productsSoldByPartner} * power(random(), 3)) as integer) as product
       from orders cross join generate_series(1, 3) as item
       where transaction_id = pg_current_xact_id()
     ) as line`,
  );
  await database.query('commit');
  await database.query('vacuum analyze');
}

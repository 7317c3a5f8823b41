/** A catalog for measurements and plans: partners of very different sizes, whose loads are adjacent in the table. */

/** Filter values that occur together. */
export type FilterValues = Record<
  'partner_name' | 'feed_id' | 'sku' | 'brand' | 'category' | 'availability',
  string
>;

/**
 * Shares of the loads, in chronological order; the rest are tiny partners. Values are independent, except for names that say
 * otherwise: a brand and a category of one partner, a brand with the highest prices, a brand that is never out of stock, and a
 * sku of all tiny partners.
 */
const fillSql = (products: number, tiny: number) => `
  insert into partners (partner_name)
  select unnest(array['Oldest', 'Large', 'Middle', 'Small'])
  union all select 'Tiny ' || number from generate_series(1, ${tiny}) as number;

  create temporary table loads on commit drop as
  select *, row_number() over (order by first_row) as load from (
    select partner_name, (share_from * ${products})::bigint as first_row, (share_to * ${products})::bigint as end_row
    from (values
      ('Oldest', 0, 0.04), ('Large', 0.04, 0.24), ('Middle', 0.24, 0.36), ('Large', 0.36, 0.56),
      ('Small', 0.56, 0.6), ('Middle', 0.6, 0.78), ('Large', 0.78, 0.98)
    ) as shares (partner_name, share_from, share_to)
    union all
    select 'Tiny ' || number, ${products * 0.98} + rows * (number - 1), ${products * 0.98} + rows * number
    from generate_series(1, ${tiny}) as number, (values (${Math.floor((products * 0.02) / tiny)})) as each (rows)
  ) as each_load;

  insert into feeds (partner_id, filename, content_type, status, raw_file_bucket, raw_file_object_key, sha256, size_bytes)
  select partner_id, 'feed.csv', 'text/csv', 'processed', 'bucket', 'load-' || load, sha256('x'), 1
  from loads join partners using (partner_name) order by load;

  insert into products
    (feed_id, partner_id, sku, product_name, description, brand, category, price, currency, availability, created_at)
  select feed_id, feeds.partner_id,
    case when partner_name like 'Tiny %' and row = first_row then 'SHARED' else 'SKU-' || lpad(number::text, 8, '0') end,
    case when a % 50 = 0 then 'Same name' else 'Product number ' || number || ' of the large feed' end,
    'Made of steel and oak, ' || a % 97 || ' x ' || b % 31 || ' cm, assembled in the north of the country',
    brand,
    case when partner_name = 'Small' then 'Category 15, of Small only' when b % 20 = 0 then null else 'Category ' || c % 200 end,
    case when brand = 'Luxury' then 2000 + d % 1000 when d % 20 = 0 then null else 1 + (d % 99999) / 100.0 end,
    'USD',
    case when e % 5000 = 0 then 'on_demand' when e % 20 = 1 then null
      when e % 4 = 0 and brand is distinct from 'Brand 3' then 'out_of_stock'
      else (array['in_stock', 'in_stock', 'preorder', 'limited_stock'])[1 + e % 4] end,
    timestamptz '2026-01-01' + load * interval '1 minute'
  from (
    select *,
      case when partner_name = 'Oldest' then 'Of Oldest only' when a % 1000 < 20 then 'Luxury' when a % 1000 = 20 then 'Rare'
        when a % 1000 < 70 then null else 'Brand ' || b % 8 end as brand
    from (
      select loads.*, row, (row * 7368787) % ${products} as number,
        abs(hashint8extended(row, 1) % 1000000) as a, abs(hashint8extended(row, 2) % 1000000) as b,
        abs(hashint8extended(row, 3) % 1000000) as c, abs(hashint8extended(row, 4) % 1000000) as d,
        abs(hashint8extended(row, 5) % 1000000) as e
      from loads, generate_series(first_row, end_row - 1) as row
    ) as drawn
  ) as branded
  join feeds on raw_file_object_key = 'load-' || load
  order by row;
`;

/** The partners of a filled catalog that are not tiny. */
const largePartners = 4;

/**
 * Fills an empty database and runs ANALYZE.
 * @param products - a multiple of 1,000
 * @param query - runs statements without bindings
 * @param partners - number of partners; by default, each tiny one has ten products
 */
export async function fillCatalog(
  products: number,
  query: (sql: string) => Promise<unknown>,
  partners = largePartners + products / 500,
): Promise<void> {
  await query(`begin; ${fillSql(products, partners - largePartners)} commit;`);
  await query('vacuum analyze products, partners, feeds');
}

/** Filter values for a filled catalog. Feeds are numbered in the order of the loads. */
export const filterValues: Record<string, FilterValues> = {
  frequent: {
    partner_name: 'Large',
    feed_id: 'FD00007',
    sku: 'SKU-00000000',
    brand: 'Brand 1',
    category: 'Category 1',
    availability: 'in_stock',
  },
  'of one partner': {
    partner_name: 'Oldest',
    feed_id: 'FD00001',
    sku: 'SHARED',
    brand: 'Of Oldest only',
    category: 'Category 15, of Small only',
    availability: 'preorder',
  },
  'that exclude each other': {
    partner_name: 'Middle',
    feed_id: 'FD00003',
    sku: 'SKU-00000001',
    brand: 'Brand 3',
    category: 'Category 2',
    availability: 'out_of_stock',
  },
  'of one price range': {
    partner_name: 'Small',
    feed_id: 'FD00005',
    sku: 'SKU-00000001',
    brand: 'Luxury',
    category: 'Category 3',
    availability: 'limited_stock',
  },
  rare: {
    partner_name: 'Tiny 1',
    feed_id: 'FD00008',
    sku: 'SKU-00000002',
    brand: 'Rare',
    category: 'Category 4',
    availability: 'on_demand',
  },
  unknown: {
    partner_name: 'Unknown',
    feed_id: 'FD99999999',
    sku: 'none',
    brand: 'none',
    category: 'none',
    availability: 'none',
  },
};

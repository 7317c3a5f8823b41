import { Pool, type ClientConfig } from 'pg';
import type { ProductRow } from '../../src/products/products.repository';

/** Input of a comparison server: statements as one would write them by hand, pool size and headers of the service. */
export interface ComparisonOrder {
  database: ClientConfig;
  connections: number;
  /** Statements without bindings by the path and query of their page. */
  pageSqls: Record<string, string>;
  /** Binding: the number of the product. */
  productSql: string;
  /** Whether statements are prepared. */
  preparesStatements: boolean;
  /** Headers of each response, besides type and length. */
  headers: Record<string, string>;
  /** Accepted keys. */
  keys: readonly string[];
}

const pageSize = 10;

export function readOrder(): ComparisonOrder {
  return JSON.parse(process.argv[2]!) as ComparisonOrder;
}

export function openReader({
  database,
  connections,
  pageSqls,
  productSql,
  preparesStatements,
}: ComparisonOrder) {
  const pool = new Pool({ ...database, max: connections });
  const nameOf = (name: string) => (preparesStatements ? name : undefined);
  const names = new Map(Object.keys(pageSqls).map((url, at) => [url, `page ${at}`]));
  return {
    async page(url: string): Promise<ProductRow[]> {
      return (await pool.query<ProductRow>({ name: nameOf(names.get(url)!), text: pageSqls[url]! })).rows;
    },
    async product(number: number): Promise<ProductRow> {
      const query = { name: nameOf('product'), text: productSql, values: [number] };
      return (await pool.query<ProductRow>(query)).rows[0]!;
    },
  };
}

/** Reports the port to the parent process. */
export function reportPort(port: number): void {
  process.stdout.write(`${port}\n`);
}

export function toProduct(row: ProductRow) {
  const padded = (number: number) => String(number).padStart(5, '0');
  return {
    product_id: `PR${padded(row.product_id)}`,
    feed_id: `FD${padded(row.feed_id)}`,
    partner_name: row.partner_name,
    sku: row.sku,
    product_name: row.product_name,
    description: row.description,
    brand: row.brand,
    category: row.category,
    price: row.price === null ? null : Number(row.price),
    currency: row.currency,
    availability: row.availability,
    created_at: row.created_at.toISOString(),
  };
}

export function toPage(rows: ProductRow[]) {
  const items = rows
    .slice(0, pageSize)
    .map((row) => Object.fromEntries(Object.entries(toProduct(row)).filter(([, value]) => value !== null)));
  return {
    count: items.length,
    items,
    next_cursor: rows.length > pageSize ? (items.at(-1)!.product_id as string) : undefined,
  };
}

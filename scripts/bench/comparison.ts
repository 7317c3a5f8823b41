import { Pool, type ClientConfig } from 'pg';
import type { ProductRow } from '../../src/products/products.repository';

/** What a server to compare with is told: the same SQL, pool and headers as the service has. */
export interface ComparisonOrder {
  database: ClientConfig;
  connections: number;
  /** Takes no value. */
  pageSql: string;
  /** Takes the number of the product. */
  productSql: string;
  /** Whether its connections keep the statements, as those of the service do. */
  preparesStatements: boolean;
  /** Of each response, besides type and length of its body. */
  headers: Record<string, string>;
  key: string;
}

/** How many products a page has unless more are asked for. */
const pageSize = 10;

/** The order that the process was started with. */
export function readOrder(): ComparisonOrder {
  return JSON.parse(process.argv[2]!) as ComparisonOrder;
}

/** Reads what the answers are made of. */
export function openReader({
  database,
  connections,
  pageSql,
  productSql,
  preparesStatements,
}: ComparisonOrder) {
  const pool = new Pool({ ...database, max: connections });
  const nameOf = (name: string) => (preparesStatements ? name : undefined);
  return {
    async page(): Promise<ProductRow[]> {
      return (await pool.query<ProductRow>({ name: nameOf('page'), text: pageSql })).rows;
    },
    async product(number: number): Promise<ProductRow> {
      const query = { name: nameOf('product'), text: productSql, values: [number] };
      return (await pool.query<ProductRow>(query)).rows[0]!;
    },
  };
}

/** Says where the server listens. */
export function reportPort(port: number): void {
  process.stdout.write(`${port}\n`);
}

/** The body for one product. */
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

/** The body for a page: fields without a value are left out. */
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

import { Pool, type ClientConfig } from 'pg';
import type { ProductRow } from '../../src/catalog/products/products.repository';

/** Input of a comparison server: database and pool size of the service, and the headers it sends. */
export interface ComparisonOrder {
  database: ClientConfig;
  connections: number;
  /** Columns of a `ProductRow`. */
  columns: string;
  preparesStatements: boolean;
  /** Headers of each response, besides type and length. */
  headers: Record<string, string>;
  apiKey: string;
}

/** Parameters of `GET /products` that the comparison servers know. */
export interface PageQuery {
  partner_name?: string;
  brand?: string;
  category?: string;
  sort_by?: string;
  cursor?: string;
}

const pageSize = 10;

export function readOrder(): ComparisonOrder {
  return JSON.parse(process.argv[2]!) as ComparisonOrder;
}

/** A statement for the driver. A prepared one has a name, unique per text. */
export type Statements = (
  name: string,
  text: string,
  values: unknown[],
) => { name?: string; text: string; values: unknown[] };

export function statementsOf({ preparesStatements }: ComparisonOrder): Statements {
  return (name, text, values) => ({ name: preparesStatements ? name : undefined, text, values });
}

export const openPool = ({ database, connections }: ComparisonOrder) =>
  // Not closed while it waits for its next slice.
  new Pool({ ...database, max: connections, idleTimeoutMillis: 0 });

const conditions = {
  partner_name: 'and partner_id = (select partner_id from partners where partner_name = ?)',
  brand: 'and brand = ?',
  category: 'and left(category, 600) = ?',
  cursor: 'and (created_at, product_id) < (select created_at, product_id from products where product_id = ?)',
};

/** Reads products with handwritten statements. */
export function openReader(order: ComparisonOrder, pool: Pool) {
  const statement = statementsOf(order);
  return {
    async page(query: PageQuery): Promise<ProductRow[]> {
      const given = Object.entries(query).filter(([name]) => name in conditions) as [
        keyof typeof conditions,
        string,
      ][];
      const where = given.map(([name], at) => conditions[name].replace('?', `$${at + 1}`)).join(' ');
      const sort =
        query.sort_by === 'price'
          ? 'price asc nulls last, product_id asc'
          : 'created_at desc, product_id desc';
      const text = `select ${order.columns} from products where withdrawn_at is null ${where} order by ${sort} limit ${pageSize + 1}`;
      const values = given.map(([name, value]) => (name === 'cursor' ? numberOf(value) : value));
      const { rows } = await pool.query<ProductRow>(
        statement(`page ${Object.keys(query).join()}`, text, values),
      );
      return rows;
    },
    async product(number: number): Promise<ProductRow> {
      const text = `select ${order.columns} from products where product_id = $1`;
      return (await pool.query<ProductRow>(statement('product', text, [number]))).rows[0]!;
    },
  };
}

export const numberOf = (id: string) => Number(id.slice(2));

export function reportPort(port: number): void {
  process.stdout.write(`${port}\n`);
}

export const formatted = (prefix: string, number: number | string) =>
  prefix + String(number).padStart(5, '0');

export function toProduct(row: ProductRow) {
  return {
    product_id: formatted('PR', row.product_id),
    feed_id: formatted('FD', row.feed_id),
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

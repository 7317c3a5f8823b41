/** Feed reading and responses, the same in both peers. */
import { createReadStream } from 'node:fs';
import { parse } from 'csv-parse';

/** Input of a peer: a database of its own, and as many connections as the service has. */
export interface PeerSettings {
  database: { host: string; user: string; database: string };
  connections: number;
  apiKey: string;
}

export interface LoadRequest {
  partner_name: string;
  /** Path of a feed file. */
  file: string;
}

/** A product as the feed contains it, with the names of the declared tables. */
export interface FeedProduct {
  partnerName: string;
  sku: string;
  productName: string;
  description: string | null;
  brand: string | null;
  category: string | null;
  price: string | null;
  currency: string | null;
  availability: string | null;
}

export interface StoredProduct extends FeedProduct {
  id: number;
  createdAt: Date;
}

/** 9,000 parameters per statement, of at most 65,535. */
const batchSize = 1_000;
export const pageSize = 10;

export function readSettings(): PeerSettings {
  return JSON.parse(process.argv[2]!) as PeerSettings;
}

export function reportPort(port: number): void {
  process.stdout.write(`${port}\n`);
}

/** Streams a feed in batches. @returns the number of rows */
export async function loadInBatches(
  { partner_name: partnerName, file }: LoadRequest,
  upsert: (batch: FeedProduct[]) => Promise<unknown>,
): Promise<{ rows: number }> {
  let rows = 0;
  let batch: FeedProduct[] = [];
  const flush = async () => {
    if (batch.length > 0) await upsert(batch);
    rows += batch.length;
    batch = [];
  };
  const records = createReadStream(file).pipe(parse({ columns: true }));
  for await (const record of records as AsyncIterable<Record<string, string>>) {
    batch.push({
      partnerName,
      sku: record.sku!,
      productName: record.product_name!,
      description: record.description ?? null,
      brand: record.brand ?? null,
      category: record.category ?? null,
      price: record.price ?? null,
      currency: record.currency ?? null,
      availability: record.availability ?? null,
    });
    if (batch.length === batchSize) await flush();
  }
  await flush();
  return { rows };
}

export const numberOf = (productId: string) => Number(productId.slice(2));

export function toProduct(row: StoredProduct) {
  return {
    product_id: `PR${String(row.id).padStart(5, '0')}`,
    partner_name: row.partnerName,
    sku: row.sku,
    product_name: row.productName,
    description: row.description,
    brand: row.brand,
    category: row.category,
    price: row.price === null ? null : Number(row.price),
    currency: row.currency,
    availability: row.availability,
    created_at: row.createdAt.toISOString(),
  };
}

/** @param rows - the rows of the page, and one more if there is a next page */
export function toPage(rows: StoredProduct[]) {
  const items = rows.slice(0, pageSize).map(toProduct);
  return {
    count: items.length,
    items,
    next_cursor: rows.length > pageSize ? items.at(-1)!.product_id : undefined,
  };
}

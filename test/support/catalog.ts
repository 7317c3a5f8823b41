import type { UploadedFeed } from './api-client';
import type { TestService } from './service';

/** A row of a feed. Omitted values are empty cells if another row has the column. */
export interface FeedRow {
  sku: string;
  product_name?: string;
  description?: string;
  brand?: string;
  category?: string;
  price?: string;
  currency?: string;
  availability?: string;
}

export function toCsv(rows: readonly FeedRow[]): string {
  const named = rows.map((row) => ({ ...row, product_name: row.product_name ?? row.sku }));
  const columns = [...new Set(named.flatMap((row) => Object.keys(row)))] as (keyof FeedRow)[];
  const cells = (values: string[]) => values.map((value) => `"${value.replaceAll('"', '""')}"`).join(',');
  return [cells(columns), ...named.map((row) => cells(columns.map((column) => row[column] ?? '')))].join(
    '\n',
  );
}

/** Loads products by uploading and running a feed. @returns the feed, and the products' ids in the order of the rows */
export async function loadProducts<const Rows extends readonly FeedRow[]>(
  { api, db }: Pick<TestService, 'api' | 'db'>,
  rows: Rows,
  partnerName = 'Acme Outdoor',
): Promise<UploadedFeed & { productIds: { -readonly [Row in keyof Rows]: string } }> {
  const { job, ...feed } = await api.loadFeed(toCsv(rows), partnerName);
  if (job.status !== 'completed' || job.summary.skipped > 0) throw new Error(JSON.stringify(job));
  const stored = await db('products')
    .join('partners', 'partners.partner_id', 'products.partner_id')
    .where({ partner_name: partnerName })
    .select<{ sku: string; product_id: number }[]>('sku', 'product_id');
  const numbers = new Map(stored.map(({ sku, product_id }) => [sku, product_id]));
  const productIds = rows.map(({ sku }) => `PR${String(numbers.get(sku)!).padStart(5, '0')}`);
  return { ...feed, productIds: productIds as { -readonly [Row in keyof Rows]: string } };
}

/** Sets the time of a product's first load, for ties and orders that loading cannot create. */
export async function setCreatedAt({ db }: TestService, productId: string, createdAt: string): Promise<void> {
  await db('products')
    .where({ product_id: Number(productId.slice(2)) })
    .update({ created_at: createdAt });
}

/** Builds a feed with this many valid rows, with a value in every column. */
export function manyProducts(count: number): string {
  const rows = ['sku,product_name,description,brand,category,price,currency,availability'];
  for (let i = 1; i <= count; i++) {
    rows.push(
      `SKU-${i},Product number ${i},"A description, of ordinary length, of product ${i}",Brand ${i % 100},` +
        `Category ${i % 20},${i}.99,EUR,in_stock`,
    );
  }
  return rows.join('\n');
}

import { Readable } from 'node:stream';
import { stringify } from 'csv-stringify/sync';
import { queryRows, type Database } from '../db/database';
import { boundedPageSql, type Found } from '../db/page';
import { productColumns, type ProductColumn } from '../feed-format/columns';

/** Maximum products per statement, fewer if they are large: a slow client holds no connection and no snapshot between them. */
const batchSize = 200;

/** A product as a file has it. */
export type FileRow = Record<ProductColumn, string | null> & { product_id: number };

/** Trailing zeros of a price are those of its column, and are not written. */
const batchSql = boundedPageSql(
  `select product_id, ${productColumns.map((name) => (name === 'price' ? 'trim_scale(price) as price' : name)).join(', ')}
  from products
  where partner_id = ? and product_id > ? and withdrawn_at is null
  order by product_id
  limit ${batchSize + 1}`,
  batchSize,
);

/**
 * Opens the active products of a partner as a feed, by product number. Each batch shows the catalog of its moment. The caller
 * reads the stream or destroys it.
 * @throws from the stream: Error when the partner is merged into another one meanwhile, errors of the database
 */
export function openProductFile(db: Database, partnerId: number): Readable {
  return Readable.from(writeProducts(db, partnerId), { objectMode: false });
}

async function* writeProducts(db: Database, partnerId: number): AsyncGenerator<string> {
  yield lines([Object.fromEntries(productColumns.map((name) => [name, name]))]);
  for await (const rows of readActiveProducts(db, partnerId)) if (rows.length > 0) yield lines(rows);
}

/**
 * Reads the active products of a partner by product number, in batches.
 * @throws Error at the end when the partner was merged into another one meanwhile; errors of the database
 */
export async function* readActiveProducts(db: Database, partnerId: number): AsyncGenerator<FileRow[]> {
  let after = 0;
  for (;;) {
    const rows: Found<FileRow>[] = await queryRows<Found<FileRow>>(db, batchSql, [partnerId, after], true);
    yield rows;
    const last = rows.at(-1);
    if (!last || last.found === rows.length) break;
    after = last.product_id;
  }
  // The products of a merged partner are another's: without an error, the client would take a part for the whole.
  const partner: unknown = await db('partners').where('partner_id', partnerId).first('partner_id');
  if (!partner) throw new Error('The partner was merged into another one during a download.');
}

/** A line break of any kind is within quotes. */
function lines(rows: object[]): string {
  return stringify(rows, { columns: [...productColumns], quoted_match: /[\r\n]/ });
}

import { Readable } from 'node:stream';
import { queryRows, type Database } from '../../base/db/database';
import { boundedPageSql, type Found } from '../../base/db/page';
import { raw, sql } from '../../base/db/sql';
import { strictFormat } from '../../feed-format/built-in-formats';
import { productColumns, type ProductColumn } from '../../feed-format/columns';
import type { FeedFormat, ReadDefinition } from '../../feed-format/format-definition';
import { FormatWriter, UnwritableValue } from '../../feed-format/write/format-writing';
import { invalidShape, type ShapeError } from '../../base/errors';
import { formatId } from '../../base/ids';

/** Maximum products per statement, fewer if they are large: a slow client holds no connection and no snapshot between them. */
const batchSize = 200;

/** A product in the form of a file. */
type FileRow = Record<ProductColumn, string | null> & { product_id: number };

/** Trailing zeros of a price come from the type of its column, and are not written. */
const columns = productColumns.map((name) => (name === 'price' ? 'trim_scale(price) as price' : name));

const batchSql = (partnerId: number, after: number) =>
  boundedPageSql(
    sql`select product_id, ${raw(columns.join(', '))}
    from products
    where partner_id = ${partnerId} and product_id > ${after} and withdrawn_at is null
    order by product_id
    limit ${raw(batchSize + 1)}`,
    batchSize,
  );

/** Maximum number of products that an error names. */
const faultsMax = 10;

/**
 * Opens the active products of a partner as a file, by product number. Each batch shows the catalog of its moment. With a format, all
 * products are read once before, to find values that it cannot express. The caller reads the stream or destroys it.
 * @param format - null: none
 * @param isAborted - whether the client has disconnected
 * @throws validation_error naming such products; from the stream: Error if one has such a value since, or the partner was merged
 * into another one meanwhile, errors of the database
 */
export async function openProductFile(
  db: Database,
  partnerId: number,
  format: FeedFormat | null,
  isAborted: () => boolean,
): Promise<Readable> {
  const faults = format ? await findUnwritable(db, partnerId, format, isAborted) : [];
  if (faults.length > 0) throw invalidShape(faults);
  return Readable.from(writeProducts(db, partnerId, format?.definition ?? strictFormat), {
    objectMode: false,
  });
}

async function findUnwritable(
  db: Database,
  partnerId: number,
  { name, definition }: FeedFormat,
  isAborted: () => boolean,
): Promise<ShapeError[]> {
  const writer = new FormatWriter(definition);
  const faults: ShapeError[] = [];
  for await (const rows of readActiveProducts(db, partnerId)) {
    for (const row of rows) {
      const cells = writer.checkedCells(row);
      if (cells instanceof UnwritableValue) faults.push(faultOf(row, cells, name));
      if (faults.length === faultsMax) return faults;
    }
    if (isAborted()) break;
  }
  return faults;
}

function faultOf(
  { product_id, sku }: FileRow,
  { column, reason }: UnwritableValue,
  format: string,
): ShapeError {
  const productId = formatId('PR', product_id);
  return {
    type: 'not_in_format',
    loc: ['query', 'format'],
    msg: `Format should be able to represent every product: ${column} of ${productId} ${reason}`,
    input: format,
    ctx: { product_id: productId, sku, column },
  };
}

async function* writeProducts(
  db: Database,
  partnerId: number,
  definition: ReadDefinition,
): AsyncGenerator<Buffer> {
  const writer = new FormatWriter(definition);
  yield writer.beginning();
  for await (const rows of readActiveProducts(db, partnerId)) {
    const records = rows.map((row) => cellsOf(writer, row, definition));
    if (records.length > 0) yield writer.records(records);
  }
}

/** A file without a format can contain all stored values. @throws Error if the format would read another value */
function cellsOf(writer: FormatWriter, row: FileRow, { strict }: ReadDefinition): string[] {
  if (strict) return writer.cells(row);
  const cells = writer.checkedCells(row);
  if (cells instanceof UnwritableValue)
    throw new Error(`${cells.column} of product ${row.product_id} ${cells.reason}.`);
  return cells;
}

/**
 * Reads the active products of a partner by product number, in batches.
 * @throws Error at the end when the partner was merged into another one meanwhile; errors of the database
 */
async function* readActiveProducts(db: Database, partnerId: number): AsyncGenerator<FileRow[]> {
  let after = 0;
  for (;;) {
    const rows: Found<FileRow>[] = await queryRows<Found<FileRow>>(db, batchSql(partnerId, after), true);
    yield rows;
    const last = rows.at(-1);
    if (!last || last.found === rows.length) break;
    after = last.product_id;
  }
  // The products of a merged partner belong to another one: without an error, the client would not notice the truncation.
  const partner: unknown = await db('partners').where('partner_id', partnerId).first('partner_id');
  if (!partner) throw new Error('The partner was merged into another one during a download.');
}

import { Readable } from 'node:stream';
import type { Database } from '../db/database';
import type { FeedFormat } from '../feed-format/format-definition';
import { FormatWriter, UnwritableValue } from '../feed-format/format-writing';
import { invalidShape, type ShapeError } from '../shared/errors';
import { formatId } from '../shared/ids';
import { readActiveProducts, type FileRow } from './product-file';

/** Number of products that an error names. */
const faultsMax = 10;

/**
 * Opens the active products of a partner as a file of a format, by product number. All of them are read once before, to find
 * those that the format would read back as others. The caller reads the stream or destroys it.
 * @param isAborted - whether the client has disconnected
 * @throws invalid_shape naming such products; from the stream: Error when one has become such a product meanwhile, and as
 *   `openProductFile`
 */
export async function openFormattedProductFile(
  db: Database,
  partnerId: number,
  format: FeedFormat,
  isAborted: () => boolean,
): Promise<Readable> {
  const faults = await findUnwritable(db, partnerId, format, isAborted);
  if (faults.length > 0) throw invalidShape(faults);
  return Readable.from(writeProducts(db, partnerId, format), { objectMode: false });
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
    msg: `Format should be one that can hold every product: ${column} of ${productId} ${reason}`,
    input: format,
    ctx: { product_id: productId, sku, column },
  };
}

async function* writeProducts(
  db: Database,
  partnerId: number,
  { definition }: FeedFormat,
): AsyncGenerator<Buffer> {
  const writer = new FormatWriter(definition);
  yield writer.beginning();
  for await (const rows of readActiveProducts(db, partnerId)) {
    const records = rows.map((row) => {
      const cells = writer.checkedCells(row);
      // Without an error, the file would have another value.
      if (cells instanceof UnwritableValue)
        throw new Error(`${cells.column} of product ${row.product_id} ${cells.reason}.`);
      return cells;
    });
    if (records.length > 0) yield writer.records(records);
  }
}

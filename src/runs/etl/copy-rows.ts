import { pipeline } from 'node:stream/promises';
import type { Knex } from 'knex';
import { connectionOf } from '../../base/db/dialect';
import { from as copyFrom } from 'pg-copy-streams';
import type { ObjectStore } from '../../base/storage/object-store';
import type { FeedRecord, RecordPlace } from '../../feed-format/read/extract';
import { productColumns } from '../../feed-format/columns';
import type { OpenFile } from '../../feed-format/read/open-file';
import type { FeedHeader } from '../../feed-format/read/header-columns';
import { reportsMoney } from '../../feed-format/check/header-issues';
import { findAtEnd, findInHeader, findInRow } from '../../feed-format/check/row-findings';
import { findNewerLoadedFeed } from './newer-feed';
import type { PartnerDigests } from './unchanged/partner-digests';
import { openRawFile, type FeedToRun } from './raw-file';
import type { RunStats } from './run-stats';
import { TextBatch } from './text-batch';
import {
  hasCurrency,
  hasPrice,
  namedSkus,
  transformRecord,
  type ProductValues,
} from '../../feed-format/rows/transform';

export interface CopyTarget {
  /** Table with its columns. */
  table: string;
  /** Formats a row in the text format of COPY. `offset` is the offset of its record in the file. */
  formatRow(place: RecordPlace, offset: number, values: ProductValues): string;
  /** Formats the sku of a row that is not copied; absent: such skus are not needed. */
  formatName?(place: RecordPlace, sku: string): string;
  allowsRepeatedSkus: boolean;
  /** Called when all rows are read and checked, before the last batch is copied. */
  onRead?: () => Promise<void>;
}

/** A sku repeats, and the target allows each sku once. */
export class RepeatedSku extends Error {}

/** Feed to be copied. */
export interface RowSource {
  objectStore: ObjectStore;
  feed: FeedToRun;
  /** Digests by which unchanged records are skipped; absent: all rows are copied. */
  digests?: PartnerDigests;
  /** Aborts reading. */
  signal?: AbortSignal;
}

/**
 * Streams the valid rows of the raw file into the target.
 * @throws FeedFailure when the file cannot be read completely; RepeatedSku
 */
export async function copyRows(
  trx: Knex.Transaction,
  source: RowSource,
  target: CopyTarget,
  stats: RunStats,
): Promise<FeedHeader> {
  const file = await openRawFile(source.objectStore, source.feed, { signal: source.signal, progress: stats });
  try {
    await copyRecords(trx, file, source, target, stats);
  } finally {
    await file.close();
  }
  return file.header;
}

async function copyRecords(
  trx: Knex.Transaction,
  { header, records }: OpenFile,
  { feed, digests }: RowSource,
  target: CopyTarget,
  stats: RunStats,
): Promise<void> {
  const { columns, keptColumns, fillsDown } = header.reading;
  stats.delimiter = header.delimiter;
  stats.hasPriceColumn = columns.has('price');
  stats.keepsPrices = keptColumns.includes('price');
  stats.isCorrection = header.codes !== undefined;
  const countsCurrencies = reportsMoney(header.reading, feed.mode);
  const newerFeedId = await findNewerLoadedFeed(trx, feed);
  const known = digests && (await stats.timed('load digests', () => digests.load(header, feed)));
  const batch = new TextBatch();
  /** Copies the skus of a record that is not copied itself; for a feed that withdraws products that it does not name. */
  const addNames = (record: FeedRecord): Buffer | null => {
    if (feed.mode !== 'replace') return null;
    const skus = namedSkus(record, header);
    if (!skus) stats.countUnreadable(record.line);
    const names = skus?.map((sku) => target.formatName?.(record, sku) ?? '').join('');
    return names ? batch.add(names) : null;
  };
  const rows = records<Buffer>(
    (place, text) => {
      findInHeader(stats, place, text, header, { mode: feed.mode, newerFeedId });
      return null;
    },
    (record) => {
      // With cells filled down, an equal record may have other values: it is staged, and its stored digest dropped.
      if (!record.tooLong && !fillsDown && known?.isUnchanged(record.bytes, record)) {
        stats.unchanged++;
        stats.hasPrices ||= stats.hasPriceColumn && hasPrice(record, header);
        stats.hasCurrencies ||= countsCurrencies && hasCurrency(record, header);
        return addNames(record);
      }
      const outcome = transformRecord(record, header, feed.mode);
      findInRow(stats, outcome);
      const { values, issues } = outcome;
      if (!values) {
        stats.rejected++;
        return addNames(record);
      }
      const superseded = known?.markStaged(values.sku, issues === undefined && !fillsDown);
      if (known?.hasRepeatedSku && !target.allowsRepeatedSkus) throw new RepeatedSku();
      stats.copied++;
      const text = target.formatRow(record, record.offset, values);
      if (!superseded) return batch.add(text);
      stats.unchanged--;
      stats.copied++;
      // The superseded row is rejected, so its values do not matter.
      return batch.add(
        target.formatRow(superseded, 0, { ...noValues, sku: values.sku, product_name: values.sku }) + text,
      );
    },
  );
  async function* batches(): AsyncGenerator<Buffer> {
    yield* rows;
    findAtEnd(stats, header, feed.mode, stats.copied + stats.unchanged > 0);
    await target.onRead?.();
    yield batch.flush();
  }
  const client = await connectionOf(trx);
  await pipeline(batches(), client.query(copyFrom(`copy ${target.table} from stdin`)));
}

const noValues = Object.fromEntries(productColumns.map((column) => [column, null])) as ProductValues;

/** Formats the values of a product for COPY, each after a tab. */
export function formatValues(values: ProductValues): string {
  let text = '';
  for (const column of productColumns) text += `\t${formatValue(values[column])}`;
  return text;
}

const copySpecial = /[\\\t\n\r]/;
const copyEscapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

export function formatValue(value: string | null): string {
  if (value === null) return '\\N';
  return copySpecial.test(value) ? value.replace(/[\\\t\n\r]/g, (special) => copyEscapes[special]!) : value;
}

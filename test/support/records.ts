import type { RecordPlace } from '../../src/etl/row-issues';
import type { FeedRecord } from '../../src/etl/transform';

/** A record as plain data, to be kept and compared. */
export interface PlainRecord extends RecordPlace {
  fields: string[];
  misquoted: boolean;
}

/** A record that is too long: nothing but its place, and its sku where that is known. */
export interface LongRecord extends RecordPlace {
  tooLong: true;
  sku: string | undefined;
}

/** What an extractor gives to its caller, of a feed whose sku stands at `skuPosition`. */
export function copyRecord(record: FeedRecord, skuPosition = 0): PlainRecord | LongRecord {
  const { line, lastLine, row, misquoted, tooLong } = record;
  if (tooLong) return { line, lastLine, row, tooLong, sku: record.field(skuPosition) };
  const fields = record.firstFields(Infinity);
  if (fields.length !== record.fieldCount)
    throw new Error(`${record.fieldCount} fields, not ${fields.length}`);
  return { line, lastLine, row, misquoted, fields };
}

/** A record with these fields. */
export function recordOf(
  fields: readonly string[],
  { line, lastLine, row }: RecordPlace,
  misquoted = false,
): FeedRecord {
  return {
    line,
    lastLine,
    row,
    misquoted,
    tooLong: false,
    fieldCount: fields.length,
    field: (position) => fields[position],
    firstFields: (max) => fields.slice(0, max),
  };
}

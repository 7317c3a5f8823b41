import type { Delimiter } from '../delimiter';
import { isBlankRecord } from './header-names';
import type { RecordSyntax } from './record-syntax';
import { RecordScanner } from './scan-record';

/** A record with the number of lines before it. */
export interface TableRecord {
  fields: readonly string[];
  linesBefore: number;
}

/** Splits the first non-blank records of a text, each with the number of lines before it. */
export function firstRecords(
  text: Buffer,
  delimiter: Delimiter,
  recordsMax = firstRecordsMax,
  syntax: RecordSyntax = 'loose',
): TableRecord[] {
  const scanner = new RecordScanner(delimiter, Infinity, syntax);
  const records: TableRecord[] = [];
  let linesBefore = 0;
  scanner.next = 0;
  while (scanner.next < text.length && records.length < recordsMax) {
    scanner.begin(scanner.next);
    if (scanner.scan(text, true) !== 'complete') break;
    const fields = Array.from({ length: Math.min(scanner.fieldCount, firstFieldsMax) }, (_, position) =>
      scanner.field(position)!,
    );
    if (!isBlankRecord(fields)) records.push({ fields, linesBefore });
    linesBefore += scanner.lineBreaks + 1;
  }
  return records;
}

const firstRecordsMax = 250;

const firstFieldsMax = 2_000;

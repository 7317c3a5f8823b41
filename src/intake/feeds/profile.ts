import type { components } from '../../../generated/openapi';
import { feedColumns, type ColumnFormat, recordBytes } from '../../feed-format/columns';
import { strictFormat } from '../../feed-format/built-in-formats';
import { delimiters } from '../../feed-format/delimiter';
import type { ReadDefinition } from '../../feed-format/format-definition';
import { FormatWriter, type WrittenValues } from '../../feed-format/write/format-writing';
import { headerRowBytes } from '../../feed-format/read/header-names';
import { issueCodes, rowIssueCodes, type IssueCode, type RowIssueCode } from '../../feed-format/issue-codes';

type FeedProfile = components['schemas']['FeedProfile'];

/** Describes the feed format. @param fileBytesMax - the largest accepted file */
export function feedProfile(fileBytesMax: number): FeedProfile {
  return {
    encoding: 'utf-8',
    delimiters: [...delimiters],
    line_ends: ['lf', 'crlf'],
    quote: '"',
    file_bytes_max: fileBytesMax,
    header_bytes_max: headerRowBytes,
    record_bytes_max: recordBytes,
    columns: feedColumns.map((column: ColumnFormat & { name: (typeof feedColumns)[number]['name'] }) => ({
      name: column.name,
      required: column.required,
      type: column.type,
      max_length: column.maxLength ?? null,
      grammar: column.grammar ?? null,
      cleaning: [...column.cleaning],
      codes: codesOf(column),
      description: column.description,
      example: column.example,
    })),
    issue_codes: rowIssueCodes.map((code) => {
      const { severity, description, remedy, example }: IssueCode = issueCodes[code];
      return { code, severity, description, remedy, example };
    }),
  };
}

function codesOf({ name, required, type, maxLength }: ColumnFormat): RowIssueCode[] {
  const codes = new Set<RowIssueCode>(['invalid_character']);
  if (required) codes.add('missing_required');
  if (maxLength !== undefined) codes.add('value_too_long');
  if (name === 'sku') codes.add('duplicate_sku').add('suspicious_sku');
  if (type === 'price') codes.add('invalid_price').add('currency_conflict').add('zero_price');
  if (type === 'currency_code') codes.add('invalid_currency');
  if (type === 'availability') codes.add('unknown_availability');
  return rowIssueCodes.filter((code) => codes.has(code));
}

/** Makes a feed with one example row. @param format - of the file; absent: without a format */
export function feedTemplate(format: ReadDefinition = strictFormat): Buffer {
  const example = Object.fromEntries(feedColumns.map((column) => [column.name, column.example]));
  const values = Object.entries(format.columns).map(([column, { value }]) => [
    column,
    value ?? example[column],
  ]);
  const writer = new FormatWriter(format);
  const cells = writer.cells({ ...example, ...Object.fromEntries(values) } as WrittenValues);
  return Buffer.concat([writer.beginning(), writer.records([cells])]);
}

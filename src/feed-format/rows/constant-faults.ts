import { transformRecord } from './transform';
import { productColumns, type ProductColumn } from '../columns';
import type { FormatDefinition } from '../format-definition';
import { objectOf } from '../format-faults';
import type { FeedRecord } from '../read/extract';
import { FormatReading } from '../read/format-reading';
import { resolveFormat } from '../read/resolve-format';
import type { ShapeError } from '../../base/errors';

/** Constants that `definitionFaults` checks: a sku, and a currency, which must not be empty either. */
const checkedElsewhere = new Set<string>(['sku', 'currency']);

/**
 * Finds constants that would make a run skip every row, by running a row of only the constants. Ignores parts of the wrong shape.
 * @param body - a definition as sent, of any shape
 */
export function constantFaults(body: unknown): ShapeError[] {
  const { columns, decimal_separator } = objectOf(body);
  const constants = Object.entries(objectOf(columns)).flatMap(([name, source]) => {
    const { value } = objectOf(source);
    const isConstant = typeof value === 'string' && (productColumns as readonly string[]).includes(name);
    return isConstant && !value.includes('\0') ? [[name, { value }] as const] : [];
  });
  const definition = {
    ...(decimal_separator === ',' && { decimal_separator }),
    columns: Object.fromEntries(constants),
  } as unknown as FormatDefinition;
  const place = { delimiter: ',', preamble: { lines: 0, bytes: 0 }, hasHeaderRow: true } as const;
  const reading = new FormatReading(resolveFormat(definition, place, () => undefined));
  const { issues = [] } = transformRecord(emptyRecord, {
    delimiter: ',',
    fieldCount: 0,
    positions: {},
    endsWithDelimiter: false,
    reading,
  });
  return issues.flatMap(({ field, severity, code, message }) => {
    const value = constants.find(([name]) => name === field)?.[1].value;
    if (severity !== 'error' || value === undefined || checkedElsewhere.has(field as ProductColumn))
      return [];
    const loc = ['body', 'columns', field as ProductColumn, 'value'];
    return [
      {
        type: 'constant_not_loadable',
        loc,
        msg: `Input would skip every row: ${message}`,
        input: value,
        ctx: { code },
      },
    ];
  });
}

const emptyRecord: FeedRecord = {
  line: 1,
  lastLine: 1,
  row: 1,
  fieldCount: 0,
  misquoted: false,
  tooLong: false,
  repeatsHeader: false,
  field: () => undefined,
  firstFields: () => [],
};

import { productColumns, type ProductColumn } from '../columns';
import { meaningOf } from './header-meaning';
import { isAsSpecified } from '../format-definition';
import { type FormatReading } from '../read/format-reading';
import { comparable } from '../text';
import { isReportColumn } from '../report-columns';

/** Minimum strength of a name: words with several meanings have less. */
const strengthMin = 0.8;

/** Returns the field that a column could be by its header; undefined for purchase prices, supplier's numbers and other doubtful names. */
export function fieldOfHeader(header: string): ProductColumn | undefined {
  const { field, kind = 'plain', strength } = meaningOf(header) ?? {};
  if (strength === undefined || strength < strengthMin || !plainKinds.includes(kind)) return undefined;
  return productColumns.find((column) => column === (field === 'quantity' ? 'availability' : field));
}

const plainKinds: readonly string[] = ['plain', 'our', 'net', 'gross', 'short'];

/** Number of first columns that are looked at: words take time, and a header may have 100,000. */
const columnsMax = 300;

/**
 * Finds columns that could be fields for which the format has no source.
 * None in a file without header row, without a format, or in `standard`.
 * @param names - of the header row
 * @returns the fields by the positions of the columns, from 0
 */
export function unmappedColumns(
  { format: { definition } }: Pick<FormatReading, 'format'>,
  names: readonly string[],
): Map<number, ProductColumn> {
  const found = new Map<number, ProductColumn>();
  if (isAsSpecified(definition) || definition.header === false) return found;
  const used = new Set(textsOf(definition).map(comparable));
  if (productColumns.every((column) => definition.columns[column])) return found;
  for (const [position, name] of names.slice(0, columnsMax).entries()) {
    if (name === '' || isReportColumn(name) || used.has(comparable(name))) continue;
    const field = fieldOfHeader(name);
    if (field && !definition.columns[field]) found.set(position, field);
  }
  return found;
}

/** Lists all texts in a definition: the headers of every member, and words, which are hardly ever headers too. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

import { trimText } from './text';

/** Generated columns of a file of rejects, before the columns of the feed. */
export const reportColumns = ['_line', '_codes', '_messages'] as const;

/** Finds the codes in the header of a file of rejects. @returns undefined for any other file */
export function codesPosition(names: readonly string[]): number | undefined {
  return names.includes('_line') && names.includes('_codes') ? names.indexOf('_codes') : undefined;
}

/** Tells a column of a rejects report. The upload of a corrected file ignores it without an issue. */
export function isReportColumn(header: string): boolean {
  return header.startsWith('_');
}

const supersededCodes = ['duplicate_sku', 'superseded_row'];

/** Tells whether a row was rejected only because a later one had the same sku, by its codes. */
export const isSuperseded = (codes: string): boolean => supersededCodes.includes(trimText(codes));

/** Codes of rows that a file of rejects contains unchanged: without values from the rows above. */
const unfilledCodes = ['too_many_fields', 'invalid_quoting', 'incomplete_group'];

/** Tells whether the empty cells of a row may have had a value above them, by its codes. */
export const isUnfilled = (codes: string): boolean =>
  codes.split(/\s+/).some((code) => unfilledCodes.includes(code));

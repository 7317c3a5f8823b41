/** The prefixes of the identifiers (specification, section 1). Each prefix counts by itself. */
type IdPrefix = 'FD' | 'JS' | 'JV' | 'PR' | 'OR' | 'OI';

/** `FD` and 1 give `FD00001`; after 99999 the number grows. */
export function formatId(prefix: IdPrefix, number: number): string {
  return prefix + String(number).padStart(5, '0');
}

/** The number of an identifier as `formatId` writes it, or undefined for any other text. */
export function parseId(prefix: IdPrefix, id: string): number | undefined {
  const digits = id.slice(prefix.length);
  if (!id.startsWith(prefix) || !/^(?:\d{5}|[1-9]\d{5,14})$/.test(digits)) return undefined;
  return Number(digits);
}

/** Prefixes of identifiers (specification, section 1). A file of its own, since all domains import it. */
type IdPrefix = 'FD' | 'JS' | 'JV' | 'PR' | 'OR' | 'OI';

/** Formats an identifier: `FD` and 1 give `FD00001`; numbers above 99999 have more digits. */
export function formatId(prefix: IdPrefix, number: number): string {
  return prefix + String(number).padStart(5, '0');
}

/** Returns the number of an identifier of `formatId`; undefined for another text. */
export function parseId(prefix: IdPrefix, id: string): number | undefined {
  const digits = id.slice(prefix.length);
  if (!id.startsWith(prefix) || !/^(?:\d{5}|[1-9]\d{5,14})$/.test(digits)) return undefined;
  return Number(digits);
}

const decimals = 2;

/** Adds amounts without rounding. @param amounts - decimal texts of the service, with two decimals */
export function sumOf(amounts: readonly string[]): string {
  const sum = amounts.reduce((total, amount) => total + BigInt(amount.replace('.', '')), 0n);
  const digits = sum.toString().padStart(decimals + 1, '0');
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/** Returns the part of a whole, from 0 to 1. */
export const shareOfTotal = (part: string, whole: string) =>
  Number(whole) > 0 ? Number(part) / Number(whole) : 0;

/** Returns the change in percent; undefined without an earlier amount. */
export const changeOf = (before: string | number, after: string | number) =>
  Number(before) > 0 ? (100 * (Number(after) - Number(before))) / Number(before) : undefined;

/** Returns the values by how often they occur, the most frequent first. */
export function byFrequency(values: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts.keys()].sort((a, b) => counts.get(b)! - counts.get(a)!);
}

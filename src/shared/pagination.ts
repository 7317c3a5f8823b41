/** One page of a list. */
export interface Page<T> {
  items: T[];
  /** Stands for the last entry, when more exist. */
  nextCursor?: string;
}

/**
 * Makes a page of `rows`, of which one more was read than it holds: that tells whether more exist.
 * @param cursorOf - the cursor that stands for an entry
 */
export function toPage<T>(rows: readonly T[], limit: number, cursorOf: (last: T) => string): Page<T> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, nextCursor: last && rows.length > limit ? cursorOf(last) : undefined };
}

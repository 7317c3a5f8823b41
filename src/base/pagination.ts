import { invalidCursor } from './errors';

/** One page of a list. A file of its own, since three domains import it. */
export interface Page<T> {
  items: T[];
  /** Cursor of the last entry, if more exist. */
  nextCursor?: string;
}

/**
 * Makes a page of `rows`.
 * @param rows - at most `limit + 1` rows; `boundedPageSql` may have removed some
 * @param found - number of all of them: more exist if it is larger than the page
 */
export function toPage<T>(
  rows: readonly (T & { found?: number })[],
  limit: number,
  cursorOf: (last: T) => string,
  found = rows[0]?.found ?? rows.length,
): Page<T> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, nextCursor: last && found > items.length ? cursorOf(last) : undefined };
}

/** Maps a page to the body of a response; all lists have the same members. */
export function toListBody<T, I>({ items, nextCursor }: Page<T>, toItem: (item: T) => I) {
  return { count: items.length, items: items.map((item) => toItem(item)), next_cursor: nextCursor };
}

/** Requires a cursor that can be the name of an entry. @throws invalid_cursor */
export function requireNameCursor(cursor: unknown): void {
  if (cursor !== undefined && (typeof cursor !== 'string' || cursor.includes('\0'))) throw invalidCursor();
}

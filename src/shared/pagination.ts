import { invalidCursor } from './errors';

/** One page of a list. A file of its own, since three domains import it. */
export interface Page<T> {
  items: T[];
  /** Cursor of the last entry, if more exist. */
  nextCursor?: string;
}

/** Makes a page of `rows`, which has `limit + 1` rows if more exist. */
export function toPage<T>(rows: readonly T[], limit: number, cursorOf: (last: T) => string): Page<T> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, nextCursor: last && rows.length > limit ? cursorOf(last) : undefined };
}

/** Requires of a cursor that is the name of an entry: any text that names can have. @throws invalid_query */
export function requireNameCursor(cursor: unknown): void {
  if (cursor !== undefined && (typeof cursor !== 'string' || cursor.includes('\0'))) throw invalidCursor();
}

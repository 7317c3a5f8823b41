import { invalidCursor } from '../../base/errors';
import { formatId, parseId } from '../../base/ids';
import { firstSize, noSize, type ChangeSize, type ChangeSort } from '../etl/change-order';
import type { EffectPosition } from '../etl/list-effects';
import type { ChangePosition } from '../etl/load';
import { parsePosition } from './jobs.service';

/*
 * Cursors of changes: a place in the usual order; in the order by price, the size of the change, or `none`, before it. `25.00-12` is
 * after row 12, whose price has changed by 25 %; `none-12-PR00003` after the withdrawal of that product.
 */

const sizedForm = /^(\d{1,20}\.\d{2}|none)-(.+)$/;

/** Formats a place for the cursor of an order. */
const formatSized = (size: ChangeSize, place: string, sort: ChangeSort): string =>
  sort === 'usual' ? place : `${size === noSize ? 'none' : size}-${place}`;

/** Parses a cursor to a size and a place; without a place, the list begins. @throws invalid_cursor */
function parseSized(cursor: unknown, sort: ChangeSort): { size: ChangeSize; place?: unknown } {
  if (cursor === undefined || sort === 'usual') return { size: firstSize(sort), place: cursor };
  const [, size, place] = (typeof cursor === 'string' && sizedForm.exec(cursor)) || [];
  if (size === undefined) throw invalidCursor();
  return { size: size === 'none' ? noSize : size, place };
}

/** Formats the cursor of a plan after a change. */
export function formatChangePosition(
  { size, afterRow, afterProduct }: ChangePosition,
  sort: ChangeSort,
): string {
  const place = afterProduct === undefined ? String(afterRow) : `${afterRow}-${formatId('PR', afterProduct)}`;
  return formatSized(size, place, sort);
}

/** Parses a cursor of a plan. @throws invalid_cursor */
export function parseChangePosition(cursor: unknown, sort: ChangeSort): ChangePosition {
  const { size, place } = parseSized(cursor, sort);
  const [, row, product] = (typeof place === 'string' && /^(\d{1,9})-(PR\d+)$/.exec(place)) || [];
  if (row === undefined) return { size, afterRow: parsePosition(place) };
  const afterProduct = parseId('PR', product!);
  if (afterProduct === undefined) throw invalidCursor();
  return { size, afterRow: Number(row), afterProduct };
}

/** Formats the cursor of a run's changes after a product. */
export const formatEffectPosition = ({ size, afterProduct }: EffectPosition, sort: ChangeSort): string =>
  formatSized(size, formatId('PR', afterProduct), sort);

/** Parses a cursor of a run's changes. @throws invalid_cursor */
export function parseEffectPosition(cursor: unknown, sort: ChangeSort): EffectPosition {
  const { size, place } = parseSized(cursor, sort);
  return { size, afterProduct: parseProductPosition(place) };
}

/** Parses a cursor to a product number; 0 is before the first. @throws invalid_cursor */
export function parseProductPosition(cursor: unknown): number {
  if (cursor === undefined) return 0;
  const productId = typeof cursor === 'string' ? parseId('PR', cursor) : undefined;
  if (productId === undefined) throw invalidCursor();
  return productId;
}

import { optionsOf, type Column } from './column-cells';

/** Rows of one product, whose common values are in the first one only. */
export interface Group {
  /** The column whose cell is the same in all rows of a product. */
  by: Column;
  /** Columns with cells in the first rows only. */
  filled: readonly Column[];
  /** Columns whose cells tell the variants of a product apart. */
  options: readonly Column[];
}

/** Maximum share of groups that contradict. */
const contradictionsMax = 0.02;

/** Minimum share of empty names that a group explains. */
const explainedMin = 0.9;

/** Meanings of columns that keep rows together, the likeliest first. */
const groupFields = ['handle', 'parent', 'id', 'sku', 'url', 'ean', 'other'];

const mayGroup = ({ meaning }: Column) => meaning === undefined || groupFields.includes(meaning.field);

/**
 * Finds groups of rows with their name in the first row.
 * @param name - the column of names
 * @param others - columns that may be in the first rows only, too
 */
export function findGroup(
  columns: readonly Column[],
  name: Column,
  others: readonly Column[],
): Group | undefined {
  if (!name.cells.includes('')) return undefined;
  const order = (column: Column) => {
    const at = groupFields.indexOf(column.meaning?.field ?? 'other');
    return at === -1 ? groupFields.length : at;
  };
  const by = columns
    .filter((column) => column !== name && column.header !== '' && mayGroup(column))
    .sort((a, b) => order(a) - order(b))
    .find((column) => explains(column, name));
  if (!by) return undefined;
  const filled = [name, ...others.filter((column) => isFirstOnly(by, column))];
  return { by, filled, options: optionsOf(columns) };
}

/** Tells whether runs of equal cells begin with a name, and have no other. A run without a name may repeat a named one. */
function explains({ cells }: Column, name: Column): boolean {
  const named = new Set<string>();
  let contradictions = 0;
  let explained = 0;
  let unexplained = 0;
  let current = '';
  for (const [at, cell] of cells.entries()) {
    const hasName = name.cells[at] !== '';
    if (cell === '') {
      if (!hasName) unexplained++;
      continue;
    }
    const isFirst = cell !== current;
    current = cell;
    if (hasName && isFirst) named.add(cell);
    else if (hasName || (isFirst && !named.has(cell))) contradictions++;
    else if (!isFirst) explained++;
  }
  const isExplained = explained > 0 && explained >= explainedMin * (explained + unexplained);
  return contradictions <= contradictionsMax * named.size && isExplained;
}

/** Tells whether a column has cells in the first rows of groups, and hardly in others. */
function isFirstOnly({ cells: groups }: Column, { cells, filled }: Column): boolean {
  const inFirst = cells.filter((cell, at) => cell !== '' && groups[at] !== groups[at - 1]).length;
  return filled > 0 && inFirst >= explainedMin * filled;
}

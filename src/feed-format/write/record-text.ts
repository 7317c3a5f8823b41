import type { ReadDefinition } from '../format-definition';

/** How records are written. */
export interface WrittenSyntax {
  delimiter: string;
  /** As in a format. */
  quote?: ReadDefinition['quote'];
}

/**
 * Writes a record without its line end. A line break of any kind is within quotes. Without quotes, a delimiter or line break within a
 * cell becomes a space: see `isWritable`.
 */
export function recordText(cells: readonly string[], { delimiter, quote }: WrittenSyntax): string {
  if (quote === 'none')
    return cells.map((cell) => cell.replaceAll(delimiter, ' ').replace(/[\r\n]/g, ' ')).join(delimiter);
  const needsQuotes = (cell: string) => /["\r\n]/.test(cell) || cell.includes(delimiter);
  return cells.map((cell) => (needsQuotes(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(delimiter);
}

/** Tells whether a cell is read as it is written. */
export function isWritable(cell: string, { delimiter, quote }: WrittenSyntax): boolean {
  return quote !== 'none' || !(/[\r\n]/.test(cell) || cell.includes(delimiter));
}

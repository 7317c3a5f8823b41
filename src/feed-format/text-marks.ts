import { trimText } from './text';

/* Marks of spreadsheets, by which a text is neither a formula nor a number: `="00123"`, and an apostrophe before the text. */

/** A text that needs a mark, and may have one already: a spreadsheet takes it for a formula. */
const formula = /^'*[=+\-@]/;

/** The same for a sku: a spreadsheet takes it for a number, too. */
const formulaOrNumber = /^'*[=+\-@\d]/;

const needsMark = (text: string, isSku: boolean) => (isSku ? formulaOrNumber : formula).test(text);

/** Removes the text mark of a cell. @param isSku - whether the cell is the sku, or a part of it */
export function withoutTextMarks(cell: string, isSku: boolean): string {
  const text = trimText(cell);
  if (text.startsWith("'")) return needsMark(text, isSku) ? text.slice(1) : cell;
  return textOfFormula(text) ?? cell;
}

/** The inverse of `withoutTextMarks`: marks the trimmed text of a cell that needs it. */
export function withTextMarks(cell: string, isSku: boolean): string {
  const text = trimText(cell);
  return needsMark(text, isSku) ? `'${text}` : cell;
}

/** Returns the text of `="…"`; undefined for any other text. */
function textOfFormula(text: string): string | undefined {
  if (text.length < '=""'.length || !text.startsWith('="') || !text.endsWith('"')) return undefined;
  const inner = text.slice('="'.length, -1);
  return inner.replaceAll('""', '').includes('"') ? undefined : inner.replaceAll('""', '"');
}

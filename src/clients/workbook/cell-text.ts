import { identifierText, type CellFormat } from './cell-format';
import { dateText, isoDateText } from './date-text';
import { numberText } from './number-text';
import type { SheetCell } from './sheet-rows';

/** How the cells of a sheet are read. */
export interface CellReading {
  formats: readonly CellFormat[];
  is1904: boolean;
}

/** Returns the text of a cell in the CSV file. @param isSku - whether its column has skus */
export function cellText({ kind, text, style }: SheetCell, reading: CellReading, isSku = false): string {
  switch (kind) {
    case 'number':
      return numberCellText(text, reading.formats[style], reading.is1904, isSku);
    case 'boolean':
      return text === '1' || text === 'true' ? 'TRUE' : 'FALSE';
    case 'isoDate':
      return isoDateText(text);
    default:
      return text;
  }
}

function numberCellText(
  text: string,
  format: CellFormat | undefined,
  is1904: boolean,
  isSku: boolean,
): string {
  if (format?.date) return dateText(text, format.date, is1904);
  if (isSku || format?.isCode) return identifierText(text, format);
  return numberText(text);
}

import { cellFormatOf, type CellFormat } from './cell-format';
import { parseWholeXml, type XmlAttributes } from './parse-xml';
import { RichText } from './rich-text';
import { damaged } from './zip-archive';
import type { WorkbookPackage } from './workbook-package';

/** Reads the strings that cells of all sheets refer to. */
export function readSharedStrings(
  { archive, sharedStringsPart: part }: WorkbookPackage,
  onRead: (bytes: number) => void,
): string[] {
  if (part === undefined) return [];
  const strings: string[] = [];
  const item = new RichText();
  parseWholeXml(archive.read(part, onRead), {
    open: (name) => item.open(name),
    text: (text) => item.text(text),
    close(name) {
      item.close(name);
      if (name === 'si') strings.push(item.take());
    },
  });
  return strings;
}

/** Formats that files name by number only; those of currencies depend on the place of the viewer. */
const builtIn: Readonly<Record<number, string>> = {
  1: '0',
  2: '0.00',
  3: '#,##0',
  4: '#,##0.00',
  5: '$#,##0',
  6: '$#,##0',
  7: '$#,##0.00',
  8: '$#,##0.00',
  9: '0%',
  10: '0.00%',
  11: '0.00E+00',
  12: '# ?/?',
  13: '# ??/??',
  14: 'yyyy-mm-dd',
  15: 'd-mmm-yy',
  16: 'd-mmm',
  17: 'mmm-yy',
  18: 'h:mm AM/PM',
  19: 'h:mm:ss AM/PM',
  20: 'h:mm',
  21: 'h:mm:ss',
  22: 'yyyy-mm-dd h:mm',
  37: '#,##0',
  38: '#,##0',
  39: '#,##0.00',
  40: '#,##0.00',
  42: '$#,##0',
  44: '$#,##0.00',
  45: 'mm:ss',
  46: '[h]:mm:ss',
  47: 'mm:ss.0',
  // Dates of East Asian editions.
  ...Object.fromEntries([27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58].map((id) => [id, 'yyyy-mm-dd'])),
};

/** Formats of cells: more are hostile, Excel has 65,490. */
const formatsMax = 100_000;

/** Reads the number formats of cells; the index is the style of a cell. */
export function readCellFormats({ archive, stylesPart: part }: WorkbookPackage): CellFormat[] {
  if (part === undefined) return [];
  const codes = new Map<number, string>(Object.entries(builtIn).map(([id, code]) => [Number(id), code]));
  const ids: number[] = [];
  let list = '';
  parseWholeXml(archive.read(part), {
    open(name: string, { numFmtId: id, formatCode: code }: XmlAttributes) {
      if (name === 'numFmts' || name === 'cellXfs') list = name;
      else if (name === 'numFmt' && list === 'numFmts' && code !== undefined) codes.set(Number(id), code);
      else if (name === 'xf' && list === 'cellXfs') ids.push(Number(id ?? 0));
      if (ids.length > formatsMax || codes.size > formatsMax) throw damaged();
    },
    close(name) {
      if (name === list) list = '';
    },
  });
  const formats = new Map<number, CellFormat>();
  return ids.map((id) => {
    const known = formats.get(id) ?? cellFormatOf(codes.get(id) ?? 'General');
    formats.set(id, known);
    return known;
  });
}

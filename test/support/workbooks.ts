import { zipArchive } from './other-file-formats';

/** A cell of a test workbook: attributes and inner XML, or a value that is written as Excel does. */
export type TestCell = string | number | boolean | null | { attributes?: string; xml: string };

export interface TestSheet {
  name?: string;
  /** Rows by their order; null is a row that is missing. */
  rows?: (readonly TestCell[] | null)[];
  state?: 'hidden' | 'veryHidden';
  /** XML before and after `sheetData`: columns, merged cells. */
  before?: string;
  after?: string;
  /** Attributes of rows by number: `hidden="1"`. */
  rowAttributes?: Readonly<Record<number, string>>;
  /** Whole part instead of the above. */
  xml?: string;
}

export interface TestWorkbook {
  sheets: TestSheet[];
  /** Number formats; style n of a cell is format n - 1, style 0 is General. */
  formats?: string[];
  /** Inner XML of shared string items, before those of the cells. */
  sharedItems?: string[];
  is1904?: boolean;
  /** Prefix of all elements of sheets, as the Open XML SDK writes: `x:`. */
  prefix?: string;
  /** Whether cells have no places and strings are in the cells, as of small writers. */
  isTerse?: boolean;
  /** More parts, or other ones, by name. */
  parts?: Readonly<Record<string, string | Buffer>>;
  /** More relationships of the workbook. */
  relationships?: string;
}

const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const relations = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const packageRelations = 'http://schemas.openxmlformats.org/package/2006/relationships';

export const escapeXml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** Builds a workbook (.xlsx). */
export function workbookFile(workbook: TestWorkbook): Buffer {
  return zipArchive(workbookParts(workbook));
}

/** Builds the parts of a workbook by their names. */
export function workbookParts(workbook: TestWorkbook): Record<string, string | Buffer> {
  const { sheets, formats = [], is1904 = false, parts = {}, relationships = '' } = workbook;
  const items = [...(workbook.sharedItems ?? [])];
  const sheetParts = sheets.map(
    (sheet, index) => [`xl/worksheets/sheet${index + 1}.xml`, sheetXml(sheet, items, workbook)] as const,
  );
  const list = sheets.map(
    ({ name, state = 'visible' }, index) =>
      `<sheet name="${escapeXml(name ?? `Sheet${index + 1}`)}" sheetId="${index + 1}" state="${state}" r:id="rId${index + 1}"/>`,
  );
  const related = sheets.map((_, index) =>
    relationship(`rId${index + 1}`, 'worksheet', `worksheets/sheet${index + 1}.xml`),
  );
  return {
    '[Content_Types].xml':
      '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>',
    '_rels/.rels': `<Relationships xmlns="${packageRelations}">${relationship('rId1', 'officeDocument', 'xl/workbook.xml')}</Relationships>`,
    'xl/workbook.xml': `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<workbook xmlns="${main}" xmlns:r="${relations}"><workbookPr${is1904 ? ' date1904="1"' : ''}/><sheets>${list.join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${packageRelations}">${related.join('')}${relationship('s', 'styles', '/xl/styles.xml')}${relationship('t', 'sharedStrings', 'sharedStrings.xml')}${relationships}</Relationships>`,
    'xl/styles.xml': stylesXml(formats),
    ...Object.fromEntries(sheetParts),
    'xl/sharedStrings.xml': `<sst xmlns="${main}" count="${items.length}">${items.map((item) => `<si>${item}</si>`).join('')}</sst>`,
    ...parts,
  };
}

export const relationship = (id: string, type: string, target: string) =>
  `<Relationship Id="${id}" Type="${relations}/${type}" Target="${target}"/>`;

function stylesXml(formats: readonly string[]): string {
  const codes = formats.map(
    (code, index) => `<numFmt numFmtId="${164 + index}" formatCode="${escapeXml(code)}"/>`,
  );
  const cells = formats.map((_, index) => `<xf numFmtId="${164 + index}" xfId="0"/>`);
  // The formats of named styles are not those of cells.
  return `<styleSheet xmlns="${main}"><numFmts>${codes.join('')}</numFmts><cellStyleXfs><xf numFmtId="9"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>${cells.join('')}</cellXfs></styleSheet>`;
}

function sheetXml(
  sheet: TestSheet,
  items: string[],
  { prefix: p = '', isTerse = false }: TestWorkbook,
): string {
  if (sheet.xml !== undefined) return sheet.xml;
  const { rows = [], before = '', after = '', rowAttributes = {} } = sheet;
  const rowsXml = rows.flatMap((cells, index) => {
    if (!cells) return [];
    const number = index + 1;
    const place = isTerse ? '' : ` r="${number}"`;
    const inner = cells.map((cell, column) => {
      const r = isTerse ? '' : ` r="${letters(column)}${number}"`;
      return cellXml(cell, r, items, isTerse).replaceAll('<', `<${p}`).replaceAll(`<${p}/`, `</${p}`);
    });
    return [`<${p}row${place} ${rowAttributes[number] ?? ''}>${inner.join('')}</${p}row>`];
  });
  const namespace = p === '' ? `xmlns="${main}"` : `xmlns:${p.slice(0, -1)}="${main}"`;
  return `<${p}worksheet ${namespace}>${before}<${p}sheetData>${rowsXml.join('')}</${p}sheetData>${after}</${p}worksheet>`;
}

function cellXml(cell: TestCell, r: string, items: string[], isTerse: boolean): string {
  if (cell === null) return isTerse ? '<c/>' : '';
  switch (typeof cell) {
    case 'number':
      return `<c${r}><v>${cell}</v></c>`;
    case 'boolean':
      return `<c${r} t="b"><v>${Number(cell)}</v></c>`;
    case 'string': {
      const text = `<t xml:space="preserve">${escapeXml(cell)}</t>`;
      if (isTerse) return `<c${r} t="inlineStr"><is>${text}</is></c>`;
      return `<c${r} t="s"><v>${items.push(text) - 1}</v></c>`;
    }
    default:
      return `<c${r} ${cell.attributes ?? ''}>${cell.xml}</c>`;
  }
}

function letters(column: number): string {
  const rest = Math.floor(column / 26);
  return (rest > 0 ? letters(rest - 1) : '') + String.fromCharCode(65 + (column % 26));
}

/** A number in a style. */
export const styled = (style: number, value: number | string): TestCell => ({
  attributes: `s="${style}"`,
  xml: `<v>${value}</v>`,
});

/** A formula, with the value that its program has stored. */
export const formula = (value?: string, type = ''): TestCell => ({
  attributes: type,
  xml: `<f>A1+1</f>${value === undefined ? '<v/>' : `<v>${value}</v>`}`,
});

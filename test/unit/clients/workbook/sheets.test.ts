import { readSheet } from '../../../support/read-workbook';
import { zipArchive } from '../../../support/other-file-formats';
import { relationship, styled, workbookFile, workbookParts, type TestCell } from '../../../support/workbooks';
import { csvName, Workbook } from '../../../../src/clients/workbook/workbook';

const header = ['sku', 'name', 'price'];
const cup = ['A1', 'Cup', 12.5];

describe('the list of sheets', () => {
  it('has the sizes of sheets, says which are hidden, and leaves out charts', () => {
    const file = workbookFile({
      sheets: [
        { name: 'Products', rows: [header, null, cup] },
        { name: 'Old', rows: [['x']], state: 'veryHidden' },
        { name: 'Empty' },
      ],
      parts: {
        'xl/workbook.xml':
          '<workbook xmlns:r="r"><sheets><sheet name="Chart" r:id="c"/><sheet name="Products" r:id="rId1"/><sheet name="Old" state="veryHidden" r:id="rId2"/><sheet name="Empty" r:id="rId3"/></sheets></workbook>',
        'xl/chartsheets/sheet1.xml': '<chartsheet/>',
      },
      relationships: relationship('c', 'chartsheet', 'chartsheets/sheet1.xml'),
    });
    expect(new Workbook(file, 'feed.xlsx').overviews).toEqual([
      { name: 'Products', isHidden: false, rowCount: 2, columnCount: 3 },
      { name: 'Old', isHidden: true, rowCount: 1, columnCount: 1 },
      { name: 'Empty', isHidden: false, rowCount: 0, columnCount: 0 },
    ]);
  });

  it('is the same for the other notations that programs write', () => {
    const rows = [header, cup];
    const expected = readSheet({ sheets: [{ rows }] });
    expect(expected.records).toEqual([header, ['A1', 'Cup', '12.5']]);
    expect(readSheet({ sheets: [{ rows }], isTerse: true })).toEqual(expected);
    expect(readSheet({ sheets: [{ rows }], prefix: 'x:' })).toEqual(expected);
  });
});

describe('the parts of a workbook', () => {
  const rows = [header, cup];

  it('are in UTF-8 or UTF-16', () => {
    const xml =
      '<worksheet><sheetData><row><c t="inlineStr"><is><t>sku €</t></is></c></row><row><c><v>1</v></c></row></sheetData></worksheet>';
    const little = Buffer.from(`\ufeff${xml}`, 'utf16le');
    for (const part of [Buffer.from(xml), little, Buffer.from(little).swap16(), little.subarray(2)]) {
      const file = workbookFile({ sheets: [{}], parts: { 'xl/worksheets/sheet1.xml': part } });
      expect(readSheet(file).records).toEqual([['sku €'], ['1']]);
    }
  });

  it('may be named with other letters and backslashes, and strings and styles may be missing', () => {
    const names: Record<string, string> = {
      'xl/worksheets/sheet1.xml': String.raw`xl\Worksheets\Sheet1.xml`,
      'xl/workbook.xml': '/xl/workbook.xml',
    };
    const parts = Object.entries(workbookParts({ sheets: [{ rows }], isTerse: true }))
      .filter(([name]) => !['xl/styles.xml', 'xl/sharedStrings.xml'].includes(name))
      .map(([name, part]) => [names[name] ?? name, part]);
    const file = zipArchive(Object.fromEntries(parts) as Record<string, string>);
    expect(readSheet(file).records).toEqual([header, ['A1', 'Cup', '12.5']]);
  });
});

describe('the CSV file', () => {
  it('is named after workbook and sheet, without characters that file names cannot have', () => {
    expect(readSheet({ sheets: [{ name: 'Q1', rows: [header, cup] }] }).fileName).toBe('feed - Q1.csv');
    expect(csvName('Prices 2026.XLSX', 'a/b: "c"')).toBe('Prices 2026 - a_b_ _c_.csv');
  });

  it('leaves out empty rows, empty columns without a header, and titles, which a note names', () => {
    const rows: TestCell[][] = [
      ['Price list of May'],
      [],
      [null, null, 'sku', 'name', null, 'price'],
      [null, null, 'A1', 'Cup', null, 12.5],
      [null, null, ' '],
      [null, null, 'A2', 'Pot', null, 3],
    ];
    const { headerRow, rowCount, columns, records, notes, preview } = readSheet({ sheets: [{ rows }] });
    expect({ headerRow, rowCount, columns }).toEqual({ headerRow: 3, rowCount: 2, columns: header });
    expect(records).toEqual([header, ['A1', 'Cup', '12.5'], ['A2', 'Pot', '3']]);
    expect(notes).toEqual(['Row 1 above the header row is left out.']);
    expect(preview.slice(0, 2)).toEqual([
      { row: 1, cells: ['Price list of May'] },
      { row: 3, cells: ['', '', 'sku', 'name', '', 'price'] },
    ]);
  });

  it('is shown by its first 20 rows and 100 columns', () => {
    const wide = Array.from({ length: 120 }, (_, at) => `column ${at}`);
    const { preview, columns } = readSheet({ sheets: [{ rows: new Array<TestCell[]>(30).fill(wide) }] });
    expect(preview.map(({ cells }) => cells.length)).toEqual(new Array(20).fill(100));
    expect(columns).toHaveLength(120);
  });

  it('keeps columns that have values without a header', () => {
    const rows = [header, [...cup, null, 'note']];
    expect(readSheet({ sheets: [{ rows }] }).records).toEqual([
      [...header, ''],
      ['A1', 'Cup', '12.5', 'note'],
    ]);
  });
});

describe('the header row', () => {
  it('is the one with the most names of columns, in any language', () => {
    const rows = [
      ['Firma GmbH', 'Preise', 'ab Mai'],
      ['Stand', 45292],
      ['Artikelnummer', 'Bezeichnung', 'VK-Preis'],
      cup,
    ];
    const { headerRow, notes } = readSheet({ sheets: [{ rows }] });
    expect(headerRow).toBe(3);
    expect(notes).toEqual(['Rows 1 to 2 above the header row are left out.']);
  });

  it('is the first row as wide as the others where the names are unknown', () => {
    const rows = [['List'], ['foo', 'bar', 'baz'], ['a', 'b', 'c'], ['d', 'e', 'f']];
    expect(readSheet({ sheets: [{ rows }] }).headerRow).toBe(2);
  });

  it('is the lower one of two that are merged, with the names above', () => {
    const rows = [
      ['List of May'],
      ['sku', 'name', 'price', null, 'stock'],
      [null, null, 'EUR', 'USD'],
      ['A1', 'Cup', 1, 2, 3],
    ];
    const areas = ['A1:E1', 'A2:A3', 'B2:B3', 'C2:D2', 'E2:E3'].map((ref) => `<mergeCell ref="${ref}"/>`);
    const after = `<mergeCells>${areas.join('')}</mergeCells>`;
    expect(readSheet({ sheets: [{ rows, after }] })).toMatchObject({
      headerRow: 3,
      columns: ['sku', 'name', 'price EUR', 'price USD', 'stock'],
      rowCount: 1,
      mergedAreas: 0,
    });
  });

  it('is the named one, which must not be empty or the last row', () => {
    const file = workbookFile({ sheets: [{ name: 'P', rows: [header, null, ['no', 'Cup', 'price'], cup] }] });
    expect(readSheet(file, { headerRow: 3 }).columns).toEqual(['no', 'Cup', 'price']);
    expect(() => readSheet(file, { headerRow: 2 })).toThrow(
      'Row 2 of the sheet is empty. Choose another header row.',
    );
    expect(() => readSheet(file, { headerRow: 4 })).toThrow(
      'The sheet P has no rows below row 4. Choose another header row or sheet.',
    );
  });
});

describe('hidden rows and columns', () => {
  const workbook = {
    sheets: [
      {
        rows: [
          ['sku', 'cost', 'price'],
          ['A1', 1, 2],
          ['A2', 3, 4],
        ],
        before: '<cols><col min="2" max="2" hidden="1"/><col min="9" max="16384" hidden="1"/></cols>',
        rowAttributes: { 3: 'hidden="1"' },
      },
    ],
  };

  it('are taken, and named in notes', () => {
    const { records, hiddenRows, hiddenColumns, notes } = readSheet(workbook);
    expect(records).toEqual([
      ['sku', 'cost', 'price'],
      ['A1', '1', '2'],
      ['A2', '3', '4'],
    ]);
    expect({ hiddenRows, hiddenColumns }).toEqual({ hiddenRows: 1, hiddenColumns: ['B (cost)'] });
    expect(notes).toEqual(['1 hidden row is taken as well.', '1 hidden column is taken as well: B (cost).']);
  });

  it('are left out on request', () => {
    const { records, rowCount, notes } = readSheet(workbook, { withHidden: false });
    expect(records).toEqual([
      ['sku', 'price'],
      ['A1', '2'],
    ]);
    expect(rowCount).toBe(1);
    expect(notes).toEqual(['1 hidden row is left out.', '1 hidden column is left out: B (cost).']);
  });
});

describe('merged areas', () => {
  it('have their value in each row of their first column, but not in rows without a value', () => {
    const rows: TestCell[][] = [
      ['sku', 'brand', 'price', 'note'],
      ['A1', 'Acme', 1, 'wide'],
      ['A2', null, 2],
      [],
      ['A3', null, 3],
      ['A4', null, 4],
    ];
    const after = '<mergeCells><mergeCell ref="B2:B5"/><mergeCell ref="D2:E2"/></mergeCells>';
    const { records, mergedAreas, notes } = readSheet({ sheets: [{ rows, after }] });
    expect(records.slice(1)).toEqual([
      ['A1', 'Acme', '1', 'wide'],
      ['A2', 'Acme', '2', ''],
      ['A3', 'Acme', '3', ''],
      ['A4', '', '4', ''],
    ]);
    expect(mergedAreas).toBe(2);
    expect(notes).toEqual(['2 merged areas: the value is repeated in each row.']);
  });

  it('are no data where a header is merged with rows below it', () => {
    const rows: TestCell[][] = [header, [null, null, 'EUR'], cup];
    const after = '<mergeCells><mergeCell ref="A1:A2"/></mergeCells>';
    const { records, mergedAreas } = readSheet({ sheets: [{ rows, after }] }, { headerRow: 1 });
    expect(records[1]).toEqual(['', '', 'EUR']);
    expect(mergedAreas).toBe(0);
  });
});

describe('the added column for currencies', () => {
  const priced = (formats: string[], ...styles: number[]) =>
    readSheet({
      formats,
      sheets: [{ rows: [header, ...styles.map((style, at) => [`A${at}`, 'Cup', styled(style, 5)])] }],
    });

  it('has the currency that the format of each price names', () => {
    const { columns, records, currency, notes } = priced(
      [
        '#,##0.00 [$€-407]',
        '[$$-409]#,##0.00',
        '_-* #,##0 [$kr-41D]',
        '[$CHF] 0.00',
        '"£"0.00;[Red]-"£"0.00',
      ],
      1,
      2,
      3,
      4,
    );
    expect(columns).toEqual([...header, 'currency']);
    expect(records.slice(1).map((record) => record[3])).toEqual(['EUR', 'USD', 'SEK', 'CHF']);
    expect(currency).toEqual({ column: 'price', codes: ['CHF', 'EUR', 'SEK', 'USD'] });
    expect(notes).toEqual([
      'A column currency is added, with CHF, EUR, SEK, USD, as the cells of price show.',
    ]);
  });

  it('is left out on request', () => {
    const rows = [header, ['A1', 'Cup', styled(1, 5)]];
    const { columns, currency } = readSheet(
      { formats: ['0 "€"'], sheets: [{ rows }] },
      { withCurrency: false },
    );
    expect(columns).toEqual(header);
    expect(currency).toEqual({ column: 'price', codes: ['EUR'] });
  });

  it('is not added where a sign names several currencies or some prices name none, which a note says', () => {
    expect(priced(['$#,##0.00', '0 "€"'], 2, 1)).toMatchObject({
      columns: header,
      currency: null,
      notes: [
        'Prices of price show $, which stands for several currencies. Add a column currency, or set the currency of the partner.',
      ],
    });
    expect(priced(['0 "€"'], 1, 0)).toMatchObject({
      columns: header,
      notes: [
        'Some prices of price show EUR, others no currency. Add a column currency, or set the currency of the partner.',
      ],
    });
    expect(priced(['0.00'], 0, 1)).toMatchObject({ columns: header, currency: null, notes: [] });
  });

  it('is not added where columns of prices differ in it, which a note says', () => {
    const formats = ['#,##0.00 [$€-407]', '[$£-809]#,##0.00'];
    const withPrices = (names: string[], ...cells: TestCell[]) =>
      readSheet({
        formats,
        sheets: [
          {
            rows: [
              ['sku', ...names],
              ['A1', ...cells],
            ],
          },
        ],
      });
    const notes = [
      'Columns of prices differ in their currency: EUR, GBP. Add a column currency, or set the currency of the partner.',
    ];
    expect(withPrices(['price', 'sale price'], styled(1, 5), styled(2, 4))).toMatchObject({
      currency: null,
      notes,
    });
    expect(withPrices(['price', 'price GBP'], styled(1, 5), 4)).toMatchObject({ currency: null, notes });
    expect(withPrices(['price_gbp'], styled(1, 5))).toMatchObject({ currency: null, notes });
    expect(withPrices(['price_eur', 'sale price'], styled(1, 5), styled(1, 4)).columns.at(-1)).toBe(
      'currency',
    );
  });

  it('is not added beside a column of currencies', () => {
    const rows = [
      ['sku', 'price', 'Währung'],
      ['A1', styled(1, 5), 'EUR'],
    ];
    expect(readSheet({ formats: ['0 "€"'], sheets: [{ rows }] })).toMatchObject({
      currency: null,
      notes: [],
    });
  });
});

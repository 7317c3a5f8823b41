import fc from 'fast-check';
import { casesFor } from '../../../support/fuzz';
import { readCells, readSheet } from '../../../support/read-workbook';
import { formula, styled, workbookFile, workbookParts, type TestCell } from '../../../support/workbooks';

const withFormat = (format: string, ...values: (number | string)[]) =>
  readCells(
    values.map((value) => styled(1, value)),
    { formats: [format] },
  );
const skus = (format: string, ...values: (number | string)[]) =>
  values.map(
    (value) =>
      readSheet({
        formats: [format],
        sheets: [
          {
            rows: [
              ['sku', 'name', 'price'],
              [styled(1, value), 'Cup', 1],
            ],
          },
        ],
      }).records[1]![0],
  );

describe('numbers', () => {
  it('are written with 15 significant digits, a point and no exponent', () => {
    const raw = [
      '1.23E+12',
      '1e-7',
      '0.30000000000000004',
      '-1299.5',
      '12345678901234567',
      '1E+20',
      '-0',
      '007',
    ];
    expect(readCells(raw.map((value) => styled(0, value)))).toEqual([
      '1230000000000',
      '0.0000001',
      '0.3',
      '-1299.5',
      '12345678901234600',
      '100000000000000000000',
      '0',
      '7',
    ]);
  });

  it('are read back as the same number to 15 digits, whatever their size', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        const [text] = readCells([styled(0, String(number)), 'x']);
        expect(text).toMatch(/^-?(?:0|[1-9]\d*)(?:\.\d*[1-9])?$/);
        expect(Number(text)).toBe(Number(number.toPrecision(15)) || 0);
      }),
      casesFor('numbers of workbooks', 100),
    );
  });

  it('are numbers under formats of percentages, currencies, thousands, fractions and exponents', () => {
    expect(withFormat('0%', 0.15)).toEqual(['0.15']);
    expect(withFormat('#,##0.00 [$€-407]', 12.5, 1299)).toEqual(['12.5', '1299']);
    expect(withFormat('_-* #,##0.00\\ "kr"_-', 12.5)).toEqual(['12.5']);
    expect(withFormat('# ##0.00', 1234.5)).toEqual(['1234.5']);
    expect(withFormat('0.00E+00', 1234567)).toEqual(['1234567']);
    expect(withFormat('# ?/?', 0.5)).toEqual(['0.5']);
    expect(withFormat('0 "Stk"', 12)).toEqual(['12']);
    expect(withFormat('this is [no format', 12)).toEqual(['12']);
  });

  it('are texts as displayed where the format shows leading zeros or characters between digits', () => {
    expect(withFormat('00000', 1234, 123456)).toEqual(['01234', '123456']);
    expect(withFormat('000-0000', 1234567)).toEqual(['123-4567']);
    expect(withFormat('"ART-"0000', 12)).toEqual(['ART-0012']);
    expect(withFormat('[<=9999999]###\\-####;\\(###\\)\\ ###\\-####', 5551234, 2125551234)).toEqual([
      '555-1234',
      '(212) 555-1234',
    ]);
  });

  it('keep all digits where the format rounds or hides them', () => {
    expect(withFormat('00000', 12.5)).toEqual(['12.5']);
    expect(skus('0', 12.75)).toEqual(['12.75']);
    expect(skus(';;;', 12)).toEqual(['12']);
  });
});

describe('skus', () => {
  it('are as displayed, but never with an exponent, rounded or grouped', () => {
    expect(skus('General', 1234567890123, 12345678901234567890n.toString(), '1.5E+3', 'AB1')).toEqual([
      '1234567890123',
      '12345678901234567890',
      '1500',
      'AB1',
    ]);
    expect(skus('0.00', 100)).toEqual(['100.00']);
    expect(skus('0.00E+00', 1234567)).toEqual(['1234567']);
    expect(skus('#,##0', 1234567)).toEqual(['1234567']);
    expect(skus('[$-407]#,##0', 1234567)).toEqual(['1234567']);
    expect(skus('#\\ ##0', 4006381333931)).toEqual(['4006381333931']);
    expect(skus('"A"0', 12)).toEqual(['A12']);
    expect(skus('000000', 1234)).toEqual(['001234']);
  });
});

describe('skus that are dates', () => {
  it('are named in a note, as Excel makes dates of texts', () => {
    const rows = [
      ['sku', 'price'],
      [styled(1, 45292), 1],
      ['A2', 2],
    ];
    const { records, notes } = readSheet({ formats: ['d-mmm'], sheets: [{ rows }] });
    expect(records[1]).toEqual(['2024-01-01', '1']);
    expect(notes).toEqual([
      '1 sku is a date in the workbook, in A2. If Excel made a date of it, enter it as text.',
    ]);
  });
});

describe('dates', () => {
  it('are ISO 8601 dates, with a time of day if they have one', () => {
    expect(withFormat('dd.mm.yyyy', 45292, 45292.5625, 1, 59, 60, 61)).toEqual([
      '2024-01-01',
      '2024-01-01T13:30:00',
      '1900-01-01',
      '1900-02-28',
      '1900-02-29',
      '1900-03-01',
    ]);
    expect(withFormat('[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy', 45292)).toEqual(['2024-01-01']);
    expect(withFormat('yyyy\\-mm\\-dd\\ hh:mm', 45292)).toEqual(['2024-01-01']);
    expect(withFormat('[ENG][$-409]d\\-mmm\\-yy;@', 45292)).toEqual(['2024-01-01']);
    expect(withFormat('[~buddhist]d/m/yyyy', 45292)).toEqual(['2024-01-01']);
  });

  it('are times under formats of times', () => {
    expect(withFormat('h:mm', 0.5, 0.999999)).toEqual(['12:00:00', '23:59:59']);
    expect(withFormat('[h]:mm', 1.25)).toEqual(['30:00:00']);
  });

  it('count from 1904 in workbooks that say so', () => {
    expect(readCells([styled(1, 0), styled(1, 43830)], { formats: ['yyyy-mm-dd'], is1904: true })).toEqual([
      '1904-01-01',
      '2024-01-01',
    ]);
  });

  it('count from 1904 although an extension of the workbook has settings of its own', () => {
    const xml =
      '<workbook xmlns:r="r"><workbookPr date1904="1"/><sheets><sheet name="A" r:id="rId1"/></sheets>' +
      '<extLst><ext><x:workbookPr xmlns:x="x"/></ext></extLst></workbook>';
    const parts = { 'xl/workbook.xml': xml };
    expect(readCells([styled(1, 43830), 'x'], { formats: ['yyyy-mm-dd'], parts })[0]).toBe('2024-01-01');
  });

  it('are numbers where there is no such day', () => {
    expect(withFormat('yyyy-mm-dd', -1, 0, 2958466)).toEqual(['-1', '0', '2958466']);
    expect(withFormat('yyyy-mm-dd', '2958465.9999999')).toEqual(['2958465.9999999']);
  });

  it('are read where the file has them in ISO 8601', () => {
    const cell = (value: string): TestCell => ({ attributes: 't="d"', xml: `<v>${value}</v>` });
    expect(
      readCells([cell('2024-01-05T00:00:00'), cell('2024-01-05T13:45:30.000'), cell('2024-01-05')]),
    ).toEqual(['2024-01-05', '2024-01-05T13:45:30', '2024-01-05']);
  });

  it('are the days of the calendar', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 61, max: 2_958_465 }),
        fc.integer({ min: 0, max: 86_399 }),
        (day, second) => {
          const [text] = withFormat('yyyy-mm-dd hh:mm:ss', String(day + second / 86_400));
          const time = (day - 25_569) * 86_400_000 + second * 1000;
          const iso = new Date(time).toISOString();
          expect(text).toBe(second === 0 ? iso.slice(0, 10) : iso.slice(0, 19));
        },
      ),
      casesFor('dates of workbooks', 100),
    );
  });
});

describe('texts', () => {
  it('are read from shared, inline and formula strings, of several runs, without the readings of characters', () => {
    const sharedItems = [
      '<r><t>Tea </t></r><r><rPr><b/></rPr><t xml:space="preserve">cup </t></r>',
      '<t>茶</t><rPh sb="0" eb="1"><t>チャ</t></rPh><phoneticPr fontId="1"/>',
    ];
    const cells: TestCell[] = [
      { attributes: 't="s"', xml: '<v>0</v>' },
      { attributes: 't="s"', xml: '<v>1</v>' },
      { attributes: 't="inlineStr"', xml: '<is><r><t>a</t></r><r><t>b</t></r></is>' },
      formula('&lt;x&gt; &amp; y', 't="str"'),
      true,
      false,
    ];
    expect(readCells(cells, { sharedItems })).toEqual(['Tea cup ', '茶', 'ab', '<x> & y', 'TRUE', 'FALSE']);
  });

  it('keep spaces, quotes and line breaks, and have escaped characters', () => {
    expect(readCells([' a ', 'say "hi", ok', 'one\ntwo', 'x_x000D_\ny', '_x005F_x000D_'])).toEqual([
      ' a ',
      'say "hi", ok',
      'one\ntwo',
      'x\r\ny',
      '_x000D_',
    ]);
  });

  it('are the same in the CSV file, of any characters that XML has', () => {
    const character = fc.constantFrom(...'aZ09 ,;"\'\n\t<>&_xé€漢😀');
    const text = fc.string({ unit: character, maxLength: 20 }).filter((each) => each.trim() !== '');
    fc.assert(
      fc.property(fc.array(text, { minLength: 2, maxLength: 6 }), fc.boolean(), (texts, isTerse) => {
        const cells = texts.map((each) => each.replace(/_x(?=[0-9a-f]{4}_)/gi, '_x005F_x'));
        expect(readCells(cells, { isTerse })).toEqual(texts);
      }),
      casesFor('texts of workbooks', 100),
    );
  });
});

describe('formulas and errors', () => {
  it('have their stored values, and are empty without one, with a note that says what to do', () => {
    const rows = [
      ['sku', 'name', 'price'],
      ['A1', 'Cup', formula('12.5')],
      ['A2', formula('', 't="str"'), formula()],
      ['A3', 'Pot', formula()],
    ];
    const { records, notes } = readSheet({ sheets: [{ rows }] });
    expect(records.slice(1)).toEqual([
      ['A1', 'Cup', '12.5'],
      ['A2', '', ''],
      ['A3', 'Pot', ''],
    ]);
    expect(notes).toEqual([
      '2 formulas without a stored value, the first one in C3: the cells are left empty. Open the workbook in Excel, save it, and use it again.',
    ]);
  });

  it('are empty where their 0 is not calculated, as the workbook says', () => {
    const rows = [
      ['sku', 'price'],
      ['A1', formula('0')],
      ['A2', formula('5')],
      ['A3', 0],
    ];
    const xml = workbookParts({ sheets: [{ rows }] })['xl/workbook.xml'] as string;
    const calculated = '<calcPr calcId="124519" fullCalcOnLoad="1"/></workbook>';
    const parts = { 'xl/workbook.xml': xml.replace('</workbook>', calculated) };
    const { records, notes } = readSheet({ sheets: [{ rows }], parts });
    expect(records.slice(1)).toEqual([
      ['A1', ''],
      ['A2', '5'],
      ['A3', '0'],
    ]);
    expect(notes).toEqual([expect.stringContaining('1 formula without a stored value, the first one in B2')]);
  });

  it('are texts where they are errors, with a note of the first one', () => {
    const error: TestCell = { attributes: 't="e"', xml: '<f>VLOOKUP()</f><v>#N/A</v>' };
    const { records, notes } = readSheet({
      sheets: [
        {
          rows: [
            ['sku', 'price'],
            ['A1', error],
          ],
        },
      ],
    });
    expect(records[1]).toEqual(['A1', '#N/A']);
    expect(notes).toEqual([
      '1 cell with an error such as #N/A, the first one in B2: the error is taken as text.',
    ]);
  });

  it('have the values of other workbooks that are stored, with a note', () => {
    const file = workbookFile({
      sheets: [
        {
          rows: [
            ['sku', 'price'],
            ['A1', formula('3')],
          ],
        },
      ],
      relationships:
        '<Relationship Id="x" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/externalLink" Target="externalLinks/externalLink1.xml"/>',
    });
    const { records, notes } = readSheet(file);
    expect(records[1]).toEqual(['A1', '3']);
    expect(notes).toEqual([
      'The workbook refers to other workbooks: the values that it has stored are read.',
    ]);
  });
});

import fc from 'fast-check';
import type { FormatDefinition } from '../../../src/feed-format/format-definition';
import { withoutTextMarks, withTextMarks } from '../../../src/feed-format/text-marks';
import { casesFor } from '../../support/fuzz';
import { readFormatted } from '../../support/read-by-format';

describe('text marks', () => {
  it.each([
    ['="00123"', '00123', '00123'],
    [' ="a ""b"" c" ', 'a "b" c', 'a "b" c'],
    ['=""', '', ''],
    ['="', '="', '="'],
    ['="a"b"', '="a"b"', '="a"b"'],
    ['="a"&"b"', '="a"&"b"', '="a"&"b"'],
    ["'=1+1", '=1+1', '=1+1'],
    ["'+49", '+49', '+49'],
    [" '-5", '-5', '-5'],
    ["'@home", '@home', '@home'],
    ["''=x", "'=x", "'=x"],
    ["'00123", '00123', "'00123"],
    ["'s-Hertogenbosch", "'s-Hertogenbosch", "'s-Hertogenbosch"],
    ["'", "'", "'"],
    ['00123', '00123', '00123'],
    ['', '', ''],
  ])('of %j are removed: %j in the sku, %j elsewhere', (cell, sku, other) => {
    expect([withoutTextMarks(cell, true), withoutTextMarks(cell, false)]).toEqual([sku, other]);
  });

  it('are put back so that each text is read as it was', () => {
    const text = fc.string({
      unit: fc.constantFrom("'", '=', '+', '-', '@', '"', '0', '7', 'a', ' ', '\n'),
      maxLength: 8,
    });
    fc.assert(
      fc.property(text, fc.boolean(), (any, isSku) => {
        expect(withoutTextMarks(withTextMarks(any.trim(), isSku), isSku)).toBe(any.trim());
      }),
      casesFor('text marks', 2_000),
    );
  });

  it('keep a written text from being a formula, and a sku from being a number', () => {
    expect(['=1', '+1', '-', '@', "'=", '7'].map((text) => withTextMarks(text, false))).toEqual([
      "'=1",
      "'+1",
      "'-",
      "'@",
      "''=",
      '7',
    ]);
    expect(['007', "'7", 'A7'].map((text) => withTextMarks(text, true))).toEqual(["'007", "''7", 'A7']);
  });

  const format: FormatDefinition = {
    text_marks: 'strip',
    decimal_separator: ',',
    columns: {
      sku: { from: ['Nr'] },
      product_name: { join: ['Name', 'Farbe'], with: ' ' },
      price: { from: ['Preis'] },
      availability: { from: ['Bestand'] },
    },
    availability: { '+': 'in_stock' },
  };

  it('are no part of any column, and cause no warning about the sku', async () => {
    const rows = await readFormatted(
      `Nr,Name,Farbe,Preis,Bestand\n="00123","=""Mug""",'-blue,"=""1.299,50""",'+\n'007,'007,,,\n`,
      format,
    );
    expect(rows.map(({ values, codes }) => [values, codes])).toEqual([
      [{ sku: '00123', product_name: 'Mug -blue', price: '1299.50', availability: 'in_stock' }, []],
      [{ sku: '007', product_name: "'007" }, []],
    ]);
  });

  it('are part of the cells without this member', async () => {
    const rows = await readFormatted(`Nr,Name,Farbe\n="1",'=x,\n`, { columns: format.columns });
    expect(rows.map(({ values, codes }) => [values, codes])).toEqual([
      [{ sku: '="1"', product_name: "'=x" }, ['suspicious_sku']],
    ]);
  });

  it('are ignored when the message of a price names its fault', async () => {
    const [row] = await readFormatted('Nr,Name,Farbe,Preis\nA,a,,="12.50"\n', format);
    expect(row!.messages).toEqual([expect.stringContaining('has a decimal point')]);
  });
});

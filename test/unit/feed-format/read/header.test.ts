import { readStrictHeader, strictHeader } from '../../../support/read-strictly';

const read = (text: string) => readStrictHeader(text);

describe('readHeader', () => {
  it('finds product columns in any order, trimmed and case-insensitive, and ignores others', () => {
    const { reading: _, ...header } = strictHeader(
      'Colour, PRODUCT_NAME ,"SKU",,Colour,price\n1,2,3,4,5,6\n',
    );

    expect(header).toEqual({
      delimiter: ',',
      names: ['Colour', 'PRODUCT_NAME', 'SKU', '', 'Colour', 'price'],
      fieldCount: 6,
      positions: { product_name: 1, sku: 2, price: 5 },
      endsWithDelimiter: false,
    });
  });

  it.each([
    [',', 'sku,product_name\n'],
    [';', 'sku;product_name;"a,b"\n'],
    ['\t', 'sku\tproduct_name\n'],
    [',', 'sku,product_name,a;b;c\n'],
  ])('detects the delimiter %j from the header row', (delimiter, text) => {
    expect(read(text)).toMatchObject({ delimiter });
  });

  it.each([
    ['no line break', 'sku,product_name'],
    ['CRLF', 'sku,product_name\r\na,b\r\n'],
    ['a byte order mark', '\uFEFFsku,product_name\n'],
    ['a byte order mark before a quote', '\uFEFF"sku",product_name\n'],
    ['blank lines before it', '\n\r\n  \n,,\n\u0085\nsku,product_name\n'],
    ['Unicode white space around names', '\u00a0sku\u2003,\u3000product_name\u0085\n'],
    ['a broken quote in a later row', 'sku,product_name\n"a,b\n'],
    ['line breaks inside a quoted name', 'sku,product_name,"a\nb"\n1,2,3\n'],
  ])('reads a header with %s', (_, text) => {
    expect(read(text)).toMatchObject({ delimiter: ',', positions: { sku: 0, product_name: 1 } });
  });

  it.each([
    ['sku is missing', 'product_name,price\n'],
    ['product_name is missing', 'sku,name\n'],
    ['both are missing', 'a,b\n'],
    ['the file is a single line of another kind', '{"sku": "product_name"}'],
    ['a quote is never closed', '"sku,product_name\na,b\n'],
    ['text follows a closing quote', '"sku"x,product_name\n'],
    ['a required column is missing and another comes twice', 'sku,sku\n'],
  ])('reports the same error for a header in which %s', (_, text) => {
    expect(read(text)).toEqual({
      problem: 'Invalid CSV file: Missing required CSV headers: product_name, sku',
      code: 'missing_columns',
    });
  });

  it('rejects a repeated product column and names the first', () => {
    expect(read('sku,product_name,Price,SKU,price\n')).toEqual({
      problem: 'Invalid CSV file: Duplicate header: sku',
      code: 'duplicate_column',
    });
  });

  it.each([
    ['has no end', (size: number) => 'x,'.repeat(size / 2)],
    ['has a quote that is not closed', (size: number) => `"${'x'.repeat(size)}`],
  ])('rejects a header row that %s within the limit', (_, make) => {
    expect(read(make(300 * 1024))).toEqual({
      problem: 'Invalid CSV file: The header row is longer than 262144 bytes.',
      code: 'header_too_long',
    });
  });

  it('accepts a header row of the maximum size and rejects one byte more', () => {
    const header = (bytes: number) => `sku,product_name,${'x'.repeat(bytes - 18)}\n`;

    expect(read(`${header(262_144)}a,b\n`)).toMatchObject({ fieldCount: 3 });
    expect(read(`${header(262_145)}a,b\n`)).toHaveProperty('problem');
  });
});

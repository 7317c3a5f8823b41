import { strictHeader } from '../../../support/read-strictly';
import { recordOf } from '../../../support/reference-extractor';
import { parsePrice } from '../../../../src/feed-format/parse-price';
import { transformRecord, type RowOutcome } from '../../../../src/feed-format/rows/transform';

const fullHeader = 'sku,product_name,description,brand,category,price,currency,availability';

const place = { line: 2, lastLine: 2, row: 1 };

/** The outcome of one row; `cells` by column, the others empty. */
function transform(cells: Record<string, string>, columns = fullHeader): RowOutcome {
  const header = strictHeader(`${columns}\n`);
  const row = { sku: 'S1', product_name: 'Tent', ...cells } as Record<string, string>;
  const fields = columns.split(',').map((column) => row[column] ?? '');
  return transformRecord(recordOf(fields, place), header);
}

const codes = (outcome: RowOutcome) => outcome.issues?.map((issue) => [issue.code, issue.field]);

describe('a valid row', () => {
  it('trims Unicode white space and stores an empty value as null', () => {
    const { values } = transform({
      sku: ' \u00a00042\u3000',
      product_name: '\tTent\u0085',
      description: ' two  words ',
      brand: ' \u2003 ',
    });

    expect(values).toMatchObject({
      sku: '0042',
      product_name: 'Tent',
      description: 'two  words',
      brand: null,
      category: null,
      price: null,
    });
  });

  it.each([
    ['In Stock', 'in_stock'],
    ['in-stock', 'in_stock'],
    ['INSTOCK', 'in_stock'],
    ['OutOfStock', 'out_of_stock'],
    ['out of stock', 'out_of_stock'],
    ['pre-order', 'preorder'],
    ['Pre Order', 'preorder'],
    ['back_order', 'backorder'],
    ['backorder', 'backorder'],
    ['Only A Few Left', 'only_a_few_left'],
    ['constructor', 'constructor'],
  ])('normalizes the availability %j to %j', (given, stored) => {
    expect(transform({ availability: given }).values?.availability).toBe(stored);
  });

  it('converts its currency to upper case', () => {
    expect(transform({ currency: ' eur ' }).values?.currency).toBe('EUR');
  });

  it.each([
    ['from the price where the cell is empty', { price: 'usd 5' }, fullHeader, 'USD'],
    ['from the price where the feed has no such column', { price: '5 USD' }, 'sku,product_name,price', 'USD'],
    ['from the cell that agrees with the price', { price: '5 usd', currency: 'USD' }, fullHeader, 'USD'],
    [
      'from the cell where the price has a sign, which is only dropped',
      { price: '$5', currency: 'CAD' },
      fullHeader,
      'CAD',
    ],
    ['not from a sign', { price: '€5' }, fullHeader, null],
  ])('takes its currency %s', (_, cells, columns, currency) => {
    expect(transform(cells, columns).values?.currency).toBe(currency);
  });

  it('may have fewer fields than the header', () => {
    const header = strictHeader(`${fullHeader}\n`);

    const { values } = transformRecord(recordOf(['S1', 'Tent'], place), header);

    expect(values).toMatchObject({ sku: 'S1', product_name: 'Tent', price: null, availability: null });
  });

  it.each([
    ['sku', 255, []],
    ['brand', 255, []],
    ['product_name', 1_000, []],
    ['category', 1_000, []],
    ['availability', 100, ['unknown_availability']],
    ['description', 65_535, []],
  ])('may have a %s of %i characters, counted as code points', (column, max, warnings) => {
    const longest = transform({ [column]: '𝔸'.repeat(max) });
    const tooLong = transform({ [column]: '𝔸'.repeat(max) + 'b' });

    expect(longest.values).toMatchObject({ [column]: '𝔸'.repeat(max) });
    expect(codes(longest) ?? []).toEqual(warnings.map((code) => [code, column]));
    expect(tooLong.values).toBeUndefined();
    expect(codes(tooLong)).toEqual(['value_too_long', ...warnings].map((code) => [code, column]));
  });
});

describe('a valid row with a warning', () => {
  it.each([
    ["a spreadsheet's text formula", ['="0000279"', '="A-1"', '=""']],
    ["a spreadsheet's mark of text", ["'0042"]],
    [
      'a number',
      ['1.23457E+12', '1,23457E+12', '1E+12', '1.2E+06', '9.99e+15', '123.4E+9', '1.00E-05', '1E+100'],
    ],
    ['(U+200B)', ['0042\u200b', 'A\u200bB']],
    ['(U+200E)', ['\u200e0042']],
    ['(U+00AD)', ['soft\u00adhyphen']],
    ['(U+FEFF)', ['A\ufeffB']],
    ['(U+202E)', ['A\u202eB']],
    ['(U+001D)', ['A\u001dB']],
    ['(U+000A)', ['A\nB']],
    ['(U+E0061)', ['A\u{e0061}']],
  ])('has a sku that another export would write differently: %s', (what, skus) => {
    for (const sku of skus) {
      const { values, issues } = transform({ sku });
      expect(values).toMatchObject({ sku });
      expect(issues).toMatchObject([
        {
          ...place,
          sku,
          field: 'sku',
          columnNumber: 1,
          code: 'suspicious_sku',
          severity: 'warning',
          value: sku,
        },
      ]);
      expect(issues![0]!.message).toContain(what);
    }
  });

  it.each([
    ...[
      '12E5',
      '1E5',
      '5E-10',
      '1E-05',
      'E+12',
      'A1.2E+06',
      '1.2E+06B',
      '1.2.3E+06',
      '1+1',
      '=A1',
      '"A"',
      "'A-1",
    ],
    ...['\ufeff0042', 'ART 42', 'ART\u00a042', 'Größe-42', 'กข', '😀', 'é'],
  ])('does not include the usual sku %j', (sku) => {
    expect(transform({ sku }).issues).toBeUndefined();
  });

  it('is skipped without that warning for a NUL', () => {
    expect(codes(transform({ sku: 'A\0' }))).toEqual([['invalid_character', 'sku']]);
  });

  it.each([
    'in_stock',
    'Available',
    'limited stock',
    'LOW-STOCK',
    'preorder',
    'backorder',
    'out_of_stock',
    'unavailable',
    'sold out',
    'discontinued',
    'InStock',
    'OutOfStock',
    'pre-order',
    'back order',
  ])('does not include the known availability %s', (availability) => {
    expect(transform({ availability }).issues).toBeUndefined();
  });

  it.each(['ask us', '5', 'in_stock!', 'in  stock', '__proto__', 'constructor', 'vorrätig'])(
    'has an availability such as %j, which is kept',
    (availability) => {
      const { values, issues } = transform({ availability });

      expect(values).toBeDefined();
      expect(issues).toEqual([
        {
          ...place,
          sku: 'S1',
          field: 'availability',
          columnNumber: 8,
          code: 'unknown_availability',
          severity: 'warning',
          message:
            'Unknown availability: the product cannot be ordered. Use a word such as in_stock or out_of_stock, or map this one in a format.',
          value: availability,
        },
      ]);
    },
  );

  it.each(['0', '0.00', '000', '$0', '0.0000 EUR', 'usd 0'])('has the price %j', (price) => {
    const { values, issues } = transform({ price });

    expect(Number(values!.price)).toBe(0);
    expect(issues).toEqual([
      {
        ...place,
        sku: 'S1',
        field: 'price',
        columnNumber: 6,
        code: 'zero_price',
        severity: 'warning',
        message: 'price is 0. Leave the cell empty if there is no price.',
        value: price,
      },
    ]);
  });

  it.each(['0.0001', '10', '100.00'])('does not include the price %s', (price) => {
    expect(transform({ price }).issues).toBeUndefined();
  });

  it('has all its warnings, also when it is skipped for an error', () => {
    const cells = { price: '0', availability: 'ask us' };

    expect(codes(transform(cells))).toEqual([
      ['zero_price', 'price'],
      ['unknown_availability', 'availability'],
    ]);
    expect(codes(transform({ ...cells, sku: '' }))).toEqual([
      ['missing_required', 'sku'],
      ['zero_price', 'price'],
      ['unknown_availability', 'availability'],
    ]);
    expect(transform({ ...cells, sku: '' }).values).toBeUndefined();
  });
});

describe('a skipped row', () => {
  it.each([
    ['sku', { sku: ' \u00a0' }, [['missing_required', 'sku']]],
    ['product_name', { product_name: '' }, [['missing_required', 'product_name']]],
    ['price', { price: 'NA' }, [['invalid_price', 'price']]],
    ['currency', { currency: 'EURO' }, [['invalid_currency', 'currency']]],
    ['a currency that was withdrawn', { currency: 'DEM' }, [['invalid_currency', 'currency']]],
    ['a currency withdrawn lately', { currency: 'BGN' }, [['invalid_currency', 'currency']]],
    [
      'a currency with a letter whose upper case alone is ASCII',
      { currency: 'uſd' },
      [['invalid_currency', 'currency']],
    ],
    ['price with such a code', { price: '5 uſd' }, [['invalid_price', 'price']]],
    ['price and currency', { price: 'USD 5', currency: 'EUR' }, [['currency_conflict', 'price']]],
    ['NUL', { description: 'a\0b' }, [['invalid_character', 'description']]],
    ['NUL in a price', { price: '5\0' }, [['invalid_character', 'price']]],
    ['NUL in a currency', { currency: 'EU\0' }, [['invalid_character', 'currency']]],
    [
      'everything',
      { sku: '', product_name: '', price: '1e3', currency: 'XX', brand: 'b'.repeat(256) },
      [
        ['missing_required', 'sku'],
        ['missing_required', 'product_name'],
        ['value_too_long', 'brand'],
        ['invalid_currency', 'currency'],
        ['invalid_price', 'price'],
      ],
    ],
  ])('reports every issue with its column: %s', (_, cells, expected) => {
    expect(codes(transform(cells))).toEqual(expected);
  });

  it('reports the raw cell, trimmed, with its column number', () => {
    const columns = 'price,x,currency,sku,product_name';
    const { issues } = transform({ price: ' 1e3 ', currency: '\u00a0euro\t', sku: ' a ' }, columns);

    expect(issues).toMatchObject([
      { code: 'invalid_currency', severity: 'error', columnNumber: 3, sku: 'a', value: 'euro' },
      { code: 'invalid_price', severity: 'error', columnNumber: 1, sku: 'a', value: '1e3' },
    ]);
  });

  it.each([
    ['has a decimal comma', ['4,20', '1.299,00', "1'299,5 EUR", '1 299,00', '0,500', '1280,000', '1,280000']],
    [
      'is negative',
      ['-5.00', '- 5', '-$5', '$-5', 'EUR -1,299.00', '\u22125', '5.00-', '(5.00)', '-1.299,00'],
    ],
    [
      'has no digits',
      ['#N/A', '-', 'NA', 'POA', 'auf Anfrage', '#REF!', '$', 'USD', '\u2014', '-'.repeat(999)],
    ],
    ['has more than four decimals', ['1.23456', '$1,280.123451', '0.00001']],
    [
      'names a currency',
      ['ABC 5', 'DEM 5', '5 kr', 'US 5', 'USDX 5', '\u20b95.00', 'Rs. 1,280', '$$5', 'US$5', '5 pcs'],
    ],
    ['is larger than', ['1000000000000', '1,000,000,000,000.00', '$1000000000000']],
    [
      'is not a number in the accepted form',
      [
        '12.',
        '.5',
        '1e3',
        '+1',
        '12,34,567',
        '19.99.99',
        '$5 USD',
        '$  5',
        '5-10',
        '5,-',
        '0x10',
        '5'.repeat(999),
      ],
    ],
  ])('reports that a price %s', (wrong, prices) => {
    const messagesOf = (price: string) => transform({ price }).issues?.map(({ message }) => message);
    for (const price of prices)
      expect([price, messagesOf(price)]).toEqual([price, [expect.stringContaining(`price ${wrong}`)]]);
  });

  it('reports column_number for a missing cell', () => {
    const header = strictHeader('product_name,x,sku\n');

    const { issues } = transformRecord(recordOf(['Tent'], { ...place, lastLine: 4 }), header);

    expect(issues).toEqual([
      {
        line: 2,
        lastLine: 4,
        row: 1,
        sku: null,
        field: 'sku',
        columnNumber: 3,
        code: 'missing_required',
        severity: 'error',
        message: 'sku is required and must not be empty.',
        value: null,
      },
    ]);
  });

  it('reports the raw value, shortened and without NUL', () => {
    const [tooLong] = transform({ product_name: '𝔸'.repeat(1_001) }).issues!;
    const [nul] = transform({ sku: 'a\0b' }).issues!;

    expect([...tooLong!.value!]).toHaveLength(201);
    expect(tooLong!.value!.endsWith('𝔸…')).toBe(true);
    expect(nul).toMatchObject({ line: 2, sku: 'a\u2400b', value: 'a\u2400b' });
  });

  it.each([
    ['too_many_fields', 3, ['S1', 'Tent', ''], false],
    ['invalid_quoting', null, ['S1', '"a"b'], true],
    ['invalid_quoting', null, ['S1', '"a"b', 'c'], true],
  ])(
    'with %s is not checked any further: its values may be in the wrong columns',
    (code, columnNumber, fields, misquoted) => {
      const header = strictHeader('sku,product_name\n');

      const { issues } = transformRecord(
        recordOf(fields, { line: 7, lastLine: 7, row: 1 }, misquoted),
        header,
      );

      expect(issues).toEqual([
        {
          line: 7,
          lastLine: 7,
          row: 1,
          sku: null,
          field: null,
          columnNumber,
          code,
          severity: 'error',
          message: expect.stringMatching(/\.$/),
          value: fields.join(' | '),
        },
      ]);
    },
  );
});

describe('parsePrice', () => {
  it.each([
    ['19.99', '19.99'],
    ['0', '0'],
    ['007.50', '007.50'],
    ['1,280', '1280'],
    ['$8,395.00', '8395.00'],
    ['$ 8', '8'],
    ['5 €', '5'],
    ['5€', '5'],
    ['£1.2345', '1.2345'],
    ['¥100', '100'],
    ['999,999,999,999.9999', '999999999999.9999'],
    ['999999999999.9999', '999999999999.9999'],
    ['000000000000001', '1'],
    ['1,000,000', '1000000'],
    ['1,000', '1000'],
    ['0.0000', '0.0000'],
    ['19.990000', '19.9900'],
    ['$1,280.123400', '1280.1234'],
  ])('parses %j as %s', (text, amount) => {
    expect(parsePrice(text)).toEqual({ amount, currency: undefined });
  });

  it('shortens the maximum number of zeros of a cell, more than PostgreSQL reads', () => {
    expect(parsePrice(`0.${'0'.repeat(50_000)}`)).toEqual({ amount: '0.0000', currency: undefined });
  });

  it.each([
    ['USD 5', '5', 'USD'],
    ['usd5', '5', 'USD'],
    ['5.00 eur', '5.00', 'EUR'],
    ['1,000EUR', '1000', 'EUR'],
    ['5.000000 EUR', '5.0000', 'EUR'],
  ])('parses %j as %s %s', (text, amount, currency) => {
    expect(parsePrice(text)).toEqual({ amount, currency });
  });

  it.each([
    '4,20',
    '1.299,00',
    '12.',
    '.5',
    'NaN',
    '1e3',
    '-1',
    '+1',
    'NA',
    '#N/A',
    '1 280',
    '1,2800',
    '1,28',
    '12,34,567',
    ',100',
    '0,500',
    '0,001,000',
    '00,500',
    '012,345',
    '1,,000',
    '1.23456',
    '1.2345001',
    '1,280000',
    '1.',
    '$',
    'USD',
    '$5 USD',
    'USD 5 €',
    '$$5',
    '$  5',
    '5\u00a0€',
    'ABC 5',
    'DEM 5',
    'US 5',
    'USDX 5',
    '1000000000000',
    '1,000,000,000,000',
    '٣',
    '0x10',
    'Infinity',
    '19.99.99',
  ])('rejects %j', (text) => {
    expect(parsePrice(text)).toBeUndefined();
  });
});

import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';

/** The columns beside the two that every feed has. */
const optionalColumns = ['description', 'brand', 'category', 'price', 'currency', 'availability'];

/** Few skus and few values: rows of one feed and of the next meet, and often say the same. */
const cells: Record<string, fc.Arbitrary<string>> = {
  sku: fc.constantFrom('A', 'B', 'C', ' C ', 'D', '00D', 'E', 'กข', '', ' '),
  product_name: fc.constantFrom('Tent', 'Lamp', ' Lamp', 'Lamp "2"', 'Line\nbreak', '=1+1', ''),
  description: fc.constantFrom('', 'Text', 'Two\r\nlines', '\\N', 'a\tb'),
  brand: fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom('', 'Acme', 'ACME', 'Ac\0me') },
    { weight: 1, arbitrary: fc.constant('b'.repeat(256)) },
  ),
  category: fc.constantFrom('', 'Camping', 'Camping/Tents'),
  price: fc.constantFrom(
    '',
    '1',
    '1.0',
    '1.00',
    '2.5',
    '$2.5',
    '1,000',
    'USD 5',
    '5 EUR',
    '0',
    '0.00',
    'NA',
    '4,20',
  ),
  currency: fc.constantFrom('', 'EUR', 'eur', 'USD', 'XXQ'),
  availability: fc.constantFrom('', 'in_stock', 'In Stock', 'ask us', 'sold out'),
  colour: fc.constantFrom('', 'red'),
};

/** Feeds of any columns in any order, with repeated skus, bad cells, empty cells, short and misquoted rows. */
export const anyFeed: fc.Arbitrary<string> = fc
  .tuple(fc.subarray([...optionalColumns, 'colour']), fc.constantFrom(',', ';', '\t'))
  .chain(([optional, delimiter]) =>
    fc.tuple(
      fc.shuffledSubarray(['sku', 'product_name', ...optional], { minLength: optional.length + 2 }),
      fc.constant(delimiter),
    ),
  )
  .chain(([columns, delimiter]) => {
    const row = fc
      .tuple(...columns.map((column) => cells[column]!))
      .map((values) => stringify([values], { delimiter, eof: false }));
    const oddRow = fc.constantFrom('', ' ', `"A"x${delimiter}`, delimiter.repeat(9), 'A');
    const anyRow = fc.oneof({ weight: 9, arbitrary: row }, { weight: 1, arbitrary: oddRow });
    return fc
      .tuple(fc.array(anyRow, { maxLength: 12 }), fc.constantFrom('\n', '\r\n'))
      .map(([rows, end]) => [columns.join(delimiter), ...rows].join(end));
  });

const pieces = [
  ...[
    ',',
    ';',
    '\t',
    '"',
    '""',
    '"""',
    '\n',
    '\r\n',
    '\r',
    ' ',
    '\n\n',
    '\u0085',
    '\u00a0',
    '\ufeff',
    '\0',
    '\\N',
    '\\.',
    '\\',
  ],
  ...[
    'A',
    'B',
    'Tent',
    '12" x',
    '"a, b"',
    '"a\nb"',
    '"a""b"',
    '5',
    'EUR',
    '$1,000.00',
    'in stock',
    '=1+1',
    'é',
    '😀',
    'sku',
  ],
];
const headers = fc.constantFrom(
  'sku,product_name\n',
  'sku;product_name;price\r\n',
  'product_name\tsku\tavailability\n',
  '\ufeffsku,product_name,price,currency\r\n',
  '\n \n"sku","product_name"\n',
  'sku,product_name,"a\nb",price\n',
  ' SKU , Product_Name ,,\n',
  'sku,product_name',
  'sku,sku,product_name\n',
  'sku,name\n',
  '',
);
const anyText = fc
  .tuple(
    headers,
    fc.array(
      fc.oneof(
        { weight: 9, arbitrary: fc.constantFrom(...pieces) },
        fc.string({ unit: 'binary', maxLength: 4 }),
      ),
      { maxLength: 60 },
    ),
  )
  .map(([head, rest]) => head + rest.join(''));

/** Bytes, of which now and then one is another, missing, or there twice. */
export const anyBytes = fc
  .tuple(
    anyText,
    fc.array(fc.tuple(fc.nat(), fc.nat(255), fc.constantFrom('set', 'drop', 'repeat')), { maxLength: 2 }),
    fc.nat(3),
  )
  .map(([csv, damages, often]) => {
    let bytes = Buffer.from(csv);
    if (often > 0) return bytes;
    for (const [place, byte, how] of damages) {
      const at = bytes.length === 0 ? 0 : place % bytes.length;
      const middle =
        how === 'set'
          ? Buffer.from([byte])
          : how === 'drop'
            ? Buffer.alloc(0)
            : bytes.subarray(at, at + byte);
      bytes = Buffer.concat([bytes.subarray(0, at), middle, bytes.subarray(how === 'repeat' ? at : at + 1)]);
    }
    return bytes;
  });

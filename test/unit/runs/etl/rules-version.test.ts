import { createHash } from 'node:crypto';
import { rulesVersion } from '../../../../src/runs/etl/unchanged/digest-context';
import { columnFormat, productColumns, type ProductColumn } from '../../../../src/feed-format/columns';
import type { FormatDefinition } from '../../../../src/feed-format/format-definition';
import { readFormatted } from '../../../support/read-by-format';

/** Digest of the corpus under the rules of this version. */
const pinned = {
  rulesVersion: 2,
  outcomes: 'a1db2922aef7af8386d8d62fdf82e37df5570711962aaace8660203811015a0d',
};

/** The same for records with a format. */
const pinnedByFormat = {
  rulesVersion: 2,
  digest: '656a51897c08b9a721ceab0474bbdf595940d68fd00d112ab58c65baace27799',
};

/** Quotes a cell, so that it may contain any text. */
const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;

const spaces = [
  ...'\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a',
  ...'\u2028\u2029\u202f\u205f\u3000\ufeff',
];
const noSpaces = [...'\0\u0001\u001f\u007f\u00ad\u180e\u200b\u2060'];

/** Texts that a rule of some column may treat specially. */
const texts = [
  '',
  ...[...spaces, ...noSpaces].flatMap((sign) => [sign, `${sign}x y`, `x y${sign}`, `x${sign}y`]),
  ...[
    '0',
    '007',
    'NULL',
    'null',
    '\\N',
    '-',
    '=1+1',
    '12" monitor',
    'a, b',
    'a; b',
    'two\nlines',
    'two\r\nlines',
  ],
  ...['é', 'e\u0301', 'กข', '😀', 'İ', 'ß', 'ﬁ', 'Ⅷ', 'ſ'],
];

const words = [
  ...['in_stock', 'available', 'limited_stock', 'low_stock', 'preorder', 'backorder'],
  ...['out_of_stock', 'unavailable', 'sold_out', 'discontinued'],
  ...['instock', 'outofstock', 'pre_order', 'back_order', 'ask us', 'toString', '__proto__'],
];

const signs = ['', '$', '€', '£', '¥', '₹', 'USD', 'usd', 'EUR', 'ZZZ', 'US'];
const amounts = [
  ...[
    '5',
    '05',
    '0',
    '0.00',
    '19.99',
    '19.9999',
    '19.99999',
    '19.990000',
    '1,280',
    '0,500',
    '1,28',
    '1,2800',
    '12,345,678.9',
  ],
  ...['1280,000', '4,20', '1.299,00', '12.', '.5', 'NaN', '1e3', '-1', '+1', 'NA', '٣', '1 000', "1'000"],
  ...['999999999999', '999,999,999,999.9999', '1000000000000', '000000000000001'],
];
const prices = amounts.flatMap((amount) =>
  signs.flatMap((sign) => [`${sign}${amount}`, `${sign} ${amount}`, `${amount}${sign}`, `${amount} ${sign}`]),
);
const currencies = ['', 'EUR', 'eur', ' USD ', 'Usd', 'ZZZ', 'US', 'EURO', 'uſd', 'ınr', 'EU\0'];

/** Cells that show the rules of each column. */
const cells: Record<ProductColumn, string[]> = {
  sku: texts,
  product_name: texts,
  description: texts,
  brand: texts,
  category: texts,
  price: [...texts, ...prices],
  currency: [...texts, ...currencies],
  availability: [
    ...texts,
    ...words.flatMap((word) => [
      word,
      word.toUpperCase(),
      word.replaceAll('_', ' '),
      word.replaceAll('_', '-'),
    ]),
  ],
};

/** Values of maximum length, and one character longer. */
function longTexts(column: ProductColumn): string[] {
  const { maxLength } = columnFormat(column);
  if (maxLength === undefined) return [];
  return ['a', '😀', '"'].flatMap((character) => [
    character.repeat(maxLength),
    character.repeat(maxLength + 1),
  ]);
}

const goodCells: Partial<Record<ProductColumn, string>> = { sku: 'S', product_name: 'N' };

/** Feeds with one special cell per row. */
const feedsOfCells = productColumns.map((column) => {
  const rows = [...cells[column], ...longTexts(column)].map((text) =>
    productColumns.map((other) => quoted(other === column ? text : (goodCells[other] ?? ''))).join(','),
  );
  return [productColumns.join(','), ...rows].join('\n');
});

/** Combined prices and currencies: each may name the currency. */
const feedOfMoney = [
  'sku,product_name,price,currency',
  ...['5', '$5', 'USD 5', '5 eur', 'ZZZ 5', ''].flatMap((price) =>
    currencies.map((currency) => `S,N,${quoted(price)},${quoted(currency)}`),
  ),
].join('\n');

/** Rows of any shape, in feeds of either delimiter and line end. */
const feedsOfShapes = [',', ';', '\t'].flatMap((delimiter) =>
  ['\n', '\r\n'].map((lineEnd) =>
    [
      ['\ufeff SKU ', 'Product_Name', '"description"', 'colour', ''],
      ['S', 'N', 'D', 'red', ''],
      ['S', 'N'],
      ['S'],
      ['', '', '', '', ''],
      [''],
      [' '],
      ['""'],
      ['S', 'N', 'D', 'red', '', 'one too many'],
      ['S', '12" monitor', '"a ""b"" c"', '"red"', '""'],
      ['S', '"text" after', 'D', '', ''],
      ['S', '"N"x', 'D', '', ''],
      ['"S"', ' "N"', '"two', 'lines"', ''],
      ['S', `"N${lineEnd}N"`, 'carriage\rreturn', '', ''],
      ['S', 'N', `"with${delimiter}delimiter"`, '', ''],
    ]
      .map((row) => row.join(delimiter))
      .join(lineEnd),
  ),
);

/** Whether and how its format changes the values of a record. */
const definition: FormatDefinition = {
  delimiter: ';',
  decimal_separator: ',',
  null_values: ['-', 'NULL'],
  columns: {
    sku: { join: ['id', 'size'], with: '-' },
    product_name: { join: ['title', 'color', 'size'], with: ' / ', first_with: ' - ' },
    price: { from: ['price'] },
    currency: { value: 'EUR' },
    availability: { from: ['stock'] },
  },
  availability: { 'Auf Lager': 'in_stock' },
  ignore_rows_without: ['id', 'price'],
};
const formattedRow = (price: string, stock = '') => `S;N;red;L;${quoted(price)};${quoted(stock)}`;
const formattedFeed = [
  'id;title;color;size;price;stock',
  ...prices.map((price) => formattedRow(price)),
  ...texts.map((text) => formattedRow('5,00', text)),
  ...["1'299,5", '1 299,5', '1\u00a0299', '1\u202f299 €', '1’299', '1.29', 'CHF 5,1'].map((price) =>
    formattedRow(price),
  ),
  ...[
    'S;N;-;;5,00;auf lager',
    'S;-;red;;;',
    'S;N;red',
    ';;;;;',
    'S;N;red;L;5,00;x;',
    '"S"  ;"N" ;;;;',
    'S;N;;;5\rS;N;;;6',
  ],
].join('\n');

/** Values of each record, or null if it has an issue and thus no digest. */
async function outcomesOf(feed: string): Promise<unknown[]> {
  const rows = await readFormatted(feed, null);
  return rows.map(({ values, codes }) =>
    values && codes.length === 0 ? productColumns.map((column) => values[column] ?? null) : null,
  );
}

describe('the version of the rules', () => {
  it('is raised when a record of the corpus gets other values, or an issue', async () => {
    const digest = createHash('sha256');
    for (const feed of [...feedsOfCells, feedOfMoney, ...feedsOfShapes]) {
      const outcomes = await outcomesOf(feed);
      // A corpus without valid records would detect nothing.
      expect(outcomes.some((outcome) => outcome !== null)).toBe(true);
      digest.update(JSON.stringify(outcomes));
    }
    const outcomes = digest.digest('hex');

    if (rulesVersion === pinned.rulesVersion && outcomes !== pinned.outcomes) {
      throw new Error(
        'The rules make other products of the same records, and digests of earlier runs would hide that. ' +
          `Raise rulesVersion in src/runs/etl/unchanged/digest-context.ts to ${rulesVersion + 1}, and pin here: ` +
          `{ rulesVersion: ${rulesVersion + 1}, outcomes: '${outcomes}' }.`,
      );
    }
    expect({ rulesVersion, outcomes }).toEqual(pinned);
  });

  it('is raised when a record gets other values by its format', async () => {
    const rows = await readFormatted(formattedFeed, definition);
    const outcomes = rows.map(({ values, codes }) => (codes.length === 0 ? values : null));
    expect(outcomes.some((values) => values)).toBe(true);
    const digest = createHash('sha256').update(JSON.stringify(outcomes)).digest('hex');
    // Another digest: raise rulesVersion in src/runs/etl/unchanged/digest-context.ts, and pin both corpora again.
    expect({ rulesVersion, digest }).toEqual(pinnedByFormat);
  });
});

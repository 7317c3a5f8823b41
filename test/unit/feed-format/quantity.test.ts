import fc from 'fast-check';
import type { FormatDefinition } from '../../../src/feed-format/format-definition';
import { FormatWriter, UnwritableValue } from '../../../src/feed-format/write/format-writing';
import { readFormatted } from '../../support/read-by-format';

const identity = { sku: { from: ['sku'] }, product_name: { from: ['name'] } };
const stock: FormatDefinition = {
  delimiter: ';',
  columns: { ...identity, availability: { quantity: { from: ['Bestand', 'Stock'] } } },
};

async function read(texts: string[], definition = stock): Promise<(string | null)[]> {
  const rows = texts.map((text, at) => `${at};N;"${text}"`);
  const found = await readFormatted(['sku;name;Stock', ...rows].join('\n'), definition);
  return found.map(({ values }) => values?.availability ?? null);
}

describe('a quantity', () => {
  it('of more than 0 is in stock, in any notation of numbers', async () => {
    const shape = fc.record({
      number: fc.oneof(
        fc.integer({ min: -5_000, max: 5_000 }),
        fc.constantFrom(0, -0.5, 0.5, 1_250_000, 0.25),
      ),
      locale: fc.constantFrom('en-US', 'de-DE', 'fr-FR', 'de-CH'),
      decimals: fc.integer({ min: 0, max: 4 }),
      isGrouped: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(shape, { minLength: 1, maxLength: 20 }), async (cells) => {
        const written = cells.map(({ number, locale, decimals, isGrouped }) => {
          const digits = Number.isInteger(number) ? decimals : Math.max(2, decimals);
          return number.toLocaleString(locale, { minimumFractionDigits: digits, useGrouping: isGrouped });
        });
        const expected = cells.map(({ number }) => (number > 0 ? 'in_stock' : 'out_of_stock'));
        expect([written, await read(written)]).toEqual([written, expected]);
      }),
      { numRuns: 100 },
    );
  });

  it('may have a mark of "or more", a unit, or words around its number', async () => {
    const more = [
      '10+',
      '>5',
      '> 5',
      '>0',
      '12 pcs',
      '3 Stk.',
      '7 in stock',
      'In stock (12)',
      'Lager: 4',
      'Verfügbar (10+)',
    ];
    expect(await read(more)).toEqual(more.map(() => 'in_stock'));
    const none = ['0 pcs', 'In stock (0)', 'Out of stock (0)', 'Lager: 0', '-1', '−3', '0 шт.', ' 0 '];
    expect(await read(none)).toEqual(none.map(() => 'out_of_stock'));
  });

  it('that is empty is no availability', async () => {
    expect(await read(['', '  '])).toEqual([null, null]);
    expect(await read(['-'], { ...stock, null_values: ['-'] })).toEqual([null]);
  });

  it('without a clear number is a word', async () => {
    const words = ['in stock', 'SoldOut', 'https://schema.org/PreOrder', 'ask us', 'Out of stock (12)', '<5'];
    expect(
      await read([...words, '12 days', '3-5 Tage', '0+', 'from 2027', '12 (3)', 'Pre-order (4)']),
    ).toEqual([
      'in_stock',
      'sold_out',
      'preorder',
      'ask_us',
      'out_of_stock_(12)',
      '<5',
      '12_days',
      '3_5_tage',
      '0+',
      'from_2027',
      '12_(3)',
      'pre_order_(4)',
    ]);
  });

  it("comes after the format's own words", async () => {
    const own = { ...stock, availability: { '0': 'backorder', 'Auf Lager': 'in_stock' } as const };
    expect(await read(['0', '00', 'auf lager', '3'], own)).toEqual([
      'backorder',
      'out_of_stock',
      'in_stock',
      'in_stock',
    ]);
  });

  const tracked: FormatDefinition = {
    ...stock,
    columns: {
      ...identity,
      availability: {
        quantity: {
          from: ['Stock'],
          unless: [
            { header: 'Tracker', values: ['', 'None'] },
            { header: 'Policy', values: ['continue'] },
            { header: 'Absent', values: ['', 'x'] },
          ],
        },
      },
    },
  };

  it('means nothing where a condition holds, which an absent column does not', async () => {
    const rows = [
      '1;N;5;shop;deny',
      '2;N;5; ;deny',
      '3;N;5;NONE;deny',
      '4;N;0;shop; Continue',
      '5;N;0;shop',
      '6;N;x',
    ];
    const found = await readFormatted(['sku;name;Stock;Tracker;Policy', ...rows].join('\n'), tracked);
    expect(found.map(({ values }) => values!.availability)).toEqual([
      'in_stock',
      undefined,
      undefined,
      undefined,
      'out_of_stock',
      undefined,
    ]);
  });

  it('is written so that it is read back, without the columns of its conditions', async () => {
    const writer = new FormatWriter(tracked);
    const nothing = { description: null, brand: null, category: null, price: null, currency: null };
    const words = ['in_stock', 'out_of_stock', 'preorder', 'ask_us', null];
    const cells = words.map((availability, at) =>
      writer.checkedCells({ ...nothing, sku: `${at}`, product_name: 'N', availability }),
    );
    expect(cells.filter((each) => each instanceof UnwritableValue)).toEqual([]);
    expect(cells.slice(0, 2)).toEqual([
      ['0', 'N', '1'],
      ['1', 'N', '0'],
    ]);

    const file = Buffer.concat([writer.beginning(), writer.records(cells as string[][])]);
    const found = await readFormatted(file, tracked);
    expect(found.map(({ values }) => values!.availability ?? null)).toEqual(words);
  });
});

describe('words for availability', () => {
  const plain = { columns: { ...identity, availability: { from: ['Stock'] } }, delimiter: ';' };
  const known: [string, string][] = [
    ['available for order', 'available'],
    ['On Backorder', 'backorder'],
    ['SoldOut', 'sold_out'],
    ['https://schema.org/InStock', 'in_stock'],
    ['http://schema.org/OutOfStock', 'out_of_stock'],
    ['https://schema.org/BackOrder', 'backorder'],
    ['https://schema.org/LimitedAvailability', 'limited_stock'],
    ['https://schema.org/Discontinued', 'discontinued'],
    ['https://schema.org/OnlineOnly', 'available'],
    ['https://schema.org/InStoreOnly', 'unavailable'],
  ];

  it('include addresses of schema.org in a file with a format', async () => {
    expect(
      await read(
        known.map(([text]) => text),
        plain,
      ),
    ).toEqual(known.map(([, word]) => word));
    expect(await read(['https://schema.org/Offer', 'https://schema.org/instock/x'], plain)).toEqual([
      'https://schema.org/offer',
      'https://schema.org/instock/x',
    ]);
  });

  it('stay as specified without a format', async () => {
    const file = ['sku,product_name,availability', ...known.map(([text], at) => `${at},N,${text}`)].join(
      '\n',
    );
    const rows = await readFormatted(file, null);
    expect(rows.map(({ codes }) => codes)).toEqual(known.map(() => ['unknown_availability']));
  });

  it('give way to the words of the format', async () => {
    const own = {
      ...plain,
      availability: { 'https://schema.org/InStoreOnly': 'in_stock', SoldOut: 'discontinued' } as const,
    };
    expect(await read(['https://schema.org/InStoreOnly', 'soldout'], own)).toEqual([
      'in_stock',
      'discontinued',
    ]);
  });
});

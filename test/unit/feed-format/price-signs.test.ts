import fc from 'fast-check';
import { currencyBySign, isActiveCurrency } from '../../../src/feed-format/currency';
import { knownSigns } from '../../../src/feed-format/currency-signs';
import type { FormatDefinition } from '../../../src/feed-format/format-definition';
import { parsePrice } from '../../../src/feed-format/parse-price';
import { readFormatted } from '../../support/read-by-format';

const pointed = { hasDecimalComma: false, hasSigns: true };
const comma = { hasDecimalComma: true, hasSigns: true };

/** Reads prices, each with a currency or an empty cell, by a format of the partner. */
async function outcomesOf(cells: [price: string, currency?: string][], more: Partial<FormatDefinition> = {}) {
  const columns = Object.fromEntries(
    ['sku', 'product_name', 'price', 'currency'].map((name) => [name, { from: [name] }]),
  );
  const rows = cells.map(([price, currency = ''], at) => `${at};N;"${price}";${currency}`);
  const file = ['sku;product_name;price;currency', ...rows].join('\n');
  const definition = { delimiter: ';', ...more, columns } as unknown as FormatDefinition;
  const read = await readFormatted(file, definition);
  return read.map(({ values, codes }) =>
    values ? [values.price, values.currency].filter(Boolean).join(' ') : codes.join(),
  );
}

describe('the signs of currencies', () => {
  it('stand for active currencies, and are no codes', () => {
    for (const [sign, currencies] of knownSigns) {
      expect([sign, [...currencies].filter((code) => !isActiveCurrency(code))]).toEqual([sign, []]);
      expect([sign, isActiveCurrency(sign.toUpperCase())]).toEqual([sign, false]);
    }
  });

  it('that name one currency stand for no other', () => {
    for (const [sign, currency] of Object.entries(currencyBySign)) {
      expect([...knownSigns.get(sign.toLowerCase())!]).toEqual([currency]);
    }
  });
});

describe('a price in a file with a format', () => {
  const digits = fc.bigInt({ min: 0n, max: 999_999_999_999n });
  const sign = fc.constantFrom(...knownSigns.keys());
  const signText = sign.chain((known) =>
    fc
      .constantFrom(known, known.toUpperCase(), ...(/\p{L}$/u.test(known) ? [`${known}.`] : []))
      .map((text) => [known, text] as const),
  );
  const blank = fc.constantFrom('', ' ', '\u00a0', '\u202f');

  it('is its amount, with one sign before or behind and a code on either side', () => {
    const code = fc.constantFrom('', 'USD', 'eur', 'Sek');
    fc.assert(
      fc.property(
        fc.record({ digits, decimals: fc.stringMatching(/^\d{0,4}$/), signText, code, blank }),
        fc.record({ isComma: fc.boolean(), signFirst: fc.boolean(), codeFirst: fc.boolean() }),
        ({ digits: whole, decimals, signText: [known, text], code: unit, blank: space }, places) => {
          const separator = places.isComma ? ',' : '.';
          const number = `${whole}${decimals && separator + decimals}`;
          const withSign = places.signFirst ? text + space + number : number + space + text;
          const cell = places.codeFirst ? `${unit} ${withSign}`.trim() : `${withSign} ${unit}`.trim();
          expect([cell, parsePrice(cell, places.isComma ? comma : pointed)]).toEqual([
            cell,
            {
              amount: `${whole}${decimals && `.${decimals}`}`,
              sign: known,
              ...(unit && { currency: unit.toUpperCase() }),
            },
          ]);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('ends in a dash only where that cannot be a thousands separator', () => {
    const dash = fc.constantFrom('-', '--', '–', '—', '−');
    const number = fc.constantFrom('5', '1299', '1.299', '1,299', "1'299", '1 299', '12,5', '12.5');
    fc.assert(
      fc.property(number, fc.constantFrom(',', '.'), dash, fc.boolean(), (text, separator, end, isComma) => {
        const own = isComma ? ',' : '.';
        const whole = text.replace(/\D/g, '');
        const isGrouped = isComma ? /^\d+(?:[.' ]\d{3})?$/ : /^\d+(?:,\d{3})?$/;
        const isRight = separator === own ? isGrouped.test(text) : /^\d+$/.test(text);
        const parsed = parsePrice(`${text}${separator}${end} kr`, isComma ? comma : pointed);
        expect(parsed?.amount).toBe(isRight ? whole : undefined);
      }),
    );
  });

  it('is none for any other text around a number, and for two signs or two codes', () => {
    const refused = [
      '5 Taler',
      'ab5',
      '$5 €',
      'USD 5 EUR',
      'krSEK 5',
      '5 XTS',
      '-5 kr',
      '5- kr',
      '(5)',
      'kr',
      '5.. kr',
    ];
    for (const text of [...refused, '5 ,-', '5,-,-', '5 kr 5', 'kr -5', '€ 5 $', '5,---']) {
      expect([text, parsePrice(text, pointed)]).toEqual([text, undefined]);
    }
  });

  it('takes linear time', () => {
    const startedAt = performance.now();
    for (const text of [`5${' '.repeat(200_000)}x`, `$${' '.repeat(200_000)}$5`, '5,'.repeat(100_000)]) {
      expect(parsePrice(text, comma)).toBeUndefined();
    }
    expect(performance.now() - startedAt).toBeLessThan(500);
  });

  it('conflicts with a currency for which its sign cannot stand', async () => {
    expect(
      await outcomesOf([
        ['$15.00 USD'],
        ['€15 USD'],
        ['kr 5', 'SEK'],
        ['5 kr.', 'EUR'],
        ['R$ 5', 'BRL'],
        ['$5', 'CLP'],
        ['£5', 'eur'],
        ['€5', 'XXQ'],
        ['Fr. 12.-', 'CHF'],
      ]),
    ).toEqual([
      '15.00 USD',
      'currency_conflict',
      '5 SEK',
      'currency_conflict',
      '5 BRL',
      '5 CLP',
      'currency_conflict',
      'invalid_currency',
      '12 CHF',
    ]);
  });

  it('has no currency by its sign, unless the format says so', async () => {
    const cells: [string][] = [['€5'], ['5 zł'], ['kr 5'], ['$5'], ['5 Ft SEK']];
    expect(await outcomesOf(cells)).toEqual(['5', '5', '5', '5', 'currency_conflict']);
    expect(await outcomesOf(cells, { currency_from_sign: true })).toEqual([
      '5 EUR',
      '5 PLN',
      '5',
      '5',
      'currency_conflict',
    ]);
  });

  it('takes the currency column before its sign, which must agree', async () => {
    const cells: [string, string][] = [
      ['₹5', 'INR'],
      ['₹5', 'USD'],
    ];
    expect(await outcomesOf(cells, { currency_from_sign: true })).toEqual(['5 INR', 'currency_conflict']);
  });
});

describe('a price without a format, and with the definition of standard', () => {
  it.each(['5 kr', '$15.00 USD', '5,-', 'zł 5', '₹5'])('is not %j', async (price) => {
    expect(parsePrice(price)).toBeUndefined();
    const own = [
      'sku',
      'product_name',
      'description',
      'brand',
      'category',
      'price',
      'currency',
      'availability',
    ];
    const columns = Object.fromEntries(
      own.map((name) => [name, { from: [name] }]),
    ) as FormatDefinition['columns'];
    const file = `sku,product_name,price\nA,N,"${price}"`;
    for (const definition of [null, { columns }]) {
      expect((await readFormatted(file, definition))[0]!.codes).toEqual(['invalid_price']);
    }
  });

  it('may have any of $ € £ ¥ beside any currency', async () => {
    const [row] = await readFormatted('sku,product_name,price,currency\nA,N,€5,USD', null);
    expect(row!.values).toMatchObject({ price: '5', currency: 'USD' });
  });
});

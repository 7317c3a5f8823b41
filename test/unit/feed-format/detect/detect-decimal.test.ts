import fc from 'fast-check';
import { detectDecimal } from '../../../../src/feed-format/detect/detect-decimal';
import { detect, doubtsOf } from '../../../support/detected-format';
import { casesFor } from '../../../support/fuzz';

describe('detectFormat finds', () => {
  const priced = (...prices: string[]) => prices.map((price, at) => `S${at};n${at};"${price}"`);

  it.each([
    ['price', ['1,125', '1,375'], 'ambiguous_decimals'],
    ['price', ['1.250', '7.750'], 'ambiguous_decimals'],
    ['price', ['12,50', '1.75'], 'contradictory_decimals'],
    ['price', ['1.125 EUR', '2.250 EUR'], 'ambiguous_decimals'],
    ['price', ['1,125', '12,50'], ','],
    ['price', ['1,125', '12.50'], undefined],
    ['price', ['19.990000', '7.125000'], undefined],
    ['price', ['0,990', '1,250'], ','],
    ['price', ['1250.500'], undefined],
    ['price', ['1.234.567', '5'], ','],
    ['price', ["1'250,500"], ','],
    ['price', ['12.500 KWD', '7.750 KWD'], undefined],
    ['price', ['1.280 JPY', '980 JPY'], ','],
    ['price_kwd', ['12.500', '7.750'], undefined],
    ['price', ['5', '7', ''], undefined],
  ])('the decimal separator of %s %j is %s', (name, prices, expected) => {
    for (const [header, builtIn] of [
      ['sku;product_name', true],
      ['Artikelnummer;Bezeichnung', false],
    ] as const) {
      const { draft, about } = doubtsOf(`${header};${name}`, ...priced(...prices));
      const decimals = about.filter((each) => each.startsWith('decimal'));
      if (builtIn && name !== 'price') continue;
      if (expected === undefined || expected === ',') {
        expect([draft?.decimal_separator, decimals]).toEqual([expected, []]);
        expect(draft?.columns.price).toBeDefined();
      } else {
        expect([draft?.decimal_separator, decimals]).toEqual([undefined, [`decimal_separator ${expected}`]]);
        expect(draft?.columns.price).toBeUndefined();
      }
    }
  });

  it('uses no decimal comma for a built-in format because of other columns', () => {
    const { definition } = detect(
      'id,title,price,availability,size\nA,a,5 EUR,in_stock,"1,5"\nB,b,7 EUR,in_stock,"2,5"\n',
    );

    expect(definition).not.toHaveProperty('decimal_separator');
    expect(definition?.columns.price?.from).toContain('price');
  });

  it('explains each choice of a decimal separator', () => {
    const { labels } = doubtsOf('sku,product_name,price', 'A,a,"1,125"');

    expect(labels).toEqual(['1,125 means 1125', '1,125 means 1.125']);
  });

  it('reads no price with another value than it was written with, for any prices', () => {
    const price = fc.record({
      amount: fc.oneof(fc.nat(3_000), fc.nat(9_999_999)),
      decimals: fc.constantFrom(0, 1, 2, 3, 3, 4),
    });
    const written = fc.record({
      decimal: fc.constantFrom('.', ','),
      grouped: fc.boolean(),
      prices: fc.array(price, { minLength: 1, maxLength: 6 }),
    });
    fc.assert(
      fc.property(written, ({ decimal, grouped, prices }) => {
        const texts = prices.map(({ amount, decimals }) => {
          const whole = grouped
            ? String(amount).replace(/\B(?=(?:\d{3})+$)/g, decimal === '.' ? ',' : '.')
            : String(amount);
          return decimals === 0 ? whole : `${whole}${decimal}${'5'.repeat(decimals)}`;
        });
        const { separator, doubt } = detectDecimal(texts.map((text) => ({ text })));
        const isPlain = texts.every((text) => /^\d+$/.test(text));
        if (doubt === null) expect(separator).toBe(isPlain ? null : decimal);
        else expect(separator).toBeNull();
      }),
      casesFor('decimal separators', 1_000),
    );
  });
});

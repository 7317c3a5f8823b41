import fc from 'fast-check';
import { isActiveCurrency } from '../../../src/feed-format/currency';
import { productColumns } from '../../../src/feed-format/columns';
import { strictHeader } from '../../support/read-strictly';
import { parsePrice } from '../../../src/feed-format/parse-price';
import { transformRecord } from '../../../src/feed-format/rows/transform';
import { recordOf } from '../../support/reference-extractor';
import { feedProfile } from '../../../src/intake/feeds/profile';

const profile = feedProfile(1);
const column = (name: string) => profile.columns.find((each) => each.name === name)!;

describe('the feed profile agrees with the transform for any text:', () => {
  const seeded = { seed: 20261121, numRuns: 500 };
  const price = fc.stringMatching(/^[$€£¥A-Z]{0,3} ?[\d,.]{1,18} ?[a-zA-Z€]{0,3}$/);
  const currency = fc.oneof(fc.constantFrom('EUR', 'usd', 'THB', 'DEM', 'XXQ', 'EURO', 'ÉUR'), fc.string());
  const word = fc.constantFrom('in stock', 'Pre-Order', 'sold out', 'ask us', 'INSTOCK', 'in_stock');
  const long = fc.tuple(fc.constantFrom('𝔸', 'b'), fc.integer({ min: 95, max: 66_000 }));
  const text = fc.oneof(
    { weight: 4, arbitrary: fc.string({ unit: 'binary', maxLength: 30 }) },
    { weight: 4, arbitrary: price },
    { weight: 2, arbitrary: currency },
    { weight: 2, arbitrary: word },
    { weight: 1, arbitrary: long.map(([unit, length]) => unit.repeat(length)) },
    { weight: 2, arbitrary: fc.constantFrom('', ' ', '\u00a0', '\0', '0', '0.00', 'USD 0', 'a\0b') },
  );
  const codesOf = (cells: Record<string, string>) => {
    const names = productColumns;
    const header = strictHeader(`${names.join(',')}\n`);
    const fields = names.map((name) => cells[name] ?? '');
    const record = recordOf(fields, { line: 2, lastLine: 2, row: 1 });
    return transformRecord(record, header).issues ?? [];
  };

  it.each(productColumns)('a cell of %s raises only the codes that it lists', (name) => {
    const { codes } = column(name);
    fc.assert(
      fc.property(text, fc.constantFrom('', 'EUR', 'x'), (cell, other) => {
        const cells = { sku: 'S', product_name: 'N', price: '1', currency: other, [name]: cell };
        const own = codesOf(cells).filter(({ field }) => field === name);
        expect(codes).toEqual(expect.arrayContaining(own.map(({ code }) => code)));
      }),
      { ...seeded, numRuns: 100 },
    );
  });

  it.each(productColumns)('a cell of %s can raise each code that it lists', (name) => {
    const triggers = ['', '\0', 'b'.repeat(66_000), 'NA', 'USD 5', '0', 'ask us', 'XXQ', 'A\u200b'];
    const raised = triggers.flatMap((cell) =>
      codesOf({ sku: 'S', product_name: 'N', currency: 'EUR', [name]: cell })
        .filter(({ field }) => field === name)
        .map(({ code }) => code),
    );
    // Requires a second row.
    if (name === 'sku') raised.push('duplicate_sku');

    expect([...new Set(raised)].sort()).toEqual([...column(name).codes].sort());
  });

  it('a price is valid only if it matches the grammar, unless its code or size is invalid', () => {
    const grammar = new RegExp(column('price').grammar!);
    fc.assert(
      fc.property(fc.oneof(price, fc.string({ unit: 'binary', maxLength: 12 })), (cell) => {
        const code = /[A-Za-z]{3}/.exec(cell)?.[0].toUpperCase();
        const digits = /[\d,]+/.exec(cell)?.[0].replace(/,/g, '').replace(/^0+/, '') ?? '';
        const isRight = grammar.test(cell) && (!code || isActiveCurrency(code)) && digits.length <= 12;

        expect(parsePrice(cell) !== undefined).toBe(isRight);
      }),
      { ...seeded, numRuns: 1_500 },
    );
  });

  it('a price that matches the grammar is parsed exactly, without zeros beyond the fourth decimal', () => {
    const decimals = fc.stringMatching(/^(?:\d{0,4}|\d{4}0{1,9})$/);
    const amount = fc.tuple(fc.bigInt({ min: 0n, max: 999_999_999_999n }), decimals);
    const units = fc.constantFrom('', '$', '$ ', 'EUR', 'eur ', '¥');
    fc.assert(
      fc.property(amount, units, fc.boolean(), fc.boolean(), ([whole, decimals], unit, after, grouped) => {
        const digits = grouped ? whole.toString().replace(/\B(?=(\d{3})+$)/g, ',') : whole.toString();
        const plain = digits + (decimals && `.${decimals}`);
        const cell = after ? plain + [...unit].reverse().join('') : unit + plain;
        const code = /[a-z]/i.test(unit) ? 'EUR' : undefined;
        fc.pre(!(after && code));

        expect(cell).toMatch(new RegExp(column('price').grammar!));
        expect(parsePrice(cell)).toEqual({
          amount: whole.toString() + (decimals && `.${decimals.slice(0, 4)}`),
          currency: code,
        });
      }),
      seeded,
    );
  });

  it('an accepted currency matches its grammar', () => {
    fc.assert(
      fc.property(currency, (cell) => {
        const wrong = codesOf({ sku: 'S', product_name: 'N', currency: cell }).length > 0;
        const cleaned = cell.trim().replace(/[a-z]/g, (letter) => letter.toUpperCase());
        if (!wrong && cleaned !== '') expect(cleaned).toMatch(new RegExp(column('currency').grammar!));
      }),
      seeded,
    );
  });
});

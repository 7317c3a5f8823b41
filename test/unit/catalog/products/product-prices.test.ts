import fc from 'fast-check';
import { microsPerDay } from '../../../../src/catalog/products/point-in-time';
import type { PricePeriod } from '../../../../src/catalog/products/prices.repository';
import { pricesOf } from '../../../../src/catalog/products/product-prices';

/** A price, or a gap, from this day on. */
interface Step {
  day: number;
  price: string | null;
  currency?: string | null;
  isWithdrawn?: boolean;
}

/** The states of a product whose history starts with the first step; times are days from an arbitrary one on. */
function statesOf(steps: readonly Step[], endDay: number | null = null): PricePeriod[] {
  return steps.map(({ day, price, currency = 'EUR', isWithdrawn = false }, at) => {
    const end = steps[at + 1]?.day ?? endDay;
    const micros = (days: number) => Math.round(days * microsPerDay);
    const [from, to] = [micros(day), end === null ? null : micros(end)];
    return { price, currency, isWithdrawn, from, to };
  });
}

/** The lowest price before the current one, with a history that started long ago. */
const lowestOf = (steps: readonly Step[], days = 30, now = 1_000) =>
  pricesOf(statesOf(steps), days, now * microsPerDay).lowestPrice;

const longAgo = 0;

/*
 * Article 6a of Directive 98/6/EC, added by article 2 of Directive (EU) 2019/2161, defines the prior price (paragraph 2). The
 * figures are from the Commission's guidance on it (2021/C 526/02) and the judgment of the Court of Justice in case C-330/23
 * (Aldi Süd).
 */
describe('the prior price of article 6a', () => {
  it('is the lowest price of 30 days, 100 euros, although the last one was 160 (guidance, section 2.1)', () => {
    const steps = [
      { day: longAgo, price: '160' },
      { day: 80, price: '100' },
      { day: 85, price: '160' },
      { day: 100, price: '80' },
    ];

    expect(lowestOf(steps)).toBe('100');
  });

  it('of bananas at 1.29 is 1.29, not the last price of 1.69 (C-330/23, first offer)', () => {
    const steps = [
      { day: longAgo, price: '1.29' },
      { day: 90, price: '1.69' },
      { day: 100, price: '1.29' },
    ];

    expect(lowestOf(steps)).toBe('1.29');
  });

  it('of pineapples at 1.49 is 1.39, lower than the price of the offer (C-330/23, second offer)', () => {
    const steps = [
      { day: longAgo, price: '1.69' },
      { day: 75, price: '1.39' },
      { day: 80, price: '1.69' },
      { day: 100, price: '1.49' },
    ];

    expect(lowestOf(steps)).toBe('1.39');
  });

  it('is the only earlier price if it did not change for 30 days', () => {
    expect(
      lowestOf([
        { day: longAgo, price: '100' },
        { day: 100, price: '80' },
      ]),
    ).toBe('100');
  });

  it('counts a price that was in force at the start of the 30 days, for any earlier start', () => {
    const lowFor = (end: number) =>
      lowestOf([
        { day: longAgo, price: '50' },
        { day: end, price: '100' },
        { day: 100, price: '80' },
      ]);

    expect(lowFor(70.001)).toBe('50');
    // It ended exactly at their start: it was not in force within them.
    expect(lowFor(70)).toBe('100');
  });

  it('of each step of a growing reduction is the price of the step before (paragraph 5 is an option of member states)', () => {
    const steps = [
      { day: longAgo, price: '100' },
      { day: 100, price: '80' },
      { day: 105, price: '70' },
    ];

    expect(lowestOf(steps)).toBe('80');
    // A whole reduction uses the price before its first step with a longer period.
    expect(lowestOf(steps.slice(0, 2))).toBe('100');
  });

  it('can be the price of a longer period than 30 days (paragraph 2: not shorter)', () => {
    const steps = [
      { day: longAgo, price: '90' },
      { day: 60, price: '100' },
      { day: 100, price: '80' },
    ];

    expect(lowestOf(steps, 30)).toBe('100');
    expect(lowestOf(steps, 60)).toBe('90');
  });

  it('of a product that is on sale for less than 30 days is the lowest price of that time, and is not complete (paragraph 4)', () => {
    const prices = pricesOf(
      statesOf([
        { day: 90, price: '100' },
        { day: 100, price: '80' },
      ]),
      30,
      1_000 * microsPerDay,
    );

    expect(prices).toMatchObject({
      lowestPrice: '100',
      observedFrom: 90 * microsPerDay,
      isComplete: false,
    });
  });
});

describe('pricesOf', () => {
  it('counts a price of one microsecond within the window', () => {
    const states = statesOf([
      { day: longAgo, price: '100' },
      { day: 90, price: '1' },
      { day: 90 + 1 / microsPerDay, price: '100' },
      { day: 100, price: '80' },
    ]);

    expect(pricesOf(states, 30, 0).lowestPrice).toBe('1');
  });

  it('does not count the current price', () => {
    expect(lowestOf([{ day: longAgo, price: '80' }])).toBeNull();
  });

  it('counts no prices in another currency, and none after a change of the currency', () => {
    expect(
      lowestOf([
        { day: longAgo, price: '100' },
        { day: 80, price: '5', currency: 'USD' },
        { day: 90, price: '100' },
        { day: 100, price: '80' },
      ]),
    ).toBe('100');
    expect(
      lowestOf([
        { day: longAgo, price: '100' },
        { day: 100, price: '80', currency: 'USD' },
      ]),
    ).toBeNull();
    expect(
      lowestOf([
        { day: longAgo, price: '100', currency: null },
        { day: 100, price: '80', currency: null },
      ]),
    ).toBe('100');
  });

  it('counts no times without a price, or with a price while the product was withdrawn', () => {
    expect(
      lowestOf([
        { day: longAgo, price: '100' },
        { day: 80, price: null },
        { day: 85, price: '50', isWithdrawn: true },
        { day: 90, price: '100' },
        { day: 100, price: '80' },
      ]),
    ).toBe('100');
  });

  it('starts a price with a restoration, so that the same price before the withdrawal counts', () => {
    const steps = [
      { day: longAgo, price: '80' },
      { day: 90, price: '80', isWithdrawn: true },
      { day: 100, price: '80' },
    ];

    expect(pricesOf(statesOf(steps), 30, 0)).toMatchObject({
      current: { price: '80', from: 100 * microsPerDay },
      lowestPrice: '80',
    });
  });

  it('starts no price with a change of another field', () => {
    const steps = [
      { day: longAgo, price: '100' },
      { day: 100, price: '80' },
      { day: 110, price: '80' },
      { day: 120, price: '80' },
    ];

    const { current, lowestPrice, changes } = pricesOf(statesOf(steps), 30, 0);

    expect([current?.from, lowestPrice]).toEqual([100 * microsPerDay, '100']);
    expect(changes.map(({ price, to }) => [price, to])).toEqual([
      ['80', null],
      ['100', 100 * microsPerDay],
    ]);
  });

  it.each<[string, Step[], number | null]>([
    ['the price is null', [{ day: 990, price: null }], null],
    ['the product is withdrawn', [{ day: 990, price: '80', isWithdrawn: true }], null],
    ['the product was deleted', [{ day: 990, price: '80' }], 995],
  ])('has no current and no lowest price when %s, and shows the days until now', (_what, last, endDay) => {
    const steps = [{ day: longAgo, price: '100' }, { day: 950, price: '90' }, ...last];

    const { changes, ...prices } = pricesOf(statesOf(steps, endDay), 30, 1_000 * microsPerDay);

    expect(prices).toEqual({
      current: undefined,
      lowestPrice: null,
      observedFrom: 970 * microsPerDay,
      isComplete: true,
    });
    expect(changes.map(({ from }) => from / microsPerDay)).toEqual([990, 950]);
  });

  it('compares decimals, not texts or floating-point numbers', () => {
    const steps = (prices: string[]) => [
      ...prices.map((price, at) => ({ day: at, price })),
      { day: 20, price: '1' },
    ];

    expect(lowestOf(steps(['10.5', '9.75', '100']))).toBe('9.75');
    expect(lowestOf(steps(['999999999999.9999', '999999999999.9998', '999999999999.9999']))).toBe(
      '999999999999.9998',
    );
    expect(lowestOf(steps(['0.1', '0.0999', '0']))).toBe('0');
  });

  it('returns at most the newest 1,000 changes, and considers all of them', () => {
    const steps = Array.from({ length: 1_500 }, (_, at) => ({ day: at / 100, price: String(1 + at) }));

    const { changes, lowestPrice } = pricesOf(statesOf(steps), 30, 0);

    expect(changes).toHaveLength(1_000);
    expect(changes[0]).toMatchObject({ price: '1500', to: null });
    expect(lowestPrice).toBe('1');
  });

  it('equals a check of every hour of the window, for any history', () => {
    const step = fc.record({
      hours: fc.integer({ min: 1, max: 40 }),
      price: fc.constantFrom('1', '2', '3.5', '10', null),
      currency: fc.constantFrom('EUR', 'EUR', 'USD', null),
      isWithdrawn: fc.constantFrom(false, false, false, true),
    });
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 4 }),
        (some, days) => {
          let hour = 0;
          const steps = some.map(({ hours, ...rest }) => {
            const day = hour / 24;
            hour += hours;
            return { ...rest, day };
          });
          const shown = (at: number) => {
            const { price, currency, isWithdrawn } = steps.findLast(({ day }) => day * 24 <= at + 0.5)!;
            return JSON.stringify(isWithdrawn || price === null ? [isWithdrawn] : [price, currency]);
          };
          const last = hour - 1;
          let began = last;
          while (began > 0 && shown(began - 1) === shown(last)) began--;
          const hasPrice = shown(last).startsWith('["');
          const seen = Array.from({ length: days * 24 }, (_, at) => began - 1 - at)
            .filter((at) => at >= 0)
            .map((at) => JSON.parse(shown(at)) as [string, string | null] | [boolean])
            .filter(([price, currency]) => {
              const [, current] = JSON.parse(shown(last)) as (string | null)[];
              return typeof price === 'string' && currency === current;
            })
            .map(([price]) => Number(price));

          const { lowestPrice, current } = pricesOf(statesOf(steps), days, (hour / 24) * microsPerDay);

          const expected = hasPrice && seen.length > 0 ? Math.min(...seen) : null;
          expect(lowestPrice === null ? null : Number(lowestPrice)).toBe(expected);
          expect(current === undefined ? undefined : Math.round((current.from / microsPerDay) * 24)).toBe(
            hasPrice ? began : undefined,
          );
        },
      ),
      { numRuns: 500 },
    );
  });
});

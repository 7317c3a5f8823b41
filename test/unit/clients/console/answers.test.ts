import fc from 'fast-check';
import { byFrequency, changeOf, shareOfTotal, sumOf } from '../../../../src/clients/console/data/amounts';
import {
  addDays,
  axisOf,
  daysOf,
  periodBefore,
  periodNames,
  periodOf,
  weeksUntil,
} from '../../../../src/clients/console/data/period';

const none = { first: '', last: '' };
const day = fc
  .date({ min: new Date('2000-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 10));

describe('a period', () => {
  it('contains today and as many days as its name says, across months and leap days', () => {
    expect(periodOf('7', none, '2028-03-02')).toEqual({ from: '2028-02-25', to: '2028-03-03' });
    fc.assert(
      fc.property(fc.constantFrom('7', '30', '90'), day, (name, current) => {
        const period = periodOf(name, none, current);
        expect(period.to).toBe(addDays(current, 1));
        expect(daysOf(period)).toBe(Number(name));
      }),
    );
  });

  it('begins on the first day of this month', () => {
    expect(periodOf('month', none, '2026-12-31')).toEqual({ from: '2026-12-01', to: '2027-01-01' });
  });

  it('contains both of its own days, in either order, and is open without them', () => {
    const period = { from: '2026-03-01', to: '2026-04-01' };
    expect(periodOf('own', { first: '2026-03-01', last: '2026-03-31' }, '2026-06-01')).toEqual(period);
    expect(periodOf('own', { first: '2026-03-31', last: '2026-03-01' }, '2026-06-01')).toEqual(period);
    expect(periodOf('own', { first: '', last: '2026-03-31' }, '2026-06-01')).toEqual({ to: '2026-04-01' });
    expect(periodOf('', none, '2026-06-01')).toEqual({});
  });

  it('is preceded by one of the same length, unless it is open', () => {
    expect(periodBefore({ from: '2026-03-08', to: '2026-03-15' })).toEqual({
      from: '2026-03-01',
      to: '2026-03-08',
    });
    expect(periodBefore({ to: '2026-03-15' })).toBeUndefined();
    fc.assert(
      fc.property(fc.constantFrom(...periodNames), day, day, day, (name, first, last, current) => {
        const period = periodOf(name, { first, last }, current);
        const before = periodBefore(period)!;
        expect(before.to).toBe(period.from);
        expect(daysOf(before)).toBe(daysOf(period));
      }),
    );
  });
});

describe('the last two weeks', () => {
  it('are seven days each, adjoin, and end with today, also across a change of clocks', () => {
    expect(weeksUntil('2026-03-30')).toEqual({
      before: { from: '2026-03-17', to: '2026-03-24' },
      last: { from: '2026-03-24', to: '2026-03-31' },
    });
    expect(weeksUntil('2027-01-01').last).toEqual({ from: '2026-12-26', to: '2027-01-02' });
  });
});

describe('days', () => {
  it('have neighbors, and other texts have none', () => {
    expect(addDays('2028-02-28', 1)).toBe('2028-02-29');
    expect(addDays('2027-01-01', -1)).toBe('2026-12-31');
    for (const text of ['', 'soon', '2026-13-01']) expect(addDays(text, 1)).toBe('');
  });
});

describe('the axis of a period', () => {
  const ends = (from: string, to: string) => [Date.parse(from) / 1000, Date.parse(to) / 1000];

  it('has room for the whole bars of its first and last day', () => {
    const axis = axisOf({ from: '2026-03-08', to: '2026-03-15' }, 'daily');
    expect(axis).toEqual(ends('2026-03-07T12:00Z', '2026-03-14T12:00Z'));
  });

  it('has room for the whole bars of its first and last month, wherever it starts and ends in them', () => {
    const axis = axisOf({ from: '2026-03-20', to: '2026-09-01' }, 'monthly');
    expect(axis).toEqual(ends('2026-02-14T00:00Z', '2026-08-16T00:00Z'));
  });

  it('is unknown for an open period', () => {
    expect(axisOf({ from: '2026-03-08' }, 'daily')).toBeUndefined();
  });
});

describe('amounts', () => {
  it('are added without rounding', () => {
    expect(sumOf([])).toBe('0.00');
    const cents = fc.array(fc.bigInt({ min: 0n, max: 10n ** 17n }));
    const textOf = (value: bigint) => `${value / 100n}.${String(value % 100n).padStart(2, '0')}`;
    fc.assert(
      fc.property(cents, (values) => {
        expect(sumOf(values.map(textOf))).toBe(textOf(values.reduce((sum, value) => sum + value, 0n)));
      }),
    );
  });

  it('are compared with a whole and with an earlier amount', () => {
    expect([shareOfTotal('25.00', '100.00'), shareOfTotal('0.00', '0.00')]).toEqual([0.25, 0]);
    expect([changeOf('80.00', '100.00'), changeOf('0.00', '100.00')]).toEqual([25, undefined]);
    expect([changeOf(2, 3), changeOf(4, 1), changeOf(5, 0)]).toEqual([50, -75, -100]);
  });
});

it('lists the most frequent values first', () => {
  expect(byFrequency(['USD', 'EUR', 'JPY', 'EUR'])).toEqual(['EUR', 'USD', 'JPY']);
});

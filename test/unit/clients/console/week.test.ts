import { dayAfter, dayBefore, growth, weeksUntil } from '../../../../src/clients/console/data/week';

describe('the last two weeks', () => {
  it('are seven days each, of UTC, adjoin, and end with today, also across a change of clocks', () => {
    expect(weeksUntil(Date.parse('2026-03-30T23:59:59.999Z'))).toEqual({
      before: { from: '2026-03-17', to: '2026-03-24' },
      last: { from: '2026-03-24', to: '2026-03-31' },
    });
    expect(weeksUntil(Date.parse('2027-01-01T00:00:00Z')).last).toEqual({
      from: '2026-12-26',
      to: '2027-01-02',
    });
  });
});

describe('days', () => {
  it('have neighbors, and other texts have none', () => {
    expect(dayAfter('2028-02-28')).toBe('2028-02-29');
    expect(dayBefore('2027-01-01')).toBe('2026-12-31');
    for (const text of ['', 'soon', '2026-13-01']) expect(dayAfter(text)).toBeUndefined();
  });
});

describe('growth', () => {
  it('is in percent, and unknown after nothing', () => {
    expect([growth(3, 2), growth(1, 4), growth(0, 5)]).toEqual([50, -75, -100]);
    expect(growth(5, 0)).toBeUndefined();
  });
});

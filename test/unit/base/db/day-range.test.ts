import fc from 'fast-check';
import { rangeFaults } from '../../../../src/base/db/day-range';

const dayArbitrary = fc
  .date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 10));

it('a range of days is refused at its end exactly if it does not begin before it', () => {
  fc.assert(
    fc.property(dayArbitrary, dayArbitrary, (from, to) => {
      const isRange = Date.parse(from) < Date.parse(to);
      expect(rangeFaults({ query: { from, to } })).toEqual(
        isRange
          ? []
          : [
              {
                type: 'date_range',
                loc: ['query', 'to'],
                msg: "Input should be a date after 'from'",
                input: to,
              },
            ],
      );
    }),
  );
});

it.each([
  [{ from: '2026-03-02' }],
  [{ to: '2026-03-02' }],
  [{ from: 'x', to: '2026-03-02' }],
  [{ from: '2026-03-02', to: ['2026-03-01'] }],
])('leaves %j, which is not two days, to the schema', (query) => {
  expect(rangeFaults({ query })).toEqual([]);
});

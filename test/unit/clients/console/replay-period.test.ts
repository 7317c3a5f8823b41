import fc from 'fast-check';
import { replayDay, inDays, lastHour } from '../../../../src/clients/console/data/replay-period';

const dayMilliseconds = 86_400_000;
const instants = fc.integer({ min: Date.UTC(2025, 0), max: Date.UTC(2027, 0) }).map((at) => new Date(at));

describe('a period of events', () => {
  it('is split into adjoining parts of a day at most, which one request can ask for', () => {
    fc.assert(
      fc.property(instants, fc.integer({ min: 1, max: 3 * dayMilliseconds }), (from, length) => {
        const to = new Date(from.getTime() + length);
        const parts = inDays({ from, to });
        expect([parts[0]!.from, parts.at(-1)!.to]).toEqual([from, to]);
        parts.forEach((part, at) => {
          expect(part.to.getTime() - part.from.getTime()).toBeLessThanOrEqual(dayMilliseconds);
          expect(part.to > part.from).toBe(true);
          if (at > 0) expect(part.from).toEqual(parts[at - 1]!.to);
        });
      }),
    );
  });

  it('of a day adjoins the day before, and today ends now', () => {
    fc.assert(
      fc.property(instants, fc.integer({ min: 0, max: 6 }), (now, daysAgo) => {
        expect(replayDay(now, daysAgo + 1).to).toEqual(replayDay(now, daysAgo).from);
        expect(replayDay(now, 0).to).toEqual(now);
        expect(replayDay(now, daysAgo).from.getHours()).toBe(0);
      }),
    );
  });

  it('of the last hour ends now', () => {
    const now = new Date('2026-03-01T12:00:00Z');
    expect(lastHour(now)).toEqual({ from: new Date('2026-03-01T11:00:00Z'), to: now });
  });
});

import fc from 'fast-check';
import { formatMicros, parseMicros } from '../../../../src/catalog/products/point-in-time';

describe('parseMicros', () => {
  it.each([
    ['1970-01-01T00:00:00Z', 0],
    ['1970-01-01T00:00:00.000001Z', 1],
    ['1970-01-01T00:00:01.5Z', 1_500_000],
    ['1970-01-01T01:00:00.123456+01:00', 123_456],
    ['1969-12-31T22:30:00.5-01:30', 500_000],
    ['2026-03-01T09:31:00.123456Z', 1_772_357_460_123_456],
    ['2026-03-01T09:31:00.1234569Z', 1_772_357_460_123_456],
    ['2026-03-01T09:31:00.123456999999999999Z', 1_772_357_460_123_456],
  ])('reads %s to the microsecond', (text, micros) => {
    expect(parseMicros(text)).toBe(micros);
  });

  it.each(['0000-01-01T00:00:00Z', '1969-12-31T23:59:59.999999Z', '0001-06-01T00:00:00.5+23:59'])(
    'treats %s, which is before any history, as its earliest time',
    (text) => {
      expect(parseMicros(text)).toBe(0);
    },
  );

  it('treats all times of the far future as one, which PostgreSQL can read', () => {
    for (const text of ['9999-12-31T23:59:59.999999-23:59', '2300-01-01T00:00:00Z']) {
      expect(formatMicros(parseMicros(text))).toBe('2223-07-06T14:13:20.000000Z');
    }
  });
});

describe('formatMicros', () => {
  it('writes the text that parseMicros reads', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 8_000_000_000_000_000 }), (micros) => {
        const text = formatMicros(micros);
        expect(text).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
        expect(parseMicros(text)).toBe(micros);
      }),
    );
  });
});

import { ageSecondsMaxOf } from '../../../src/http/reply/caching';

describe('Cache-Control of a request', () => {
  it.each<[string | undefined, number]>([
    [undefined, Infinity],
    ['', Infinity],
    ['no-cache', 0],
    ['No-Cache', 0],
    ['max-age=0', 0],
    ['max-age=30', 30],
    ['max-age="30"', 30],
    [' no-transform ,  no-cache ', 0],
    ['max-age=30, no-cache', 0],
    ['max-age=30, max-age=5', 5],
    ['max-age=-1', Infinity],
    ['max-age', Infinity],
    ['max-age=a', Infinity],
    ['no-store, only-if-cached, no-cacheable', Infinity],
  ])('%j allows an age of %p seconds', (header, seconds) => {
    expect(ageSecondsMaxOf({ 'Cache-Control': header })).toBe(seconds);
  });
});

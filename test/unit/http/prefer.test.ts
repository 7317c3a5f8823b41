import { parsePrefer } from '../../../src/http/contract/prefer';

describe('the header Prefer (RFC 7240)', () => {
  it.each([
    [undefined],
    [''],
    ['note="x, respond-async, y"'],
    ['note="a \\", respond-async"'],
    ['note="not closed, respond-async'],
    ['note=x; respond-async'],
    ['note=x; y="; z, respond-async"'],
    ['respond-async=no'],
    ['respond-async=no, respond-async'],
    ['xrespond-async'],
    ['"respond-async"'],
  ])('requests no asynchronous response: %s', (header) => {
    expect(parsePrefer(header)).toEqual({ respondAsync: false, isStrict: false });
  });

  it.each([
    ['respond-async'],
    ['Respond-Async'],
    ['respond-async=""'],
    ['respond-async ='],
    ['respond-async; priority=5'],
    ['note="x, y", respond-async'],
    ['note="x \\" y" , , respond-async;a="b;c"'],
    [' \t respond-async\t, note'],
  ])('requests an asynchronous response: %s', (header) => {
    expect(parsePrefer(header)).toEqual({ respondAsync: true, isStrict: false });
  });

  it.each([
    ['wait=10', 10],
    ['WAIT = 10', 10],
    ['wait="10"', 10],
    ['wait="1\\0"', 10],
    ['wait=10;note="x", wait=20', 10],
    ['note="wait=5, wait=6", wait=7', 7],
    ['wait=000000010', 10],
  ])('returns the seconds to wait: %s', (header, wait) => {
    expect(parsePrefer(header)).toEqual({ respondAsync: false, isStrict: false, wait });
  });

  it.each([
    ['wait'],
    ['wait='],
    ['wait=-1'],
    ['wait=1.5'],
    ['wait=1e3'],
    ['wait=1234567890'],
    ['note="wait=5"'],
    ['note; wait=5'],
    ['wait=soon, wait=5'],
  ])('returns no seconds to wait: %s', (header) => {
    expect(parsePrefer(header).wait).toBeUndefined();
  });

  it.each([
    ['handling=strict'],
    ['Handling = "strict"'],
    ['respond-async, handling=strict; x=1'],
    ['wait=1,handling=strict'],
  ])('requests errors for unknown parameters: %s', (header) => {
    expect(parsePrefer(header).isStrict).toBe(true);
  });

  it.each([
    ['handling'],
    ['handling=lenient'],
    ['handling=Strict'],
    ['handling=lenient, handling=strict'],
    ['note="handling=strict"'],
  ])('ignores unknown parameters: %s', (header) => {
    expect(parsePrefer(header).isStrict).toBe(false);
  });
});

import fc from 'fast-check';
import { exactNumber, parseJson, stringifyJson, writtenJson } from '../../../src/base/exact-json';

const written = (decimal: string) => stringifyJson([exactNumber(decimal)]).slice(1, -1);

describe('exactNumber', () => {
  it.each([
    ['0', '0'],
    ['0.0000', '0'],
    ['5', '5'],
    ['10.00', '10'],
    ['1000', '1000'],
    ['189.9000', '189.9'],
    ['0.0001', '0.0001'],
    ['0.0000001', '0.0000001'],
    ['2999999999999.9997', '2999999999999.9997'],
    ['999999999999999999900.0000', '999999999999999999900'],
    ['1000000000000000000000000.5', '1000000000000000000000000.5'],
    ['-12345678901234567890.1200', '-12345678901234567890.12'],
  ])('of %s is written as %s', (decimal, text) => {
    expect(written(decimal)).toBe(text);
  });

  it('keeps every digit of any decimal text', () => {
    const digits = fc.tuple(fc.bigInt({ min: 0n, max: 10n ** 25n }), fc.stringMatching(/^\d{0,8}$/));
    fc.assert(
      fc.property(digits, ([whole, fraction]) => {
        const [integer, decimals = ''] = written(`${whole}.${fraction}0`).split('.');
        expect(integer).toBe(String(whole));
        expect(decimals).toBe(fraction.replace(/0+$/, ''));
      }),
    );
  });

  it('is a JavaScript number if that has all digits', () => {
    expect(exactNumber('189.9000')).toBe(189.9);
  });
});

describe('writtenJson', () => {
  it('is written as its text, within other values and beside exact numbers', () => {
    const text = '{"a":1.50,"b":"x\\"y"}';
    expect(
      stringifyJson({ items: [writtenJson(text), exactNumber('1234567890123456.5'), writtenJson('[]')] }),
    ).toBe(`{"items":[${text},1234567890123456.5,[]]}`);
    expect(stringifyJson(writtenJson(text) as object)).toBe(text);
  });
});

describe('stringifyJson', () => {
  it('writes other values as JSON.stringify does', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), (value) => {
        expect(stringifyJson(value)).toBe(JSON.stringify(value));
      }),
    );
  });

  it('writes a value of parseJson as its original text', () => {
    const text = '{"a" : 2999999999999.99970, "b":[1e2]}';
    expect(stringifyJson(parseJson(text) as object)).toBe(text);
  });
});

import { crc32 } from 'node:zlib';
import { digestOf, generateKey, isGeneratedKey } from '../../../src/base/key-format';

describe('generateKey', () => {
  it('makes unique keys that a secret scanner can find', () => {
    const keys = Array.from({ length: 1000 }, generateKey);

    for (const key of keys) expect(key).toMatch(/^pcis_[0-9A-Za-z]{36}$/);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('ends a key with the CRC-32 of its secret part, in base 62', () => {
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    const key = generateKey();
    const checksum = [...key.slice(35)].reduce((number, digit) => number * 62 + digits.indexOf(digit), 0);

    expect(checksum).toBe(crc32(key.slice(5, 35)));
  });
});

describe('isGeneratedKey', () => {
  it('accepts every generated key', () => {
    expect(Array.from({ length: 1000 }, generateKey).every(isGeneratedKey)).toBe(true);
  });

  it('rejects a key with one changed character', () => {
    const key = generateKey();
    for (let place = 0; place < key.length; place++) {
      const other = key[place] === 'x' ? 'y' : 'x';
      expect(isGeneratedKey(key.slice(0, place) + other + key.slice(place + 1))).toBe(false);
    }
  });

  it.each([
    ['an empty text', ''],
    ['the prefix', 'pcis_'],
    ['something of the same form', `pcis_${'A'.repeat(36)}`],
    ['a key and a line end', `${generateKey()}\n`],
    ['a key and more', `${generateKey()}a`],
    ['two keys', generateKey() + generateKey()],
    ['a very long text', `pcis_${'a'.repeat(1_000_000)}`],
  ])('does not take %s for a key', (_what, text) => {
    expect(isGeneratedKey(text)).toBe(false);
  });
});

it('a digest has 32 bytes, and differs for each key', () => {
  expect(digestOf(generateKey())).toHaveLength(32);
  expect(digestOf('a')).not.toEqual(digestOf('b'));
});

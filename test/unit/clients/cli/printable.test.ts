import fc from 'fast-check';
import { byteText, printable, printableJson } from '../../../../src/clients/cli/printable';

describe('printable', () => {
  it('escapes characters that move the cursor, color, hide or reorder text', () => {
    expect(printable('a\u001b[2Jb\r\nc\td\u0000\u009b\u007f')).toBe(
      String.raw`a\u{1b}[2Jb\r\nc\td\u{0}\u{9b}\u{7f}`,
    );
    expect(printable('\u202egpj.exe\u200b\u2028\u{e0041}\ud800')).toBe(
      String.raw`\u{202e}gpj.exe\u{200b}\u{2028}\u{e0041}\u{d800}`,
    );
  });

  it('keeps letters, signs and emoji of any language', () => {
    const text = 'Zelt für 2 – テント, خيمة, палатка, 🏕';

    expect(printable(text)).toBe(text);
  });
});

describe('printableJson', () => {
  it('parses to the same value, without control characters', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.string({ unit: 'binary' }), (value, text) => {
        const json = printableJson({ value, text });
        expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify({ value, text })));
        expect(json).not.toMatch(/[^\n\P{Cc}]|[\p{Cf}\p{Zl}\p{Zp}]/u);
      }),
    );
  });

  it('escapes characters beyond U+FFFF as surrogate pairs', () => {
    expect(printableJson('\u{e0041}')).toBe(String.raw`"\udb40\udc41"`);
  });
});

describe('byteText', () => {
  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 kB'],
    [999_949, '999.9 kB'],
    [999_950, '1.0 MB'],
    [1_500_000_000, '1.5 GB'],
  ])('%d bytes are %s', (bytes, text) => {
    expect(byteText(bytes)).toBe(text);
  });
});

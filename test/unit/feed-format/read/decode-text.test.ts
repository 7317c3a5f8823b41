import fc from 'fast-check';
import { encode } from 'iconv-lite';
import type { Encoding } from '../../../../src/feed-format/format-definition';
import { FileDecoder, UndecodableText } from '../../../../src/feed-format/read/decode-text';
import { canEncode, encodeText } from '../../../../src/feed-format/write/encode-text';
import { chunksOf } from '../../../support/read-by-format';

/** Decodes a file in chunks. @returns the text, and the offset of each line, by its position in the text as UTF-8 */
function decodeAll(
  bytes: Buffer,
  encoding: Encoding,
  ...sizes: number[]
): { text: string; decoder: FileDecoder } {
  const decoder = new FileDecoder({ encoding });
  const parts: Buffer[] = chunksOf(bytes, ...sizes).map((chunk) => Buffer.from(decoder.write(chunk)));
  parts.push(decoder.end());
  return { text: Buffer.concat(parts).toString(), decoder };
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);

/** Upper halves of single-byte encodings by Unicode's tables (MAPPINGS/ISO8859, …/VENDORS/MICSFT/WINDOWS); `·`: undefined. */
const latin1 = String.fromCharCode(...range(0xa0, 0xff));
const controls = String.fromCharCode(...range(0x80, 0x9f));
const upperHalves = {
  'windows-1250':
    '€·‚·„…†‡·‰Š‹ŚŤŽŹ·‘’“”•–—·™š›śťžź' +
    '\u00a0ˇ˘Ł¤Ą¦§¨©Ş«¬\u00ad®Ż°±˛ł´µ¶·¸ąş»Ľ˝ľżŔÁÂĂÄĹĆÇČÉĘËĚÍÎĎĐŃŇÓÔŐÖ×ŘŮÚŰÜÝŢßŕáâăäĺćçčéęëěíîďđńňóôőö÷řůúűüýţ˙',
  'windows-1251':
    'ЂЃ‚ѓ„…†‡€‰Љ‹ЊЌЋЏђ‘’“”•–—·™љ›њќћџ' +
    '\u00a0ЎўЈ¤Ґ¦§Ё©Є«¬\u00ad®Ї°±Ііґµ¶·ё№є»јЅѕїАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯабвгдежзийклмнопрстуфхцчшщъыьэюя',
  'windows-1252': `€·‚ƒ„…†‡ˆ‰Š‹Œ·Ž··‘’“”•–—˜™š›œ·žŸ${latin1}`,
  'windows-1254': `€·‚ƒ„…†‡ˆ‰Š‹Œ····‘’“”•–—˜™š›œ··Ÿ${latin1
    .replace('Ð', 'Ğ')
    .replace('Ý', 'İ')
    .replace('Þ', 'Ş')
    .replace('ð', 'ğ')
    .replace('ý', 'ı')
    .replace('þ', 'ş')}`,
  'windows-1253':
    '€·‚ƒ„…†‡·‰·‹·····‘’“”•–—·™·›····' +
    '\u00a0΅Ά£¤¥¦§¨©·«¬\u00ad®―°±²³΄µ¶·ΈΉΊ»Ό½ΎΏΐΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡ·ΣΤΥΦΧΨΩΪΫάέήίΰαβγδεζηθικλμνξοπρςστυφχψωϊϋόύώ·',
  // WHATWG adds 0xca, which the table of Unicode leaves out.
  'windows-1255':
    '€·‚ƒ„…†‡ˆ‰·‹·····‘’“”•–—˜™·›····' +
    '\u00a0¡¢£₪¥¦§¨©×«¬\u00ad®¯°±²³´µ¶·¸¹÷»¼½¾¿' +
    `${String.fromCharCode(...range(0x5b0, 0x5c3))}װױײ׳״·······אבגדהוזחטיךכלםמןנסעףפץצקרשת··\u200e\u200f·`,
  'windows-1256':
    '€پ‚ƒ„…†‡ˆ‰ٹ‹Œچژڈگ‘’“”•–—ک™ڑ›œ\u200c\u200dں' +
    '\u00a0،¢£¤¥¦§¨©ھ«¬\u00ad®¯°±²³´µ¶·¸¹؛»¼½¾؟ہءآأؤإئابةتثجحخدذرزسشصض×طظعغـفقكàلâمنهوçèéêëىيîï' +
    '\u064b\u064c\u064d\u064eô\u064f\u0650÷\u0651ù\u0652ûü\u200e\u200fے',
  'windows-1257':
    '€·‚·„…†‡·‰·‹·¨ˇ¸·‘’“”•–—·™·›·¯˛·' +
    '\u00a0·¢£¤·¦§Ø©Ŗ«¬\u00ad®Æ°±²³´µ¶·ø¹ŗ»¼½¾æĄĮĀĆÄÅĘĒČÉŹĖĢĶĪĻŠŃŅÓŌÕÖ×ŲŁŚŪÜŻŽßąįāćäåęēčéźėģķīļšńņóōõö÷ųłśūüżž˙',
  'windows-874':
    '€····…···········‘’“”•–—········' +
    `\u00a0${String.fromCharCode(...range(0xe01, 0xe3a))}····${String.fromCharCode(...range(0xe3f, 0xe5b))}····`,
  'iso-8859-1': controls + latin1,
  'iso-8859-2':
    controls +
    '\u00a0Ą˘Ł¤ĽŚ§¨ŠŞŤŹ\u00adŽŻ°ą˛ł´ľśˇ¸šşťź˝žżŔÁÂĂÄĹĆÇČÉĘËĚÍÎĎĐŃŇÓÔŐÖ×ŘŮÚŰÜÝŢßŕáâăäĺćçčéęëěíîďđńňóôőö÷řůúűüýţ˙',
  'iso-8859-15':
    controls +
    latin1
      .replace('¤', '€')
      .replace('¦', 'Š')
      .replace('¨', 'š')
      .replace('´', 'Ž')
      .replace('¸', 'ž')
      .replace('¼', 'Œ')
      .replace('½', 'œ')
      .replace('¾', 'Ÿ'),
};
const singleByteEncodings = Object.keys(upperHalves) as (keyof typeof upperHalves)[];

/** Encodings in which `·` is the middle dot itself at 0xb7. */
const middleDot = 0xb7;

describe.each(singleByteEncodings)('%s', (encoding) => {
  test.each(range(0, 255))('decodes byte %i by the tables of Unicode, or rejects it', (byte) => {
    const expected = byte < 0x80 ? String.fromCharCode(byte) : upperHalves[encoding][byte - 0x80]!;
    const bytes = Buffer.from([0x61, 0x61, 0x61, 0x61, byte]);
    if (expected === '·' && byte !== middleDot) {
      expect(() => decodeAll(bytes, encoding, 5)).toThrow(UndecodableText);
    } else expect(decodeAll(bytes, encoding, 5).text).toBe(`aaaa${expected}`);
  });

  test('writes each character that it reads, and has no other', () => {
    const characters = Array.from(upperHalves[encoding]).filter((each) => each !== '·');
    expect(characters.filter((each) => !canEncode(each, encoding))).toEqual([]);
    expect(decodeAll(encodeText(characters.join(''), encoding), encoding, 3).text).toBe(characters.join(''));
    for (const foreign of ['日', '\u0e5c', '😀']) expect(canEncode(foreign, encoding)).toBe(false);
  });
});

describe('compared with the decoder of the platform', () => {
  // The platform follows WHATWG, and some versions of Node have a wrong windows-1252: both agree on these encodings.
  const same: Encoding[] = [
    'iso-8859-2',
    'iso-8859-15',
    'euc-kr',
    'shift_jis',
    'euc-jp',
    'utf-16le',
    'utf-16be',
  ];

  test.each(same)('decodes text of %s in the same way', (encoding) => {
    const letters = {
      'iso-8859-2': 'Łódź ąęśćż Ďáblík\r\n',
      'iso-8859-15': 'Œuvre à 5 €, Žižkov\r\n',
      'euc-kr': '한국어 상품 목록\r\n',
      shift_jis: '日本語の商品ｱｲｳ 表ソ能\r\n',
      'euc-jp': '日本語の商品 表ソ能\r\n',
      'utf-16le': 'Größe 😀 日本\r\n',
      'utf-16be': 'Größe 😀 日本\r\n',
    }[encoding as string]!;
    const bytes = encode(letters.repeat(3), encoding, { addBOM: false });
    expect(decodeAll(bytes, encoding, 3).text).toBe(new TextDecoder(encoding).decode(bytes));
  });

  test('accepts the same UTF-16 with every code unit beside a letter, and rejects halves of pairs', () => {
    for (const encoding of ['utf-16le', 'utf-16be'] as const) {
      for (let unit = 0; unit <= 0xffff; unit += 0x101) {
        const bytes = encode('ab', encoding);
        const middle = encoding === 'utf-16le' ? [unit & 0xff, unit >> 8] : [unit >> 8, unit & 0xff];
        const file = Buffer.concat([bytes, Buffer.from(middle), bytes]);
        if (unit >= 0xd800 && unit <= 0xdfff)
          expect(() => decodeAll(file, encoding, 4)).toThrow(UndecodableText);
        else expect(decodeAll(file, encoding, 4).text).toBe(`ab${String.fromCharCode(unit)}ab`);
      }
    }
  });
});

const alphabets: Record<Encoding, string> = {
  'utf-8': 'aé日😀\n\r,',
  'utf-16le': 'aé日😀\n\r,\u0a0d\u0d0a',
  'utf-16be': 'aé日😀\n\r,\u0a0d\u0d0a',
  'windows-1250': 'aŁź\n\r,',
  'windows-1251': 'aЖя\n\r,',
  'windows-1252': 'aé€\n\r,',
  'windows-1253': 'aΆλώ\n\r,',
  'windows-1254': 'ağş\n\r,',
  'windows-1255': 'aאת₪\n\r,',
  'windows-1256': 'aپي؟\n\r,',
  'windows-1257': 'aėŗž\n\r,',
  'windows-874': 'aกา€\n\r,',
  'iso-8859-1': 'aéÿ\n\r,',
  'iso-8859-2': 'ałž\n\r,',
  'iso-8859-15': 'a€œ\n\r,',
  shift_jis: 'aｱ表ソ日\n\r,',
  'euc-jp': 'aｱ表日丂\n\r,',
  'euc-kr': 'a한글\n\r,',
  gb18030: 'aé中文😀ÿ\n\r,',
  big5: 'a中許功Ê̄\n\r,',
};
const encodings = Object.keys(alphabets) as Encoding[];

describe.each(encodings)('chunks of %s', (encoding) => {
  const file = fc
    .array(fc.constantFrom(...alphabets[encoding].match(/\P{M}\p{M}*/gu)!), { maxLength: 60 })
    .map((all) => all.join(''));
  const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });

  test('may end anywhere, also within a character: text and offsets of lines are exact', () => {
    fc.assert(
      fc.property(file, sizes, fc.boolean(), (text, chunkSizes, hasMark) => {
        const isUnicode = encoding.startsWith('utf-');
        const options = { addBOM: hasMark && isUnicode };
        const bytes = encode(text, encoding, options);
        const markBytes = bytes.length - encode(text, encoding, { addBOM: false }).length;
        const decoded = decodeAll(bytes, encoding, ...chunkSizes);
        expect(decoded.text).toBe(text);
        for (let at = 0; at <= text.length; at++) {
          if (at > 0 && text[at - 1] !== '\n' && text[at - 1] !== '\r') continue;
          const expected = markBytes + encode(text.slice(0, at), encoding, { addBOM: false }).length;
          expect(decoded.decoder.offsets.sourceOf(Buffer.byteLength(text.slice(0, at)))).toBe(expected);
        }
      }),
    );
  });

  test('reject a file that ends within a character, or has an invalid byte', () => {
    const beyondAscii = [...alphabets[encoding]].find((letter) => encode(letter, encoding).length > 1);
    if (beyondAscii === undefined) return;
    const whole = encode(`abcd${beyondAscii}`, encoding, { addBOM: false });
    expect(() => decodeAll(whole.subarray(0, -1), encoding, 2)).toThrow(UndecodableText);
  });
});

test.each([
  ['shift_jis', 'ff'],
  ['shift_jis', '810a'],
  ['euc-jp', '80'],
  ['euc-jp', 'a10a'],
  ['euc-kr', 'ff'],
  ['euc-kr', '810d'],
  ['big5', '80'],
  ['big5', 'a40a'],
  ['gb18030', 'ff'],
  ['gb18030', '81300a'],
  ['gb18030', 'e332c030'],
  ['utf-8', 'c0af'],
  ['utf-8', 'eda080'],
  ['utf-8', 'f4908080'],
] as [Encoding, string][])('rejects %s with the bytes %s', (encoding, hex) => {
  const bytes = Buffer.from(`61626364${hex}6162`, 'hex');
  for (const size of [1, 2, 3, 100]) expect(() => decodeAll(bytes, encoding, size)).toThrow(UndecodableText);
});

test('a byte order mark overrides the encoding, and is not part of the text', () => {
  for (const encoding of ['utf-8', 'utf-16le', 'utf-16be'] as const) {
    const { text, decoder } = decodeAll(encode('aé\n', encoding, { addBOM: true }), 'windows-1252', 1);
    expect(text).toBe('aé\n');
    expect(decoder.encoding).toBe(encoding);
  }
});

test('UTF-8 agrees with the decoder of the platform on any bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 30 }), fc.integer({ min: 1, max: 7 }), (array, size) => {
      const bytes = Buffer.concat([Buffer.from('abcd'), array]);
      let expected: string | undefined;
      try {
        expected = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
      } catch {
        expected = undefined;
      }
      if (expected === undefined) expect(() => decodeAll(bytes, 'utf-8', size)).toThrow(UndecodableText);
      else expect(decodeAll(bytes, 'utf-8', size).text).toBe(expected);
    }),
  );
});

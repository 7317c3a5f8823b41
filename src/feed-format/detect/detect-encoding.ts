import { detectMark } from '../read/byte-order-mark';
import type { Encoding } from '../format-definition';
import { decodeBeginning, isUtf8, wholeCharacters } from '../read/decode-text';
import { scriptOf } from './detect-script';

/** The likeliest encoding; null if none is likely. */
export interface EncodingGuess {
  encoding: Encoding | null;
  /** 0 to 1. */
  confidence: number;
}

const unknown: EncodingGuess = { encoding: null, confidence: 0 };

/** Sample size that is enough to detect the encoding. */
const sampleBytes = 64 * 1024;

/**
 * Finds the encoding of a text: by its byte order mark, as UTF-8, by the zero bytes of UTF-16, by the letters of scripts, by the
 * bytes of East Asian encodings, and by the letters of languages.
 * @param bytes - the file, or its beginning
 */
export function detectEncoding(bytes: Buffer): EncodingGuess {
  const mark = detectMark(bytes);
  if (mark.markBytes > 0) return { encoding: mark.encoding, confidence: 1 };
  const utf16 = utf16Of(bytes);
  if (utf16) return utf16;
  // A file of another encoding rarely ends with the beginning of a character; it counts as broken UTF-8 below.
  if (isUtf8(bytes)) return { encoding: 'utf-8', confidence: 1 };
  const sample = sampleOf(bytes);
  if (sample.includes(0)) return unknown;
  const script = scriptOf(sample);
  if (script) return script.encoding === 'windows-1253' ? greekOrCyrillic(script, sample) : script;
  if (looksLikeBrokenUtf8(sample)) return unknown;
  return eastAsianOf(sample) ?? singleByteOf(sample);
}

/** Detects UTF-16 without a mark: ASCII characters, at least at line ends, have a zero byte on one side only. */
function utf16Of(bytes: Buffer): EncodingGuess | undefined {
  const sample = bytes.subarray(0, sampleBytes & ~1);
  const zeros = [0, 0];
  for (let at = 0; at < sample.length; at++) if (sample[at] === 0) zeros[at % 2]!++;
  const [even, odd] = zeros as [number, number];
  const most = Math.max(even, odd);
  if (most < 2 || most < sample.length / 100 || Math.min(even, odd) > most / 20) return undefined;
  const encoding = odd > even ? 'utf-16le' : 'utf-16be';
  const text = decodeBeginning(sample.subarray(0, sample.length & ~1), { encoding })?.toString() ?? '';
  return /[\r\n]/.test(text) && /[,;\t|]/.test(text) ? { encoding, confidence: 0.95 } : undefined;
}

/** Selects the lines with non-ASCII bytes, which alone show the encoding. */
function sampleOf(bytes: Buffer): Buffer {
  if (bytes.length <= sampleBytes) return bytes;
  const lines: Buffer[] = [];
  let taken = 0;
  for (let at = 0; at < bytes.length && taken < sampleBytes;) {
    const found = bytes.indexOf(0x0a, at);
    const end = found === -1 ? bytes.length : found + 1;
    const line = bytes.subarray(at, end);
    if (line.some((byte) => byte >= 0x80)) {
      lines.push(line);
      taken += line.length;
    }
    at = end;
  }
  return Buffer.concat(lines).subarray(0, 2 * sampleBytes);
}

/** Whether most non-ASCII bytes are characters of UTF-8. */
function looksLikeBrokenUtf8(bytes: Buffer): boolean {
  const text = bytes.toString('latin1');
  const beyond = text.match(/[\x80-\xff]/g)?.length ?? 0;
  const inUtf8 = text.match(/[\xc3-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}/g);
  const characters = inUtf8?.reduce((sum, each) => sum + each.length, 0) ?? 0;
  const isCut = wholeCharacters(bytes) < bytes.length && characters === 0 && beyond <= 3 && beyond > 1;
  return isCut || characters > 0.7 * beyond;
}

/** The share of byte pairs with a first byte in this range. */
type LeadShare = (from: number, to: number) => number;

/** Bytes of the common characters of the East Asian encodings, with functions for their share in a text. */
const eastAsian: readonly {
  encoding: Encoding;
  commonness: (share: LeadShare, lowTrails: number) => number;
}[] = [
  // Kana have two lead bytes of their own in both encodings of Japanese.
  {
    encoding: 'shift_jis',
    commonness: (share) => (share(0x82, 0x83) > 0.15 ? share(0x81, 0x98) : 0),
  },
  { encoding: 'euc-jp', commonness: (share) => (share(0xa4, 0xa5) > 0.15 ? share(0xa1, 0xcf) : 0) },
  // Hangul; Chinese uses the lead bytes behind them as often.
  {
    encoding: 'euc-kr',
    commonness: (share, lowTrails) => (share(0xa4, 0xa5) < 0.1 && lowTrails < 0.05 ? share(0xa1, 0xc8) : 0),
  },
  // In simplified Chinese, the second byte of common characters is high as well.
  {
    encoding: 'gb18030',
    commonness: (share, lowTrails) =>
      share(0xa4, 0xa5) < 0.1 && lowTrails < 0.1 ? share(0xa1, 0xd7) - 0.06 : 0,
  },
  {
    encoding: 'big5',
    commonness: (share, lowTrails) => (lowTrails > 0.15 ? share(0xa1, 0xc6) : 0),
  },
];

const commonnessMin = 0.75;

function eastAsianOf(sample: Buffer): EncodingGuess | undefined {
  const scored = eastAsian
    .flatMap(({ encoding, commonness }) => {
      const pairs = pairsOf(sample, encoding);
      if (pairs.leads.length === 0 || decodeBeginning(sample, { encoding }) === undefined) return [];
      const share: LeadShare = (from, to) =>
        pairs.leads.filter((lead) => lead >= from && lead <= to).length / pairs.leads.length;
      // Characters of these scripts form runs, and are rare within words of Latin letters.
      const score = pairs.withinWords > 0.3 ? 0 : commonness(share, pairs.lowTrails / pairs.leads.length);
      return score >= commonnessMin ? [{ encoding, score, count: pairs.leads.length }] : [];
    })
    .sort((a, b) => b.score - a.score);
  const [best, second] = scored;
  if (!best) return undefined;
  const isClear = best.score - (second?.score ?? 0) > 0.05 && best.count >= 20;
  return { encoding: best.encoding, confidence: isClear ? 0.93 : best.count >= 8 ? 0.75 : 0.5 };
}

/** Splits a text into characters of two bytes. */
function pairsOf(bytes: Buffer, encoding: Encoding) {
  const leads: number[] = [];
  let lowTrails = 0;
  let within = 0;
  const isKana = (byte: number) => encoding === 'shift_jis' && byte >= 0xa1 && byte <= 0xdf;
  let previous = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte < 0x80 || isKana(byte)) {
      previous = byte;
      continue;
    }
    leads.push(byte);
    const trail = bytes[at + 1] ?? 0;
    if (trail < 0xa1) lowTrails++;
    if (isSmallLetter(previous) || isSmallLetter(bytes[at + 2])) within++;
    previous = 0;
    at++;
  }
  return { leads, lowTrails, withinWords: within / Math.max(1, leads.length) };
}

const isSmallLetter = (byte: number | undefined) => byte !== undefined && byte >= 0x61 && byte <= 0x7a;

/** Languages with the same encodings. */
interface Languages {
  encodings: readonly Encoding[];
  /** Non-ASCII letters of each language. Those before a blank, if there is one, are typical: a long text has them. */
  letters: readonly string[];
  /** Minimum number of typical letters. */
  typicalMin?: number;
}

const languages: readonly Languages[] = [
  {
    encodings: ['windows-1252', 'iso-8859-15'],
    letters: [
      'äöüß', // German
      'éèàê çùâôîûëïœæÿ', // French
      'áéíóúñü', // Spanish
      'àèéìòù', // Italian
      'áâãàçéêíóôõúü', // Portuguese
      'éëïóöüèáúêç', // Dutch
      'åäöéàü', // Swedish, Finnish
      'äõüö', // Estonian
      'æøåéèêóòâôü', // Danish, Norwegian
      'áéíóúýþæöð', // Icelandic
    ],
  },
  {
    encodings: ['windows-1250', 'iso-8859-2'],
    letters: [
      'ąćęłńóśźż', // Polish
      'áčďéěíňóřšťúůýž', // Czech
      'áäčďéíĺľňóôŕšťúýž', // Slovak
      'áéíóöőúüű', // Hungarian
      'ăâîşţé', // Romanian
      'čćđšž', // Croatian, Slovenian
    ],
  },
  { encodings: ['windows-1254'], letters: ['ıüşö çğâîû'] },
  // Last, because most Estonian text is the same in Windows-1252. Some of these bytes are frequent in other languages.
  {
    encodings: ['windows-1257'],
    typicalMin: 3,
    letters: [
      'šž ėąčęįųū', // Lithuanian
      'āīš ēūļņķžčģ', // Latvian
      'õšž äüö', // Estonian
    ],
  },
];

/** Signs that occur between words, and beside numbers. */
const plainSigns = /[\s“”„‚‘’–—…•€£¥§©®™°²³½¼¾×µ«»·±¿¡¹ªº´¨\u00a0]/;

const cyrillic = /[\u0400-\u04ff№«»–—“”„…°\s©®™\u00a0]/;

function singleByteOf(sample: Buffer): EncodingGuess {
  const russian = cyrillicOf(sample);
  if (russian) return russian;
  // The encodings differ in few bytes: all other letters of a language count too.
  const scored = languages
    .flatMap((each) =>
      each.encodings.map((encoding) => {
        const text = decodeBeginning(sample, { encoding })?.toString();
        // Control characters of ISO 8859 are letters and quotes of Windows.
        const isReadable = text !== undefined && !/[\u0080-\u009f]/.test(text);
        return { encoding, text, score: isReadable ? likelihood(text, each) : -1 };
      }),
    )
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  const [best] = scored;
  if (!best) return { encoding: isText(sample) ? 'windows-1252' : null, confidence: 0.2 };
  const rival = scored.find(({ text }) => text !== best.text);
  const margin = best.score - (rival?.score ?? 0);
  const letters = best.text!.match(/[^\p{ASCII}]/gu)?.length ?? 0;
  const isClear = best.score > 0.9 && (margin > 0.3 || (margin > 0.15 && letters >= 10)) && letters >= 3;
  const confidence = isClear ? 0.92 : margin > 0.05 && best.score > 0.8 ? 0.7 : 0.5;
  // The platform and Excel write Windows-1252 if the texts are the same.
  return { encoding: best.encoding, confidence };
}

const isText = (sample: Buffer) => decodeBeginning(sample, { encoding: 'windows-1252' }) !== undefined;

/** Number of characters that are enough for a likelihood. */
const charactersMax = 5_000;

/** Returns how well a text fits the best of some languages, 0 to 1. */
function likelihood(text: string, { letters: alphabets, typicalMin }: Languages): number {
  const beyond = [...text.matchAll(/[^\p{ASCII}]/gu)].slice(0, charactersMax);
  if (beyond.length === 0) return 0;
  const characters = beyond.map(([character]) => character.toLowerCase());
  const isLetter = (at: number) => /\p{L}/u.test(text[at] ?? '');
  const scores = alphabets.map((alphabet) => {
    let sum = 0;
    for (const { 0: character, index } of beyond) {
      const isWithinWord = isLetter(index - 1) && isLetter(index + 1);
      if (alphabet.includes(character.toLowerCase())) sum += 1;
      else if (character === '´') sum += 0.9;
      else if (!isWithinWord && (character === '€' || plainSigns.test(character))) sum += 0.9;
      else if (/\p{L}/u.test(character)) sum += 0.2;
      else sum -= /\p{Cc}/u.test(character) ? 2 : 0.5;
    }
    const weight = isTypical(characters, alphabet, typicalMin) ? 1 : 0.5;
    return (weight * sum) / beyond.length;
  });
  return Math.max(...scores);
}

/** Minimum share of the typical letters of a language among those beyond ASCII. */
const typicalShareMin = 0.1;

/** Tells whether small letters beyond ASCII include enough typical letters, if the language has some. */
function isTypical(characters: readonly string[], alphabet: string, typicalMin = 0): boolean {
  const [typical = '', others] = alphabet.split(' ');
  if (others === undefined) return true;
  const found = characters.filter((each) => typical.includes(each)).length;
  return found >= Math.max(typicalMin, Math.floor(characters.length * typicalShareMin));
}

/** Russian in lower case passes for Greek without accents; Greek with accents has capitals within words as Russian. */
function greekOrCyrillic(greek: EncodingGuess, sample: Buffer): EncodingGuess {
  const russian = cyrillicOf(sample);
  if (!russian || russian.encoding === null) return greek;
  const text = sample.toString('latin1');
  const isLowerCase = (text.match(/[\xe0-\xff]/g)?.length ?? 0) > (text.match(/[\xc0-\xdf]/g)?.length ?? 0);
  return isLowerCase ? russian : unknown;
}

/** Detects Windows-1251: words of its letters, with the vowels of Slavic languages, and lower case after lower case. */
function cyrillicOf(sample: Buffer): EncodingGuess | undefined {
  const inWords =
    sample
      .toString('latin1')
      .match(/[\xa8\xb2\xb3\xb8\xbf\xaa\xba\xc0-\xff]{3,}/g)
      ?.join('') ?? '';
  const beyond = sample.toString('latin1').match(/[\x80-\xff]/g)?.length ?? 0;
  if (inWords.length < 0.75 * beyond) return undefined;
  const text = decodeBeginning(sample, { encoding: 'windows-1251' })?.toString();
  if (text === undefined) return unknown;
  const foreign = [...text].filter((each) => each > '\x7f' && !cyrillic.test(each)).length;
  const letters = text.match(/[\u0400-\u04ff]/g) ?? [];
  const vowels = text.match(/[аеиоуыяіїєАЕИОУЫЯ]/g)?.length ?? 0;
  const misplaced = text.match(/[а-я][А-Я]/g)?.length ?? 0;
  if (foreign > beyond / 20 || vowels < letters.length / 4 || misplaced > letters.length / 10) return unknown;
  return { encoding: 'windows-1251', confidence: letters.length >= 10 ? 0.95 : 0.7 };
}

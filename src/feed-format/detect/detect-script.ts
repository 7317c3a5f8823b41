import type { Encoding } from '../format-definition';
import { decodeBeginning } from '../read/decode-text';

/** How texts in the letters of a script look. */
interface Script {
  encoding: Encoding;
  /** Words of its letters and marks. */
  words: RegExp;
  /** Common letters in texts of its languages. */
  common: string;
  /** Minimum share of the common letters. */
  commonMin: number;
  /** Letters and marks where the script has none, and case in the wrong order. */
  misplaced: RegExp;
  /** What the same bytes are if the text is in a similar encoding, which no format has. */
  foreign?: RegExp;
}

const scripts: readonly Script[] = [
  {
    encoding: 'windows-1253',
    words: /[\u0370-\u03ff]{2,}/g,
    common: 'αειοηυάέίόήύωώτσςνΑΕΙΟΗΥΩΆΈΊΌΉΎΏΤΣΝ',
    commonMin: 0.58,
    misplaced: /[ά-ώ][Α-Ω]|ς(?=[α-ώ])/g,
    // Where ISO 8859-7 has a letter, and where it has a quote.
    foreign: /¶(?=[Α-ώ])|(?<=[α-ώ])Ά/,
  },
  {
    encoding: 'windows-1255',
    words: /[\u05b0-\u05f4]{2,}/g,
    common: 'יוהלארתבמשנ',
    commonMin: 0.5,
    misplaced: /[ךםןףץ](?=[א-ת])|(?<![\u05b0-\u05ea])[\u05b0-\u05c3]/g,
  },
  {
    encoding: 'windows-1256',
    words: /[\u0621-\u06d2]{2,}/g,
    common: 'اليمونرتبهدسك',
    commonMin: 0.55,
    misplaced: /[ةى](?=[ء-ي])|(?<![\u0621-\u06d2])[\u064b-\u0652]/g,
    // Where ISO 8859-6 has letters.
    foreign: /[âçèéê](?=[ء-ي])|(?<=[ء-ي])[âçèéê]/,
  },
  {
    encoding: 'windows-874',
    words: /[\u0e01-\u0e4e]{2,}/g,
    common: 'านรกอเงมยลวดทสตะั่้ิีไบปคแหพุูโชซผถำขฟ็์ืึใจ๊ธศ',
    commonMin: 0.9,
    // A vowel or tone mark that follows no consonant; a leading vowel before none.
    misplaced: /(?<![ก-ฮ]|[\u0e31-\u0e3a\u0e47-\u0e4e])[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]|[เ-ไ](?![ก-ฮ])/g,
  },
];

const lettersMin = 6;

/** Minimum share of letters in words among the characters beyond ASCII. */
const lettersShareMin = 0.8;

/** Maximum share of misplaced letters. */
const misplacedMax = 0.03;

/** Letters of other scripts beside letters beyond ASCII, as in words of Latin letters. */
const joints = /[a-z](?=[^\p{ASCII}])|[^\p{ASCII}](?=[a-z])/giu;

/** Maximum joints per letter. */
const jointsMax = 0.25;

/** Finds the only script of a text in a single-byte encoding, if it is Greek, Hebrew, Arabic or Thai. */
export function scriptOf(sample: Buffer): { encoding: Encoding; confidence: number } | undefined {
  const beyondAscii = sample.toString('latin1').match(/[\x80-\xff]/g)?.length ?? 0;
  const fitting = scripts.flatMap((script) => {
    const letters = lettersOf(sample, script, beyondAscii);
    return letters === undefined ? [] : [{ encoding: script.encoding, letters }];
  });
  const [only] = fitting;
  if (!only || fitting.length > 1) return undefined;
  return { encoding: only.encoding, confidence: only.letters >= 10 ? 0.95 : 0.7 };
}

/** Counts the letters of a text. @returns undefined if the text is not of the script */
function lettersOf(sample: Buffer, script: Script, beyondAscii: number): number | undefined {
  const text = decodeBeginning(sample, { encoding: script.encoding })?.toString();
  const letters = text?.match(script.words)?.join('') ?? '';
  const count = letters.length;
  if (text === undefined || count < lettersMin || count < lettersShareMin * beyondAscii) return undefined;
  if (script.foreign?.test(text)) return undefined;
  const share = (pattern: RegExp) => (text.match(pattern)?.length ?? 0) / count;
  if (share(script.misplaced) > misplacedMax || share(joints) > jointsMax) return undefined;
  const common = [...letters].filter((letter) => script.common.includes(letter)).length;
  return common >= script.commonMin * count ? count : undefined;
}

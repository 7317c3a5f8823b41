import knowledge from './knowledge.json';

/** What a word in a header stands for. */
export type Concept = keyof typeof knowledge.words;

/** A concept that a word has in a language. */
export interface KnownWord {
  concept: Concept;
  /** BCP 47, `und` for words of all languages. */
  language: string;
}

/** A cell's meaning under availability or price. */
type Value = keyof typeof knowledge.values;

const letters = /[^\p{L}\p{N}\p{M}\p{Sc}]/gu;
const foldable = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}][\p{M}]*/gu;
const umlauts: Readonly<Record<string, string>> = { ä: 'ae', ö: 'oe', ü: 'ue', å: 'aa', ø: 'oe', æ: 'ae' };

/** Returns a text in lower case, in one width, with the letters of its language. */
export const plainText = (text: string): string =>
  text.normalize('NFKC').toLowerCase().replaceAll('\u0307', '').replaceAll('°', 'o');

/** Returns the letters, digits and currency signs of a text, in lower case. */
export const wordKey = (text: string): string => plainText(text).replace(letters, '');

/** Returns a word without accents, in Arabic without its article too. */
function foldWord(word: string): string {
  return word
    .replace(foldable, (each) => each.normalize('NFD').replace(/\p{Mn}/gu, ''))
    .replace(/[ßłđıøæςةأإآى]/g, (each) => foldedLetters[each]!)
    .replace(/\u0651/g, '')
    .replace(/^ال(?=..)/, '');
}

const foldedLetters: Readonly<Record<string, string>> = {
  ß: 'ss',
  ł: 'l',
  đ: 'd',
  ı: 'i',
  ø: 'o',
  æ: 'ae',
  ς: 'σ',
  ة: 'ه',
  أ: 'ا',
  إ: 'ا',
  آ: 'ا',
  ى: 'ي',
};

type Words = Map<string, KnownWord[]>;

interface Index {
  exact: Words;
  /** Without accents, or with umlauts in two letters. */
  folded: Words;
  /** Words of languages with inflection, without their ending. */
  stems: Words;
  endings: Map<string, readonly string[]>;
}

/** Shorter stems belong to too many words. */
const stemMin = 4;

let built: Index | undefined;

/** Returns the words of the data file, by spelling. */
function index(): Index {
  return (built ??= build());
}

function build(): Index {
  const { exact, folded, stems } = { exact: new Map(), folded: new Map(), stems: new Map() } as Index;
  const endings = new Map(
    Object.entries(knowledge.endings).map(([language, list]) => [language, ['', ...list]]),
  );
  for (const [name, { words }] of Object.entries(knowledge.words)) {
    const concept = name as Concept;
    for (const [language, list] of Object.entries(words as Record<string, string[]>))
      for (const word of list) {
        const known = { concept, language };
        const key = wordKey(word);
        add(exact, key, known);
        add(folded, foldWord(key), known);
        add(folded, foldWord(key.replace(/[äöüåøæ]/g, (each) => umlauts[each]!)), known);
        for (const stem of stemsOf(key, endings.get(language) ?? [])) add(stems, stem, known);
      }
  }
  return { exact, folded, stems, endings };
}

function add(words: Words, key: string, known: KnownWord): void {
  const list = words.get(key);
  if (!list) words.set(key, [known]);
  else if (!list.some((each) => each.concept === known.concept && each.language === known.language))
    list.push(known);
}

const stemsOf = (word: string, endings: readonly string[]): string[] =>
  endings
    .filter((ending) => word.endsWith(ending) && word.length - ending.length >= stemMin)
    .map((ending) => word.slice(0, word.length - ending.length));

/** Finds a word as it is spelled. */
export const findWord = (key: string): readonly KnownWord[] | undefined => index().exact.get(key);

/** Finds a word by its letters without accents. */
export const findFolded = (key: string): readonly KnownWord[] | undefined =>
  index().folded.get(foldWord(key));

/** Finds a word by its stem: with another ending of the same language. */
export function findInflected(key: string): readonly KnownWord[] | undefined {
  if (inflected.size > inflectedMax) inflected.clear();
  if (!inflected.has(key)) inflected.set(key, byStem(key));
  return inflected.get(key);
}

/** Words that were looked up by their stem: the same ones occur in all cells of a column. */
const inflected = new Map<string, readonly KnownWord[] | undefined>();
const inflectedMax = 10_000;

function byStem(key: string): readonly KnownWord[] | undefined {
  const { stems, endings } = index();
  const found = [...endings].flatMap(([language, list]) =>
    stemsOf(key, list).flatMap((stem) =>
      (stems.get(stem) ?? []).filter((known) => known.language === language),
    ),
  );
  return found.length > 0 ? found : undefined;
}

let values: Map<string, Value> | undefined;

/** Returns what a cell under availability or price says in words: `auf Lager` is in_stock. */
export function valueMeant(cell: string): Value | undefined {
  values ??= new Map(
    Object.entries(knowledge.values).flatMap(([value, { words }]) =>
      Object.values(words as Record<string, string[]>)
        .flat()
        .map((word): [string, Value] => [plainText(word), value as Value]),
    ),
  );
  return values.get(plainText(cell.trim()).replace(/\s+/g, ' '));
}

import { isActiveCurrency } from '../currency';
import { knownWordsOf, type HeaderWord } from './header-words';
import {
  claimOf,
  type HeaderClaim,
  type HeaderField,
  type HeaderKind,
  type HeaderReading,
} from './header-claims';
import type { Concept, KnownWord } from './known-words';

/** What a column has, by its header alone. */
export interface HeaderMeaning extends HeaderClaim {
  /** Plain words: `its name is Polish for price`. */
  reason: string;
}

/** Longer cells are no names. */
const headerCharactersMax = 100;

/** Tells what a header means, by its words. Undefined: it has no word of any meaning. */
export function meaningOf(header: string): HeaderMeaning | undefined {
  if (header.length > headerCharactersMax) return undefined;
  const reading = read(header);
  if (reading.concepts.size === 0) return undefined;
  const claim = claimOf(reading);
  return {
    ...claim,
    strength:
      Math.round(100 * Math.min(0.97, claim.strength * reading.share * certainty(claim, reading))) / 100,
    reason: reasonFor(claim, reading),
  };
}

/** Words of these do not say what a column has. */
const silent: ReadonlySet<Concept> = new Set(['filler', 'neutral', 'money']);

function read(header: string): HeaderReading {
  const words = knownWordsOf(header.trim().replace(/^g:/i, '')).filter(
    (word, at, all) => !isMark(word, at, all),
  );
  const languages = spokenIn(words);
  const isPlace = isPlaceInBrackets(words);
  const chosen = words.map(({ known, isInBrackets }) => {
    const concept = conceptIn(known, languages);
    return isInBrackets && (isPlace || (concept && notInBrackets.has(concept))) ? undefined : concept;
  });
  const counts = new Map<Concept, number>();
  for (const concept of chosen) if (concept) counts.set(concept, (counts.get(concept) ?? 0) + 1);
  const concepts = new Set([...counts.keys()].filter((concept) => !silent.has(concept)));
  const meaningful = words.filter((_, at) => chosen[at] && !silent.has(chosen[at]));
  return {
    concepts,
    count: (concept) => counts.get(concept) ?? 0,
    languages: spokenIn(meaningful.filter(({ known }) => known.every(({ language }) => language !== 'und'))),
    unknown: words.filter((word) => isUnknown(word) && !word.isInBrackets).length,
    share: words.reduce(
      (share, word) => share * shareOf(word),
      // A leading underscore marks additional information of an export.
      (header.startsWith('_') ? 0.8 : 1) *
        (words.some((word) => isUnknown(word) && word.isInBrackets) ? 0.85 : 1),
    ),
    isOpen: words.length > 2 && chosen.at(-1) === 'filler',
    isSized: chosen.some((concept, at) => at > 0 && measures.has(concept) && isNumber(words[at - 1]!)),
  };
}

/** Tells whether brackets have the name of a place with a number: `[2525 Mini Shop]`, not `(1000 pcs)`. */
function isPlaceInBrackets(words: readonly HeaderWord[]): boolean {
  const inside = words.filter(({ isInBrackets }) => isInBrackets);
  const isMeasured = inside.some(({ known }) => known.some(({ concept }) => amounts.has(concept)));
  return inside.length > 1 && !isMeasured && inside.some(({ text }) => /^\p{N}{3,}$/u.test(text));
}

const amounts: ReadonlySet<Concept> = new Set([
  'measure',
  'weight',
  'unit',
  'quantity',
  'order',
  'currency',
  'money',
]);

/** In brackets, these only explain the words before them: `Number (product URL)`. */
const notInBrackets: ReadonlySet<Concept> = new Set(['url']);

/** Units of sizes: `15 ml`. */
const measures: ReadonlySet<Concept | undefined> = new Set(['measure', 'weight', 'unit']);

/** A number, or the letter of one of several columns: `Price 2`, `Price B`. */
const isNumber = (word: HeaderWord) => /^\p{N}+$/u.test(word.text) || isLetter(word);
const isLetter = ({ text, known }: HeaderWord) => known.length === 0 && /^[a-e]$/.test(text);
const isUnknown = (word: HeaderWord) => word.known.length === 0 && !isNumber(word);

function shareOf(word: HeaderWord): number {
  if (word.known.length > 0) return word.isSimilar ? 0.97 : 1;
  if (!isNumber(word) || word.isInBrackets) return 1;
  // Of several prices, a letter alone does not show the one that customers pay.
  return isLetter(word) ? 0.8 : 0.88;
}

/** Words that name a thing of any kind: an unknown word beside them says whose. */
const openFields: ReadonlySet<HeaderField> = new Set(['sku', 'product_name', 'price', 'id', 'status']);
const openConcepts: readonly Concept[] = ['text'];

/** Returns what unknown words leave of a claim's strength. */
function certainty({ field }: HeaderClaim, { unknown, concepts }: HeaderReading): number {
  const hasThing = concepts.has('thing') && concepts.size > 1;
  const isOpen = openFields.has(field) || openConcepts.some((concept) => concepts.has(concept));
  const each = !isOpen ? 0.75 : hasThing ? 0.7 : 0.5;
  return each ** Math.min(3, unknown);
}

/** Languages of translations, as headers name them: `name_en`. */
const translated =
  /^(?:en|de|fr|es|it|pt|nl|pl|cs|cz|sk|sv|se|da|dk|nb|no|fi|hu|ro|el|gr|tr|uk|ua|ru|th|vi|vn|zh|cn|ja|jp|ko|kr|bg|hr|sl|si|et|ee|lv|lt|he|il|ar|us|gb|at|ch|by)$/;

/** Tells whether a word is only the language of a text or the code of a currency. */
function isMark(word: HeaderWord, at: number, all: readonly HeaderWord[]): boolean {
  if (/^\p{L}{3}$/u.test(word.text) && word.known.length === 0)
    return isActiveCurrency(word.text.toUpperCase());
  const before = all.slice(0, at);
  const isText = before.some(({ known }) => known.some(({ concept }) => texts.has(concept)));
  return isText && translated.test(word.text) && at === all.length - 1;
}

const texts: ReadonlySet<Concept> = new Set(['name', 'description', 'category']);

/** Returns the languages that most of the words belong to. */
function spokenIn(words: readonly HeaderWord[]): string[] {
  const letters = new Map<string, number>();
  for (const { known, text } of words)
    for (const language of new Set(known.map((each) => each.language)))
      letters.set(language, (letters.get(language) ?? 0) + text.length);
  letters.delete('und');
  const most = Math.max(0, ...letters.values());
  return [...letters].filter(([, count]) => count === most).map(([language]) => language);
}

/** Of several concepts of a word, those that are a whole name come first. */
const whole: readonly Concept[] = [
  'sku',
  'ean',
  'mpn',
  'purchase_price',
  'list_price',
  'special_price',
  'selling_price',
  'availability',
  'stock',
  'currency',
  'hidden',
];

function conceptIn(known: readonly KnownWord[], languages: readonly string[]): Concept | undefined {
  const spoken = known.filter((each) => each.language === 'und' || languages.includes(each.language));
  const possible = (spoken.length > 0 ? spoken : known).map(({ concept }) => concept);
  if (spoken.length === 0 && possible.includes('neutral')) return 'neutral';
  return whole.find((concept) => possible.includes(concept)) ?? possible[0];
}

const languageNames = new Intl.DisplayNames('en', { type: 'language' });

const fieldWords: Partial<Record<HeaderField, string>> = {
  sku: 'article number',
  ean: 'barcode',
  id: 'identifier',
  handle: 'part of an address',
  parent: 'parent product',
  url: 'address',
};

const kindWords: Readonly<Record<HeaderKind, string>> = {
  our: 'selling price',
  plain: 'price',
  list: 'list price',
  special: 'special price',
  wholesale: 'wholesale price',
  purchase: 'purchase price',
  net: 'net price',
  gross: 'gross price',
  supplier: "supplier's number",
  short: 'short text',
  published: 'whether a product is shown',
  hidden: 'whether a product is hidden',
  label: 'name of an option',
};

function reasonFor({ field, kind }: HeaderClaim, { languages }: HeaderReading): string {
  const [first] = languages;
  const meaning = kind ? kindWords[kind] : (fieldWords[field] ?? field.replaceAll('_', ' '));
  const language = first === undefined ? undefined : languages.includes('en') ? 'en' : first;
  if (field === 'other') return 'its name means none of our columns';
  return language === undefined
    ? `its name means ${meaning}`
    : `its name is ${languageNames.of(language)!} for ${meaning}`;
}

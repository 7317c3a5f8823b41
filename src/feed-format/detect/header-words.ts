import { findFolded, findInflected, findWord, plainText, type KnownWord } from './known-words';

/** A part of a header: a known word, or one without a meaning. */
export interface HeaderWord {
  text: string;
  /** What it may mean; none for an unknown word. */
  known: readonly KnownWord[];
  isInBrackets: boolean;
  /** Found with another ending or without accents. */
  isSimilar: boolean;
}

interface Token {
  text: string;
  isInBrackets: boolean;
}

const tokenPattern = /[\p{L}\p{M}]+|\p{N}+|\p{Sc}|[()[\]{}]/gu;

/** Splits a header into words: `sellingPrice`, `Preis (EK)` and `SELLING_PRICE` have two each. */
function tokensOf(header: string): Token[] {
  const split = header
    .normalize('NFKC')
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .replace(/[【「]/gu, '(')
    .replace(/[】」]/gu, ')')
    .replace(/["'’״׳](?=\p{L})/gu, (mark) => (mark === '"' || mark === '״' ? '' : ' '))
    .replaceAll('%', ' percent ')
    .replaceAll('#', /\p{L}/u.test(header) ? ' no ' : ' ');
  const tokens: Token[] = [];
  let depth = 0;
  for (const text of plainText(split).match(tokenPattern) ?? [])
    if ('([{'.includes(text)) depth += 1;
    else if (')]}'.includes(text)) depth = Math.max(0, depth - 1);
    else tokens.push({ text, isInBrackets: depth > 0 });
  return tokens;
}

/** Words of a phrase: `disponible para la compra`. */
const phraseWordsMax = 5;

/** Finds the known words of a header, the longest phrases first. */
export function knownWordsOf(header: string): HeaderWord[] {
  const tokens = tokensOf(header);
  const words: HeaderWord[] = [];
  for (let at = 0; at < tokens.length;) {
    const { found, count } = phraseAt(tokens, at) ?? { found: partsOf(tokens[at]!), count: 1 };
    words.push(...found);
    at += count;
  }
  return words;
}

function phraseAt(tokens: readonly Token[], at: number): { found: HeaderWord[]; count: number } | undefined {
  const { isInBrackets } = tokens[at]!;
  for (let count = Math.min(phraseWordsMax, tokens.length - at); count > 0; count -= 1) {
    const part = tokens.slice(at, at + count);
    if (part.some((each) => each.isInBrackets !== isInBrackets)) continue;
    const text = part.map((each) => each.text).join('');
    const exact = findWord(text);
    const known = exact ?? findFolded(text);
    if (known) return { found: [{ text, known, isInBrackets, isSimilar: !exact }], count };
  }
  return undefined;
}

/** Prices for groups of customers: `precioa`, `precioc`. */
const priceLevel = /^(.{4,})([a-e])$/;

/** Splits a token into the words it is made of; it stays whole if they are unknown. */
function partsOf({ text, isInBrackets }: Token): HeaderWord[] {
  const make = (part: string, known: readonly KnownWord[], isSimilar = false): HeaderWord => ({
    text: part,
    known,
    isInBrackets,
    isSimilar,
  });
  if (/^\p{N}+$/u.test(text)) return [make(text, [])];
  const parts = compoundParts(text);
  const inflected = findInflected(text);
  if (inflected && (!parts || parts.length > 2)) return [make(text, inflected, true)];
  if (parts) return parts.map((part) => make(part.text, part.known));
  const level = !inflected && priceLevel.exec(text);
  const price = level ? findFolded(level[1]!)?.filter(({ concept }) => concept === 'price') : undefined;
  if (level && price?.length) return [make(level[1]!, price), make(level[2]!, [])];
  return inflected ? [make(text, inflected, true)] : [make(text, [])];
}

interface Part {
  text: string;
  known: readonly KnownWord[];
}

interface Split {
  cost: number;
  parts: readonly Part[];
}

/** Scripts that write words without spaces, or articles without a space. */
const denseScript =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Arabic}\p{Script=Hebrew}]/u;
/** Scripts in which a part of a text may be unknown. */
const spaceless =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}]/u;
const links = ['s', 'n', 'en', 'es', 'e', 'er', 'o', 'u'];
const partMax = 24;
const compoundMax = 60;
const unknownCost = 3;

/** Returns the parts of a compound; numbered headers have the same ones. */
function compoundParts(text: string): Part[] | undefined {
  if (compounds.size > compoundsMax) compounds.clear();
  if (!compounds.has(text)) compounds.set(text, splitCompound(text));
  return compounds.get(text);
}

const compounds = new Map<string, Part[] | undefined>();
const compoundsMax = 10_000;

/** Splits a compound into known words of one language, as few as possible. */
function splitCompound(text: string): Part[] | undefined {
  if (text.length < 4 && !denseScript.test(text)) return undefined;
  if (text.length > compoundMax) return undefined;
  const best = bestSplit(text);
  if (best) return [...best.parts];
  return spaceless.test(text) ? undefined : withUnknownPart(text);
}

function bestSplit(text: string): Split | undefined {
  const isDense = denseScript.test(text);
  const hasUnknown = spaceless.test(text);
  const states: Map<string, Split>[] = Array.from(
    { length: text.length + 1 },
    () => new Map<string, Split>(),
  );
  states[0]!.set('und', { cost: 0, parts: [] });
  for (let from = 0; from < text.length; from += 1) {
    const state = states[from]!;
    if (state.size === 0) continue;
    for (let to = from + 1; to <= Math.min(text.length, from + partMax); to += 1) {
      const part = text.slice(from, to);
      // Compounds are often written without accents.
      const known = spaceless.test(part) ? findWord(part) : findFolded(part);
      if (!known) continue;
      const isInner = from > 0 && to < text.length;
      const usable = isDense ? known : known.filter((each) => isLongEnough(part, each, isInner));
      for (const language of new Set(usable.map((each) => each.language))) {
        const own = usable.filter((each) => each.language === language);
        const step = { text: part, known: own };
        const cost = own.some((each) => each.concept === 'filler') ? 1.5 : 1;
        advance(states, from, to, language, step, cost);
        const link =
          from > 0 || to < text.length ? links.find((each) => text.startsWith(each, to)) : undefined;
        if (link && !isDense && to + link.length < text.length)
          advance(states, from, to + link.length, language, step, cost + 0.3);
      }
    }
    if (hasUnknown)
      for (const [language, { cost, parts }] of state)
        reach(states[from + 1]!, language, {
          cost: cost + unknownCost,
          parts: withUnknown(parts, text[from]!),
        });
  }
  const ends = [...states[text.length]!.values()].filter(({ parts }) =>
    parts.some((each) => each.known.length > 0),
  );
  return ends.sort((a, b) => a.cost - b.cost)[0];
}

/** Words of two letters that compounds begin or end with. */
const shortConcepts: ReadonlySet<string> = new Set([
  'code',
  'id',
  'price',
  'purchase_price',
  'selling_price',
  'list_price',
  'net',
]);

const isLongEnough = (part: string, { concept }: KnownWord, isInner: boolean) =>
  concept === 'filler'
    ? isInner && part.length > 1
    : part.length > 2 || (part.length === 2 && shortConcepts.has(concept) && !isInner);

function withUnknown(parts: readonly Part[], text: string): Part[] {
  const last = parts.at(-1);
  return last?.known.length === 0
    ? [...parts.slice(0, -1), { text: last.text + text, known: [] }]
    : [...parts, { text, known: [] }];
}

/** Adds a word to the splits that end at its beginning, in its language. */
function advance(
  states: readonly Map<string, Split>[],
  from: number,
  to: number,
  language: string,
  step: Part,
  stepCost: number,
): void {
  for (const [spoken, { cost, parts }] of states[from]!)
    if (spoken === 'und' || language === 'und' || spoken === language)
      reach(states[to]!, spoken === 'und' ? language : spoken, {
        cost: cost + stepCost,
        parts: [...parts, step],
      });
}

function reach(state: Map<string, Split>, language: string, split: Split): void {
  const known = state.get(language);
  if (!known || split.cost < known.cost) state.set(language, split);
}

const headMin = 4;
/** Concepts at the end of compounds whose beginning is unknown. */
const heads: ReadonlySet<string> = new Set([
  'price',
  'name',
  'code',
  'quantity',
  'stock',
  'description',
  'image',
  'weight',
  'currency',
  'date',
  'purchase_price',
]);

/** Finds a known word at the end or the beginning of a compound: `Staffelpreis` beside an unknown part. */
function withUnknownPart(text: string): Part[] | undefined {
  for (let length = text.length - 2; length >= headMin; length -= 1) {
    const tail = text.slice(-length);
    const known = (findWord(tail) ?? findFolded(tail))?.filter(({ concept }) => heads.has(concept));
    if (known?.length)
      return [
        { text: text.slice(0, -length), known: [] },
        { text: tail, known },
      ];
  }
  return undefined;
}

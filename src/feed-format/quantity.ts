import { isKnownAvailability, orderableAvailabilities } from './availability';
import { trimText } from './text';

/** A sign, digits with any separators, and a mark of "or more". */
const number =
  /^(?<over>> ?)?(?<minus>[-\u2212])?(?<digits>\d+(?:[.,' \u00a0\u202f\u2019]\d+)*) ?(?<plus>\+)?(?<unit>.*)$/su;
const units = new Set(
  ['pc', 'pcs', 'piece', 'pieces', 'unit', 'units', 'item', 'items', 'available', 'in stock', 'left'].concat([
    'stk',
    'stück',
    'st',
    'szt',
    'ks',
    'kom',
    'db',
    'pz',
    'ud',
    'uds',
    'шт',
  ]),
);

/** Words beside which a number counts. */
const stockWords = ['in_stock', 'available', 'limited_stock', 'low_stock'];

/**
 * Converts a number of pieces to a word for availability.
 * @param text - trimmed
 * @param wordOf - converts a word to a standard one
 * @returns undefined for a text without a clear number, or whose word contradicts it
 */
export function availabilityOfQuantity(
  text: string,
  wordOf: (word: string) => string | null,
): 'in_stock' | 'out_of_stock' | undefined {
  const alone = quantityIn(text);
  if (alone !== undefined) return alone;
  const at = text.search(/[(:]/);
  if (at < 1 || (text[at] === '(' && !text.endsWith(')'))) return undefined;
  const word = trimText(text.slice(0, at));
  const quantity = quantityIn(trimText(text.slice(at + 1, text[at] === '(' ? -1 : undefined)));
  if (quantity === undefined || !/^\p{L}[\p{L}\p{M}\s.'-]*$/u.test(word)) return undefined;
  const standard = wordOf(word) ?? '';
  if (!isKnownAvailability(standard) || stockWords.includes(standard)) return quantity;
  const isConsistent = !orderableAvailabilities.includes(standard) && quantity === 'out_of_stock';
  return isConsistent ? quantity : undefined;
}

/** Any non-zero digit makes a number other than 0, whatever its separators mean. */
function quantityIn(text: string): 'in_stock' | 'out_of_stock' | undefined {
  const { over, minus, digits, plus, unit } = number.exec(text)?.groups ?? {};
  if (digits === undefined) return undefined;
  const rest = trimText(unit!).toLowerCase().replace(/\.$/, '');
  if (rest !== '' && !units.has(rest)) return undefined;
  const isZero = !/[1-9]/.test(digits);
  if (over) return minus ? undefined : 'in_stock';
  if (plus && (isZero || minus)) return undefined;
  return isZero || minus ? 'out_of_stock' : 'in_stock';
}

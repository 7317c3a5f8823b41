import type { Concept } from './known-words';

export type HeaderField =
  | 'sku'
  | 'product_name'
  | 'description'
  | 'brand'
  | 'category'
  | 'price'
  | 'currency'
  | 'availability'
  | 'quantity'
  | 'ean'
  | 'handle'
  | 'id'
  | 'parent'
  | 'option'
  | 'supplier'
  | 'image'
  | 'url'
  | 'weight'
  | 'unit'
  | 'date'
  | 'status'
  | 'tax'
  | 'discount'
  | 'shipping'
  | 'language'
  | 'other';

export type HeaderKind =
  /** Prices. */
  | 'our'
  | 'plain'
  | 'list'
  | 'special'
  | 'wholesale'
  | 'purchase'
  | 'net'
  | 'gross'
  /** Numbers of another party. */
  | 'supplier'
  /** Texts. */
  | 'short'
  /** Whether a product is shown, or is not. */
  | 'published'
  | 'hidden'
  /** The name of an option, not its value. */
  | 'label';

/** What a header says a column has. */
export interface HeaderClaim {
  field: HeaderField;
  kind?: HeaderKind;
  /** Whether a price is without or with tax. */
  taxes?: 'net' | 'gross';
  /** From 0 to 1. */
  strength: number;
}

/** A header's words, by what they mean. */
export interface HeaderReading {
  concepts: ReadonlySet<Concept>;
  /** How many words have a concept. */
  count: (concept: Concept) => number;
  languages: readonly string[];
  /** Words without a meaning. */
  unknown: number;
  /** What other doubts leave of the strength, 0 to 1. */
  share: number;
  /** It ends with a word such as `from`. */
  isOpen: boolean;
  /** It has a size such as `15 ml`. */
  isSized: boolean;
}

const claim = (field: HeaderField, strength: number, kind?: HeaderKind): HeaderClaim => ({
  field,
  strength,
  ...(kind && { kind }),
});

type Rule = (has: (...any: Concept[]) => boolean, reading: HeaderReading) => HeaderClaim | undefined;

/** The first rule that has a claim decides. */
const rules: readonly Rule[] = [
  (has) => (has('handle') ? claim('handle', 0.9) : undefined),
  (has) => (has('image') ? claim('image', 0.95) : undefined),
  (has) => (has('url') ? claim('url', 0.9) : undefined),
  (has) => (has('meta') ? claim('other', 0.9) : undefined),
  (has) =>
    has('ean') && !has('type', 'date', 'foreign') ? claim('ean', has('supplier') ? 0.6 : 0.95) : undefined,
  priceClaim,
  (has) => (has('currency') ? claim('currency', has('foreign', 'date', 'type') ? 0.6 : 0.95) : undefined),
  stockClaim,
  (has) => (has('language') ? claim('language', 0.9) : undefined),
  (has) => (has('shipping') ? claim(has('weight') ? 'weight' : 'shipping', 0.9) : undefined),
  numberClaim,
  (has) => (has('date') ? claim('date', 0.85) : undefined),
  (has) => (has('foreign', 'position') ? claim('other', 0.85) : undefined),
  (has) =>
    has('amount') && has('selling', 'special') && has('tax') ? claim('price', 0.5, 'plain') : undefined,
  (has) => (has('tax') ? claim('tax', 0.9) : undefined),
  partyClaim,
  categoryClaim,
  textClaim,
  (has) => (has('hidden') ? claim('status', 0.8, 'hidden') : undefined),
  (has) => (has('published') ? claim('status', 0.8, 'published') : undefined),
  (has) => (has('status') ? claim('status', 0.8) : undefined),
  (has) => (has('discount') ? claim('discount', 0.9) : undefined),
  (has) => (has('weight', 'measure') ? claim('weight', 0.9) : undefined),
  (has) => (has('minimum') ? claim('other', 0.8) : undefined),
  (has) => (has('amount') && has('unit') ? claim('price', 0.8, 'plain') : undefined),
  (has) => (has('unit') ? claim('unit', 0.8) : undefined),
  (has) =>
    has('attribute', 'variant') ? claim('option', 0.85, has('name') ? 'label' : undefined) : undefined,
  (has) => (has('parent') ? claim('parent', 0.6) : undefined),
  (has) => (has('purchase') ? claim('price', 0.45, 'purchase') : undefined),
  (has) => (has('wholesale') ? claim('price', 0.5, 'wholesale') : undefined),
  (has, { concepts, unknown }) =>
    has('selling') && concepts.size === 1 && unknown === 0 ? claim('price', 0.6, 'our') : undefined,
  (has) => (has('amount') ? claim('price', 0.45, 'plain') : undefined),
  (has) =>
    has('net') ? claim('price', 0.5, 'net') : has('gross') ? claim('price', 0.5, 'gross') : undefined,
  (has) => (has('thing') ? claim('product_name', 0.55) : undefined),
];

/** Finds what a column has by the concepts of its header; the order of the words does not count. */
export function claimOf(reading: HeaderReading): HeaderClaim {
  const has = (...any: Concept[]) => any.some((concept) => reading.concepts.has(concept));
  for (const rule of rules) {
    const found = rule(has, reading);
    if (found) return found;
  }
  return claim('other', 0.6);
}

/** Names that are a price as they are. */
const prices = ['purchase_price', 'list_price', 'special_price', 'selling_price'] as const;
/** Words that make a price's header something else: a date, a group, a limit. */
const notPrices = [
  'date',
  'code',
  'id',
  'type',
  'category',
  'foreign',
  'image',
  'shipping',
  'status',
  'order',
  'language',
  'name',
  'description',
] as const;

function priceClaim(...[has, { count, isOpen, isSized }]: Parameters<Rule>): HeaderClaim | undefined {
  if (!has('price', ...prices)) return undefined;
  // "Retail" is a price, "retail sku" is none.
  if (has('sku', 'mpn', 'ean') && !has('price')) return claim('other', 0.8);
  if (has('currency')) return claim('currency', 0.9);
  if (has('shipping')) return claim('shipping', 0.9);
  // The price of one of several sizes, or for an amount.
  if (isSized && !isOpen && !has(...notPrices)) return claim('price', 0.45, priceKind(has) ?? 'plain');
  if (isOpen || has(...notPrices, 'weight', 'measure')) return claim('other', 0.8);
  if (has('minimum'))
    return priceKind(has) === 'purchase' ? claim('price', 0.8, 'purchase') : claim('other', 0.8);
  const taxes =
    count('net') > 0 && count('gross') === 0
      ? 'net'
      : count('gross') > 0 && count('net') === 0
        ? 'gross'
        : undefined;
  const kind = priceKind(has) ?? taxes;
  // A tax rate, an amount of tax.
  const doubt = has('amount')
    ? 0.5
    : has('tax') && !taxes
      ? 0.8
      : has('stock', 'quantity', 'availability', 'variant')
        ? 0.8
        : 1;
  return {
    ...claim('price', (kind === 'special' || kind === 'wholesale' ? 0.9 : 0.95) * doubt, kind ?? 'plain'),
    ...(taxes && { taxes }),
  };
}

function priceKind(has: Parameters<Rule>[0]): HeaderKind | undefined {
  if (has('purchase', 'purchase_price', 'supplier')) return 'purchase';
  if (has('wholesale')) return 'wholesale';
  if (has('special', 'special_price', 'discount')) return 'special';
  if (has('list', 'list_price', 'maker')) return 'list';
  return has('selling', 'selling_price', 'customer') ? 'our' : undefined;
}

function stockClaim(...[has]: Parameters<Rule>): HeaderClaim | undefined {
  // The value of the stock.
  if (has('stock', 'quantity') && has('amount')) return claim('other', 0.8);
  if (has('quantity') && has('stock', 'availability')) return claim('quantity', 0.85);
  if (has('foreign', 'date', 'image', 'position')) return undefined;
  // For sale, even if it is out of stock.
  if (has('availability') && has('selling', 'order', 'special')) return claim('availability', 0.55);
  if (has('availability')) return claim('availability', has('text') ? 0.45 : 0.92);
  if (has('stock')) {
    if (has('status')) return claim('availability', 0.9);
    if (has('code', 'id')) return claim('sku', 0.85);
    if (has('name')) return claim('product_name', 0.7);
    if (has('minimum', 'unit', 'type', 'category', 'order', 'purchase')) return claim('other', 0.8);
    return claim('quantity', 0.85);
  }
  if (!has('quantity') || has('code', 'name', 'description', 'category')) return undefined;
  return has('minimum', 'order', 'measure', 'discount', 'purchase')
    ? claim('other', 0.8)
    : claim('quantity', 0.9);
}

/** Words that make a number one of something else. */
const notNumbers = ['tax', 'foreign', 'date', 'status', 'weight', 'discount', 'type'] as const;

function numberClaim(...[has]: Parameters<Rule>): HeaderClaim | undefined {
  if (has('mpn')) return claim('sku', 0.6, 'supplier');
  if (!has('sku', 'code', 'id')) return undefined;
  if (has(...notNumbers)) return claim('other', 0.8);
  if (has('parent')) return claim('parent', 0.9);
  if (has('supplier', 'maker')) return has('name') ? undefined : claim('sku', 0.6, 'supplier');
  if (has('sku')) return has('category', 'attribute', 'name') ? claim('other', 0.7) : claim('sku', 0.95);
  if (has('id') && has('order')) return claim('other', 0.8);
  if (has('category', 'brand', 'attribute', 'customer', 'unit', 'measure', 'purchase', 'special', 'language'))
    return claim('other', 0.8);
  if (has('name')) return has('thing') ? claim('product_name', 0.6) : claim('other', 0.5);
  if (has('description')) return undefined;
  if (has('code')) return claim('sku', has('thing') ? 0.93 : has('order') ? 0.75 : 0.62);
  return has('thing', 'variant') ? claim('sku', 0.75) : claim('id', 0.9);
}

/** Brands, makers and suppliers. */
function partyClaim(...[has]: Parameters<Rule>): HeaderClaim | undefined {
  if (has('brand', 'maker'))
    return has('description', 'status', 'type')
      ? claim('other', 0.8)
      : claim('brand', has('brand') ? 0.95 : 0.9);
  return has('supplier') ? claim('supplier', 0.9) : undefined;
}

/** Words that make a group one of something else than products. */
const notCategories = [
  'description',
  'status',
  'discount',
  'attribute',
  'weight',
  'measure',
  'unit',
  'customer',
  'order',
  'amount',
  'special',
] as const;

function categoryClaim(...[has]: Parameters<Rule>): HeaderClaim | undefined {
  if (has('category'))
    return has(...notCategories) ? claim('other', 0.8) : claim('category', has('parent') ? 0.6 : 0.92);
  if (has('type')) return has('thing') ? claim('category', 0.6) : claim('other', 0.5);
  return undefined;
}

/** Names and descriptions. */
function textClaim(...[has]: Parameters<Rule>): HeaderClaim | undefined {
  if (has('attribute', 'order', 'status', 'weight', 'unit')) return undefined;
  if (has('name')) {
    if (has('customer')) return claim('other', 0.8);
    if (has('variant')) return claim('product_name', 0.6);
    return has('short')
      ? claim('product_name', 0.75, 'short')
      : claim('product_name', has('thing') ? 0.96 : 0.9);
  }
  if (has('text') && !has('description', 'short')) return claim('description', has('thing') ? 0.8 : 0.55);
  if (has('description', 'short'))
    return has('short') ? claim('description', 0.85, 'short') : claim('description', 0.95);
  return undefined;
}

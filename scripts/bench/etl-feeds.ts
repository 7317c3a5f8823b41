import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { encode } from 'iconv-lite';
import { productColumns } from '../../src/feed-format/columns';

/** Files with the same skus in the same order. */
export interface Feeds {
  /** A multiple of ten. */
  rows: number;
  base: string;
  /** Every tenth price is changed. */
  changed: string;
  /** Every tenth price is invalid. */
  bad: string;
}

/** Shares of rows in percent, as in the combined exports of several shops: a single shop has from none to nearly all. */
const nonAsciiPercent = 30;
const doubledQuotesPercent = 10;
const lineBreakPercent = 5;

const adjectives = [
  'Wooden',
  'Steel',
  'Oak',
  'Portable',
  'Classic',
  'Modern',
  'Ultra',
  'Mini',
  'Blue',
  'Folding',
];
const nouns = ['table', 'chair', 'lamp', 'tent', 'shelf', 'jacket', 'boot', 'pan', 'kettle', 'bag'];
const nonAsciiNouns = [
  'Bücherregal',
  'tête-à-tête',
  'Größe XL',
  'lámpara',
  'テント',
  '折叠椅',
  'Łóżko',
  'чайник',
];
const words = ['in stock', 'out of stock', 'preorder', 'limited_stock'];

/** Values that a catalog repeats; low numbers are more frequent. */
export const brandsCount = 300;
export const categoriesCount = 400;

/** Most prices have one of these cents: 3,600 distinct prices. */
export const priceCents = [99, 99, 99, 99, 99, 99, 99, 99, 0, 0, 0, 95, 95, 95, 90, 90, 50, 50, 49, 49];
export const priceUnitsMax = 600;

/** Writes realistic feeds: unique skus in random order, quoted and multi-line texts, usual prices and availabilities. */
export async function writeFeeds(folder: string, rows: number): Promise<Feeds> {
  const write = async (name: string, tenthPrice: (cents: number) => string) => {
    const file = join(folder, name);
    await pipeline(lines(rows, tenthPrice), createWriteStream(file));
    return file;
  };
  return {
    rows,
    base: await write('base.csv', formatPrice),
    // One unit more: another price with the same cents.
    changed: await write('changed.csv', (cents) => formatPrice(cents + 100)),
    bad: await write('bad.csv', () => 'NA'),
  };
}

/** Writes the base feed of `writeFeeds` without every twentieth row. */
export async function writeShortened(folder: string, rows: number): Promise<string> {
  const file = join(folder, 'shortened.csv');
  await pipeline(
    lines(rows, formatPrice, (at) => at % 20 === 7),
    createWriteStream(file),
  );
  return file;
}

const formatPrice = (cents: number) => (cents / 100).toFixed(2);

function* lines(
  rows: number,
  tenthPrice: (cents: number) => string,
  isMissing = (_at: number) => false,
): Generator<string> {
  yield `${productColumns.join(',')}\n`;
  for (const { sku, name, description, brand, category, price, word } of products(
    rows,
    tenthPrice,
    isMissing,
  ))
    yield `${sku},${name},"${description}",${brand},${category},${price},USD,${word}\n`;
}

interface FeedProduct {
  sku: string;
  name: string;
  /** With doubled quotes. */
  description: string;
  brand: string;
  category: string;
  price: string;
  word: string;
}

function* products(
  rows: number,
  tenthPrice: (cents: number) => string,
  isMissing = (_at: number) => false,
): Generator<FeedProduct> {
  for (let at = 0; at < rows; at++) {
    if (isMissing(at)) continue;
    // A prime step visits every number once, in an order that favors no index.
    const number = (at * 7_368_787) % rows;
    const share = (column: number) => draw(number, column);
    const below = (column: number, count: number) => Math.floor(share(column) * count);
    const skewed = (column: number, count: number) => Math.floor(share(column) ** 2 * count);
    const noun = share(0) < nonAsciiPercent / 100 ? nonAsciiNouns[below(1, 8)] : nouns[below(1, 10)];
    const size =
      share(2) < doubledQuotesPercent / 100 ? `${below(3, 97)}"" x ${below(4, 31)}""` : `${below(3, 97)} cm`;
    const end = share(5) < lineBreakPercent / 100 ? '.\nAssembled' : ', assembled';
    const cents = 100 * (1 + skewed(6, priceUnitsMax)) + priceCents[below(7, priceCents.length)]!;
    yield {
      sku: `SKU-${String(number).padStart(8, '0')}`,
      name: `${adjectives[below(8, 10)]} ${noun} no. ${below(9, 1e6)} of the large feed`,
      description: `Made of steel and oak, ${size}${end} by hand in the far north of this country`,
      brand: `Brand ${skewed(10, brandsCount)}`,
      category: `Home & Garden / Category ${skewed(11, categoriesCount)}`,
      price: at % 10 === 0 ? tenthPrice(cents) : formatPrice(cents),
      word: words[below(12, words.length)]!,
    };
  }
}

/** The same products in a built-in format. */
export interface FormattedFeed {
  format: string;
  path: string;
  rows: number;
  /** A hundredth of them. */
  warmUp: string;
}

/** Header and record of each format. Names use only letters that Windows-1252 has. */
const formattedLines: Record<string, { header: string; line: (product: FeedProduct) => string }> = {
  standard: {
    header: productColumns.join(','),
    line: ({ sku, name, description, brand, category, price, word }) =>
      `${sku},${name},"${description}",${brand},${category},${price},USD,${word}`,
  },
  'google-merchant': {
    header: 'id,title,description,brand,product_type,price,availability',
    line: ({ sku, name, description, brand, category, price, word }) =>
      `${sku},${name},"${description}",${brand},${category},${price} USD,${word}`,
  },
  'excel-eu': {
    header: productColumns.join(';'),
    line: ({ sku, name, description, brand, category, price, word }) =>
      `${sku};${name};"${description}";${brand};${category};${price.replace('.', ',')};USD;${word}`,
  },
};

/** Writes the products of the base feed in several formats. */
export async function writeFormattedFeeds(folder: string, rows: number): Promise<FormattedFeed[]> {
  const write = async (format: string, count: number) => {
    const { header, line } = formattedLines[format]!;
    const path = join(folder, `${format}-${count}.csv`);
    const encoding = format === 'excel-eu' ? 'windows-1252' : 'utf-8';
    function* encoded(): Generator<Buffer> {
      yield encode(`${header}\n`, encoding);
      for (const product of products(count, formatPrice)) {
        const name = product.name.replace(/[^\0-\xff]+/g, 'Möbel');
        yield encode(`${line({ ...product, name })}\n`, encoding);
      }
    }
    await pipeline(encoded(), createWriteStream(path));
    return path;
  };
  const feeds: FormattedFeed[] = [];
  for (const format of Object.keys(formattedLines))
    feeds.push({ format, rows, path: await write(format, rows), warmUp: await write(format, rows / 100) });
  return feeds;
}

/** Returns a repeatable pseudo-random number from 0 to less than 1. */
function draw(number: number, column: number): number {
  let bits = Math.imul(number + 1, 0x9e3779b1) ^ Math.imul(column + 1, 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 16), 0x7feb352d);
  bits = Math.imul(bits ^ (bits >>> 15), 0x846ca68b);
  return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32;
}

import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
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

const brands = ['Acme', 'Globex', 'Initech', 'Umbrella', 'Soylent', 'Hooli', 'Stark', 'Wayne'];
const words = ['in stock', 'out of stock', 'preorder', 'limited_stock'];

/** Writes realistic feeds: unique skus in no order, texts, quoted commas, prices, words of availability. */
export async function writeFeeds(folder: string, rows: number): Promise<Feeds> {
  const write = async (name: string, tenthPrice: (price: number) => string) => {
    const file = join(folder, name);
    await pipeline(lines(rows, tenthPrice), createWriteStream(file));
    return file;
  };
  return {
    rows,
    base: await write('base.csv', (price) => price.toFixed(2)),
    changed: await write('changed.csv', (price) => (price + 0.5).toFixed(2)),
    bad: await write('bad.csv', () => 'NA'),
  };
}

function* lines(rows: number, tenthPrice: (price: number) => string): Generator<string> {
  yield `${productColumns.join(',')}\n`;
  for (let at = 0; at < rows; at++) {
    // A prime step visits every number once, in an order that no index profits from.
    const number = (at * 7_368_787) % rows;
    const price = 1 + (number % 99_999) / 100;
    yield (
      `SKU-${String(number).padStart(8, '0')},Product number ${number} of the large feed,` +
      `"Made of steel and oak, ${number % 97} x ${number % 31} cm, assembled by hand in the far north of this country",` +
      `${brands[number % brands.length]},Home & Garden / Category ${number % 200},` +
      `${at % 10 === 0 ? tenthPrice(price) : price.toFixed(2)},USD,${words[number % words.length]}\n`
    );
  }
}

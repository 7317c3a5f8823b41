/**
 * Works out what larger catalogs take, from what was measured on one machine, and writes the table into docs/explanation/growing.md.
 * With --check it only says whether the page has it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import measuredCosts from './growth-costs.json';

/** What one machine was measured to do and to need: `make bench ONLY=growth,etl,catalog,orders`. */
export type Costs = typeof measuredCosts;

/** What is assumed of everybody's use, in shares of the catalog. */
export const use = {
  partners: 10_000,
  /** Every partner sends its whole catalog so often a day, */
  feedsPerDay: 1,
  /** of which so much has changed, */
  changedShare: 0.1,
  /** and it is to be loaded within these hours. */
  etlHours: 6,
  /** Raw files are kept so long. */
  rawFileDays: 30,
  /** Pages of the catalog asked for, a day and product; at the busiest time, so many times the mean. */
  pagesPerProductAndDay: 5,
  peak: 3,
  /** Orders, a day and product. */
  ordersPerProductAndDay: 0.001,
} as const;

const secondsPerDay = 86_400;

/** What a catalog of one size takes. Sizes in gigabytes (10^9 bytes), rates a second, machines as the measured one. */
export interface Demand {
  products: number;
  databaseGigabytes: number;
  indexGigabytes: number;
  rawFileGigabytes: number;
  logGigabytesPerDay: number;
  /** To load everything for the first time, by one machine. */
  firstLoadHours: number;
  /** To load what comes in a day, by one machine. */
  etlHours: number;
  etlMachines: number;
  pagesPerSecond: number;
  pageMachines: number;
  ordersPerSecond: number;
  orderMachines: number;
  /** How much of its memory one machine needs for its indexes, 1 being all of it. */
  memoryShare: number;
}

/**
 * Everything grows with the number of products, but for what a run costs by itself: taken that PostgreSQL's memory grows with
 * its indexes.
 */
export function demandOf(products: number, costs: Costs): Demand {
  const gigabytes = (bytesPerProduct: number) => (products * bytesPerProduct) / 1e9;
  const { tableBytesPerProduct, indexBytesPerProduct, digestBytesPerProduct } = costs;
  const rowsPerDay = products * use.feedsPerDay;
  const changedPerDay = rowsPerDay * use.changedShare;
  const etlSeconds =
    use.partners * use.feedsPerDay * costs.secondsPerRun +
    rowsPerDay / costs.readRowsPerSecond +
    changedPerDay / costs.changedRowsPerSecond;
  const pagesPerSecond = (products * use.pagesPerProductAndDay * use.peak) / secondsPerDay;
  const ordersPerSecond = (products * use.ordersPerProductAndDay * use.peak) / secondsPerDay;
  return {
    products,
    databaseGigabytes: gigabytes(tableBytesPerProduct + indexBytesPerProduct + digestBytesPerProduct),
    indexGigabytes: gigabytes(indexBytesPerProduct),
    rawFileGigabytes: gigabytes(costs.feedBytesPerRow) * use.feedsPerDay * use.rawFileDays,
    logGigabytesPerDay: (changedPerDay * costs.logBytesPerChangedRow) / 1e9,
    firstLoadHours: products / costs.firstLoadRowsPerSecond / 3600,
    etlHours: etlSeconds / 3600,
    etlMachines: etlSeconds / 3600 / use.etlHours,
    pagesPerSecond,
    pageMachines: pagesPerSecond / costs.pagesPerSecond,
    ordersPerSecond,
    orderMachines: ordersPerSecond / costs.ordersPerSecond,
    memoryShare: gigabytes(indexBytesPerProduct) / costs.memoryGigabytes,
  };
}

/** What one machine runs out of first, and how many machines' worth of that it takes. */
export function firstToSaturate({ etlMachines, pageMachines, orderMachines, memoryShare }: Demand): string {
  const shares = {
    'loading changed rows': etlMachines,
    'requests of the catalog': pageMachines,
    orders: orderMachines,
    'memory for the indexes': memoryShare,
  };
  const [[what, share]] = Object.entries(shares).sort(([, a], [, b]) => b - a) as [[string, number]];
  return `${what}: ${shown(share)}`;
}

/** The sizes that are worked out. */
export const sizes = [1_000_000, 10_000_000, 100_000_000, 1_000_000_000] as const;

/** The table, as Markdown. */
export function tableOf(costs: Costs): string {
  const demands = sizes.map((products) => demandOf(products, costs));
  const line = (name: string, value: (demand: Demand) => string) => [name, ...demands.map(value)];
  const number = (name: string, key: keyof Demand) => line(name, (demand) => shown(demand[key]));
  return markdown([
    line('products', ({ products }) => products.toLocaleString('en')),
    line('products per partner', ({ products }) => shown(products / use.partners)),
    number('database, GB', 'databaseGigabytes'),
    number('indexes, GB', 'indexGigabytes'),
    number('indexes relative to the memory of one machine', 'memoryShare'),
    number(`raw files of ${use.rawFileDays} days, GB`, 'rawFileGigabytes'),
    number('write-ahead log, GB per day', 'logGigabytesPerDay'),
    number('first load of everything on one machine, hours', 'firstLoadHours'),
    number('daily feeds on one machine, hours', 'etlHours'),
    number(`machines to load them within ${use.etlHours} hours`, 'etlMachines'),
    number('pages per second at the busiest time', 'pagesPerSecond'),
    number('machines to serve them', 'pageMachines'),
    number('orders per second at the busiest time', 'ordersPerSecond'),
    number('machines to take them', 'orderMachines'),
    line('first bottleneck of one machine', firstToSaturate),
  ]);
}

/** A table whose first row is its head, its columns as wide as they need, as prettier has it. */
function markdown(rows: string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const cells = (row: string[]) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)));
  const rule = widths.map((width, column) =>
    column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  const [head, ...body] = rows.map(cells);
  return [head!, rule, ...body].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

/** Two digits are all that such a figure can mean. */
function shown(value: number): string {
  return Number(value.toPrecision(2)).toLocaleString('en', { maximumSignificantDigits: 2 });
}

const page = join(__dirname, '..', 'docs', 'explanation', 'growing.md');
const begin = '<!-- made by scripts/simulate-growth.ts -->';
const end = '<!-- end -->';

/** The page with the table that these costs give. @throws Error when the page has no place for it */
export function pageWithTable(text: string, costs: Costs): string {
  const [before, rest] = text.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`The page has no ${begin} … ${end}.`);
  return `${before}${begin}\n\n${tableOf(costs)}\n\n${end}${after}`;
}

function main(): void {
  const text = readFileSync(page, 'utf8');
  const made = pageWithTable(text, measuredCosts);
  if (!process.argv.includes('--check')) return writeFileSync(page, made);
  if (made === text) return console.log('docs/explanation/growing.md is up to date');
  console.error('docs/explanation/growing.md differs from its costs: run npx tsx scripts/simulate-growth.ts');
  process.exitCode = 1;
}

if (require.main === module) main();

/**
 * Computes the requirements of larger catalogs from measured costs, and writes the table into
 * docs/explanation/growing.md. With --check, checks the page only.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { settings } from '../src/shared/setting-groups';
import measuredCosts from './growth-costs.json';

/** Measured costs of one machine: `make bench ONLY=growth,etl,catalog,orders`. */
export type Costs = typeof measuredCosts;

/** Assumed usage, as shares of the catalog. */
export const use = {
  partners: 10_000,
  /** Full feeds per partner and day. */
  feedsPerDay: 1,
  /** Share of changed rows. */
  changedShare: 0.1,
  /** Hours per day in which feeds are loaded. */
  etlHours: 6,
  /** Retention of raw files. */
  rawFileDays: 30,
  /** Retention of the history: the default. */
  historyDays: settings.HISTORY_RETENTION_DAYS.default,
  /** Requested catalog pages per product and day; peak rate as a multiple of the mean. */
  pagesPerProductAndDay: 5,
  peak: 3,
  /** Orders per product and day. */
  ordersPerProductAndDay: 0.001,
} as const;

const secondsPerDay = 86_400;

/**
 * Requirements of one catalog size. Sizes in gigabytes (10^9 bytes), rates per second, in machines like the measured one.
 */
export interface Demand {
  products: number;
  databaseGigabytes: number;
  indexGigabytes: number;
  historyGigabytes: number;
  rawFileGigabytes: number;
  logGigabytesPerDay: number;
  /** First load of everything, by one machine. */
  firstLoadHours: number;
  /** Load of one day's feeds, by one machine. */
  etlHours: number;
  etlMachines: number;
  pagesPerSecond: number;
  pageMachines: number;
  ordersPerSecond: number;
  orderMachines: number;
  /** Share of one machine's memory that indexes need. */
  memoryShare: number;
}

/**
 * Scales linearly with the number of products, except for the fixed cost of a run. Assumes that PostgreSQL's memory grows
 * with its indexes.
 */
export function demandOf(products: number, costs: Costs): Demand {
  const gigabytes = (bytesPerProduct: number) => (products * bytesPerProduct) / 1e9;
  const { tableBytesPerProduct, indexBytesPerProduct, digestBytesPerProduct, wordBytesPerProduct } = costs;
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
    databaseGigabytes: gigabytes(
      tableBytesPerProduct + indexBytesPerProduct + digestBytesPerProduct + wordBytesPerProduct,
    ),
    indexGigabytes: gigabytes(indexBytesPerProduct),
    historyGigabytes: (changedPerDay * use.historyDays * costs.historyBytesPerChangedRow) / 1e9,
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

/** Finds the resource that one machine exhausts first, and the number of machines for it. */
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

export const sizes = [1_000_000, 10_000_000, 100_000_000, 1_000_000_000] as const;

export function tableOf(costs: Costs): string {
  const demands = sizes.map((products) => demandOf(products, costs));
  const line = (name: string, value: (demand: Demand) => string) => [name, ...demands.map(value)];
  const number = (name: string, key: keyof Demand) => line(name, (demand) => shown(demand[key]));
  return markdown([
    line('products', ({ products }) => products.toLocaleString('en')),
    line('products per partner', ({ products }) => shown(products / use.partners)),
    number('products and words, GB', 'databaseGigabytes'),
    number('of it indexes of products, GB', 'indexGigabytes'),
    number('indexes relative to the memory of one machine', 'memoryShare'),
    number(`history of ${use.historyDays} days, GB`, 'historyGigabytes'),
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

/** Makes a table with aligned columns, as prettier does. */
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

/** Rounds to two digits, the precision of these figures. */
function shown(value: number): string {
  return Number(value.toPrecision(2)).toLocaleString('en', { maximumSignificantDigits: 2 });
}

const page = join(__dirname, '..', 'docs', 'explanation', 'growing.md');
const begin = '<!-- made by scripts/simulate-growth.ts -->';
const end = '<!-- end -->';

/** Inserts the table into the page. @throws Error if the page has no marker for it */
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

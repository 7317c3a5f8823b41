import { median } from '../service-process';

/** The parts of the benchmark, in the order in which they run. */
export const parts = [
  'etl',
  'catalog',
  'orders',
  'processes',
  'analytics',
  'workers',
  'growth',
  'release',
] as const;
export type Part = (typeof parts)[number];

/** One thing that was measured beside its limit, in the same rounds. */
export interface Measurement {
  part: Part;
  /** What was measured, for people: 'unchanged re-run of 1,000,000 rows'. */
  name: string;
  /** s, ms, requests/s, orders/s, rows/s, MB, % */
  unit: string;
  /** One value a round. */
  values: number[];
  /** What it is held against in the same round: '\copy into a temporary table'. Absent for an absolute target. */
  limit?: { name: string; values: number[] };
  /** How the ratio to the limit must be, or the value itself where there is no limit. */
  target?: { kind: 'at most' | 'at least'; value: number };
}

/** What every part is given. */
export interface BenchContext {
  /** The small size: tells whether everything works, and roughly how fast. */
  quick: boolean;
  /** How often everything is measured. */
  rounds: number;
  /** A folder of its own that is removed afterwards. */
  folder: string;
  /** Says how far it is. */
  log: (line: string) => void;
}

/** The middle of some values, and how far they spread. */
export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** A measurement and what it comes to. */
export interface Result extends Measurement {
  value: Spread;
  /** Of value to limit, round by round; absent without a limit. */
  ratio?: Spread;
  /** Whether the median is as the target wants it; absent without a target. */
  met?: boolean;
}

/** Where, when and what a report was made of. */
export interface Setting {
  date: string;
  commit: string;
  machine: string;
  node: string;
  postgres: string;
  quick: boolean;
  rounds: number;
}

/** @throws Error when a round has no value or no limit: ratios are only ever taken within a round */
export function evaluate(measurement: Measurement): Result {
  const { name, values, limit, target } = measurement;
  if (values.length === 0) throw new Error(`${name}: there are no values`);
  if (limit && limit.values.length !== values.length) {
    throw new Error(`${name}: ${values.length} values and ${limit.values.length} limits`);
  }
  const value = spread(values);
  const ratio = limit && spread(values.map((one, round) => one / limit.values[round]!));
  const judged = (ratio ?? value).median;
  const met = target && (target.kind === 'at most' ? judged <= target.value : judged >= target.value);
  return { ...measurement, value, ...(ratio && { ratio }), ...(met !== undefined && { met }) };
}

function spread(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/** How much of its target a result takes, 1 being the target itself and less being better, for either kind of target. */
export function shareOfTarget({ ratio, value, target }: Result): Spread | undefined {
  if (!target) return undefined;
  const judged = ratio ?? value;
  if (target.kind === 'at most') {
    const share = (one: number) => one / target.value;
    return { median: share(judged.median), min: share(judged.min), max: share(judged.max) };
  }
  const share = (one: number) => target.value / one;
  return { median: share(judged.median), min: share(judged.max), max: share(judged.min) };
}

const headings = [
  'part',
  'what',
  'median',
  'min–max',
  'limit',
  'its median',
  'ratio',
  'min–max',
  'target',
  'met',
];
/** Those that hold figures are flush right. */
const figures = new Set(['median', 'min–max', 'its median', 'ratio']);

/** The results as a table that reads well as it is, and as Markdown. */
export function formatTable(results: readonly Result[]): string {
  const rows = [headings, ...results.map(tableRow)];
  const widths = headings.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)));
  const line = (row: string[]) =>
    `| ${row.map((cell, at) => (figures.has(headings[at]!) ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!))).join(' | ')} |`;
  const rule = `| ${headings
    .map((heading, at) =>
      figures.has(heading) ? `${'-'.repeat(widths[at]! - 1)}:` : '-'.repeat(widths[at]!),
    )
    .join(' | ')} |`;
  return [line(headings), rule, ...rows.slice(1).map(line)].join('\n');
}

function tableRow({ part, name, unit, value, limit, ratio, target, met }: Result): string[] {
  const spreadOf = ({ min, max }: Spread) => `${figure(min)}–${figure(max)}`;
  return [
    part,
    name,
    `${figure(value.median)} ${unit}`,
    spreadOf(value),
    limit?.name ?? '',
    limit ? `${figure(median(limit.values))} ${unit}` : '',
    ratio ? figure(ratio.median) : '',
    ratio ? spreadOf(ratio) : '',
    target ? `${target.kind} ${figure(target.value)}${ratio ? '' : ` ${unit}`}` : '',
    met === undefined ? '' : met ? 'yes' : 'NO',
  ];
}

/** Three digits that count, or all those before the point. */
export function figure(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en');
  return String(Number(value.toPrecision(3)));
}

/** The line above the table. */
export function formatSetting({ date, commit, machine, node, postgres, quick, rounds }: Setting): string {
  const size = quick ? 'quick size' : 'full size';
  return `${date}, commit ${commit}: ${machine}, Node ${node}, ${postgres}; ${size}, rounds: ${rounds}`;
}

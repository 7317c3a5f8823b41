import { median } from '../service-process';

/** Parts of the benchmark, in the order of execution. */
export const parts = [
  'etl',
  'formats',
  'catalog',
  'changes',
  'history',
  'orders',
  'analytics',
  'workers',
  'bursts',
  'growth',
  'retention',
  'console',
  'sources',
  'release',
  'indexes',
  'peers',
] as const;
export type Part = (typeof parts)[number];

/** A measurement and its limit, from the same rounds. */
export interface Measurement {
  part: Part;
  /** For people: 'unchanged re-run of 1,000,000 rows'. */
  name: string;
  /** s, ms, requests/s, orders/s, rows/s, MB, % */
  unit: string;
  /** One value per round. */
  values: number[];
  /** Measured in the same round: '\copy into a temporary table'. Absent for an absolute target. */
  limit?: { name: string; values: number[] };
  /** Bound of the ratio to the limit, or of the value if there is no limit. */
  target?: { kind: 'at most' | 'at least'; value: number };
}

export interface BenchContext {
  /** Small sizes: a smoke test with rough figures. */
  quick: boolean;
  rounds: number;
  /** Products of the parts `console`, `growth`, `indexes` and `sources`, rows of the part `peers`; absent: their usual size. */
  products?: number;
  /** A temporary folder. */
  folder: string;
  log: (line: string) => void;
}

interface Spread {
  median: number;
  min: number;
  max: number;
}

export interface Result extends Measurement {
  value: Spread;
  /** Value divided by limit, per round; absent without a limit. */
  ratio?: Spread;
  /** Whether the median meets the target; absent without a target. */
  met?: boolean;
}

export interface Setting {
  date: string;
  commit: string;
  machine: string;
  node: string;
  postgres: string;
  quick: boolean;
  rounds: number;
}

/** @throws Error if a round has no value or no limit: ratios are taken within a round */
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
/** Columns of figures, aligned to the right. */
const figures = new Set(['median', 'min–max', 'its median', 'ratio']);

/** Formats the results as a Markdown table with aligned columns. */
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

/** Formats three significant digits, or all integral ones. */
function figure(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en');
  return String(Number(value.toPrecision(3)));
}

export function formatSetting({ date, commit, machine, node, postgres, quick, rounds }: Setting): string {
  const size = quick ? 'quick size' : 'full size';
  return `${date}, commit ${commit}: ${machine}, Node ${node}, ${postgres}; ${size}, rounds: ${rounds}`;
}

import { median } from '../service-process';
import type { DatabaseKind } from './servers';

export const parts = [
  'etl',
  'formats',
  'check',
  'requests',
  'catalog',
  'changes',
  'history',
  'analytics',
  'workers',
  'bursts',
  'growth',
  'retention',
  'console',
  'sources',
  'layers',
  'release',
  'indexes',
  'peers',
] as const;
export type Part = (typeof parts)[number];

/** A measurement and its limit, from the same rounds. */
export interface Measurement extends Figures {
  part: Part;
  /** For people: 'unchanged re-run of 1,000,000 rows'. */
  name: string;
  /** s, ms, µs, requests/s, rows/s, MB, % */
  unit: string;
  /** Measured in the same round: '\copy into a temporary table'. Absent for an absolute target. */
  limit?: Figures & { name: string };
  /** Bound of the ratio to the limit, or of the value if there is no limit. */
  target?: { kind: 'at most' | 'at least'; value: number };
  /** Settings that differ from the whole report: 'PostgreSQL 15.18, external'. */
  setting?: string;
}

interface Figures {
  /** One value per round. */
  values: number[];
  /** Processor time per request in microseconds, of Node.js and of PostgreSQL. */
  processor?: { node: number[]; postgres: number[] };
}

export interface BenchContext {
  /** Small sizes: a smoke test with rough figures. */
  quick: boolean;
  rounds: number;
  /** Products of most parts, rows of the part `peers`; absent: their usual size. */
  products?: number;
  /** Partners of the part `catalog`; absent: 30. */
  partners?: number;
  /** The only database to measure in the parts `requests`, `release` and `catalog`. */
  database?: DatabaseKind;
  /** Only kinds of requests whose names contain one of these parts, separated by commas. */
  kinds?: string;
  /** Environment of this build in `requests` and `release`. */
  settings?: Record<string, string>;
  /** The folder of the build that `release` compares with; absent: the last release. */
  other?: string;
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
  'what',
  'figure (min–max)',
  'limit or peer',
  'its figure',
  'ratio (min–max)',
  'target',
  'date',
  'commit',
  'machine',
  'settings',
];
/** Number columns, aligned to the right. */
const figures = new Set(['figure (min–max)', 'its figure', 'ratio (min–max)']);

/** Formats the results as the rows of the table in docs/benchmarks.md, with aligned columns. */
export function formatTable(results: readonly Result[], setting: Setting): string {
  const rows = [headings, ...results.map((result) => tableRow(result, setting))];
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

function tableRow(result: Result, setting: Setting): string[] {
  const { part, name, unit, value, limit, ratio, target, met } = result;
  const spreadOf = ({ min, max }: Spread) => `(${figure(min)}–${figure(max)})`;
  const verdict = met === undefined ? '' : met ? ', met' : ', NOT MET';
  return [
    `${part}: ${name}`,
    `${figure(value.median)} ${unit} ${spreadOf(value)}${processorOf(result)}`,
    limit?.name ?? '',
    limit ? `${figure(median(limit.values))} ${unit}${processorOf(limit)}` : '',
    ratio ? `${figure(ratio.median)} ${spreadOf(ratio)}${processorRatio(result)}` : '',
    target ? `${target.kind} ${figure(target.value)}${ratio ? '' : ` ${unit}`}${verdict}` : '',
    setting.date,
    setting.commit,
    setting.machine,
    describeSettings(setting, result.setting),
  ];
}

/** '; 178 + 45 µs' */
const processorOf = ({ processor }: Figures) =>
  processor ? `; ${figure(median(processor.node))} + ${figure(median(processor.postgres))} µs` : '';

function processorRatio({ unit, processor, limit }: Measurement): string {
  if (!processor || !limit?.processor || unit === 'µs') return '';
  const totals = [processor, limit.processor].map(({ node, postgres }) =>
    node.map((one, round) => one + postgres[round]!),
  );
  return `; µs ${figure(median(totals[0]!.map((one, round) => one / totals[1]![round]!)))}`;
}

/** Formats three significant digits, or all digits of an integer. */
function figure(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en');
  return String(Number(value.toPrecision(3)));
}

function describeSettings({ node, postgres, quick, rounds }: Setting, own = `${postgres}, embedded`): string {
  return `${quick ? 'QUICK, ' : ''}${rounds} rounds, Node.js ${node}, ${own}`;
}

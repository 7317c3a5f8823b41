import { withDecimalPoint } from '../../feed-format/decimal-comma';
import { trimText } from '../../feed-format/text';
import { UsageFailure } from './failures';

/** The rules of the command line. */
export interface MendOptions {
  trim?: boolean;
  /** Columns whose numbers have a decimal comma. */
  decimalComma?: string[];
  /** `COLUMN:FROM=TO` */
  replace?: string[];
  /** `COLUMN=VALUE` */
  set?: string[];
}

/** Changes a cell; returns it unchanged if the rule does not apply. */
export interface MendRule {
  /** As declared. */
  name: string;
  /** Header of the column, as declared; absent: every column. */
  column?: string;
  /** Whether the column is added if the file lacks it. */
  addsColumn?: boolean;
  apply: (cell: string) => string;
}

/** Parses the rules, in the order in which they are applied to a cell. @throws UsageFailure without any, or for a wrong one */
export function parseRules({ trim, decimalComma = [], replace = [], set = [] }: MendOptions): MendRule[] {
  const rules = [
    ...(trim ? [{ name: '--trim', apply: trimText }] : []),
    ...decimalComma.map((column) => ({ name: `--decimal-comma ${column}`, column, apply: pointed })),
    ...replace.map(replacement),
    ...set.map(filling),
  ];
  if (rules.length > 0) return rules;
  throw new UsageFailure('Missing rule: --trim, --decimal-comma, --replace or --set.');
}

/** Replaces a decimal comma by a point; returns any other text unchanged. */
function pointed(cell: string): string {
  const text = trimText(cell);
  // Without a comma, digits and a thousands point are ambiguous.
  if (!text.includes(',')) return cell;
  const mended = withDecimalPoint(text);
  return mended === 'NaN' ? cell : mended;
}

function replacement(declared: string): MendRule {
  const colon = declared.indexOf(':');
  const equals = declared.indexOf('=', colon + 1);
  if (colon < 1 || equals === -1) throw wrong('--replace', declared, 'COLUMN:FROM=TO');
  const from = trimText(declared.slice(colon + 1, equals));
  const to = declared.slice(equals + 1);
  return {
    name: `--replace ${declared}`,
    column: declared.slice(0, colon),
    apply: (cell) => (trimText(cell) === from ? to : cell),
  };
}

function filling(declared: string): MendRule {
  const equals = declared.indexOf('=');
  if (equals < 1) throw wrong('--set', declared, 'COLUMN=VALUE');
  const value = declared.slice(equals + 1);
  return {
    name: `--set ${declared}`,
    column: declared.slice(0, equals),
    addsColumn: true,
    apply: (cell) => (trimText(cell) === '' ? value : cell),
  };
}

const wrong = (option: string, declared: string, form: string) =>
  new UsageFailure(`Wrong ${option} ${JSON.stringify(declared)}: it must be ${form}.`);

/** A cell that a rule has changed. */
export interface CellChange {
  line: number;
  column: string;
  before: string;
  after: string;
  rule: string;
}

export class FileRules {
  /** Headers of the columns that are added. */
  readonly added: string[];
  private readonly placed: { rule: MendRule; position: number | undefined }[];
  private readonly names: string[];

  /** @throws UsageFailure for a column that the file lacks, unless the rule adds it */
  constructor(header: readonly string[], rules: readonly MendRule[]) {
    const known = header.map(comparable);
    this.names = [...header];
    const positionOf = ({ column, addsColumn }: MendRule) => {
      if (column === undefined) return undefined;
      const position = known.indexOf(comparable(column));
      if (position !== -1) return position;
      if (!addsColumn) throw new UsageFailure(`The file has no column ${column}.`);
      known.push(comparable(column));
      this.names.push(column);
      return known.length - 1;
    };
    this.placed = rules.map((rule) => ({ rule, position: positionOf(rule) }));
    this.added = this.names.slice(header.length);
  }

  /** Applies the rules in place to a row as wide as the header. @returns the changes, one per cell and rule */
  apply(cells: string[], line: number): CellChange[] {
    return this.placed.flatMap(({ rule, position }) =>
      (position === undefined ? cells.map((_, at) => at) : [position]).flatMap((at) => {
        const before = cells[at]!;
        const after = rule.apply(before);
        if (after === before) return [];
        cells[at] = after;
        return [{ line, column: this.names[at]!, before, after, rule: rule.name }];
      }),
    );
  }
}

/** Normalizes a header for a comparison without case, like the service. */
const comparable = (text: string) => trimText(text).toLowerCase();

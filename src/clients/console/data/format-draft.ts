import type { ColumnName, Definition } from './mapping';

type Source = NonNullable<Definition['columns'][ColumnName]>;

/** Source of the values of a column: a kind, and its argument as text. */
export interface ColumnDraft {
  kind: '' | 'from' | 'position' | 'value' | 'join' | 'quantity';
  argument: string;
  /** Separator of joined cells. */
  between: string;
  /** Conditions of a quantity, which stay as they are. */
  unless?: NonNullable<Source['quantity']>['unless'];
}

const separator = '|';

export function columnDraftOf(source: Source | undefined): ColumnDraft {
  const between = source?.with ?? ' ';
  if (!source) return { kind: '', argument: '', between };
  if (source.value !== undefined) return { kind: 'value', argument: source.value, between };
  if (source.position !== undefined) return { kind: 'position', argument: String(source.position), between };
  if (source.join) return { kind: 'join', argument: source.join.join(` ${separator} `), between };
  if (source.quantity) {
    const { from, unless } = source.quantity;
    return { kind: 'quantity', argument: from.join(` ${separator} `), between, unless };
  }
  return { kind: 'from', argument: (source.from ?? []).join(` ${separator} `), between };
}

/** The inverse of `columnDraftOf`. */
export function columnSourceOf({ kind, argument, between, unless }: ColumnDraft): Source | undefined {
  const names = argument
    .split(separator)
    .map((name) => name.trim())
    .filter(Boolean);
  if (kind === 'from') return { from: names };
  if (kind === 'join') return { join: names, with: between };
  if (kind === 'quantity') return { quantity: { from: names, ...(unless && { unless }) } };
  if (kind === 'value') return { value: argument };
  if (kind === 'position') return { position: Number(argument) };
  return undefined;
}

/** Whether a draft can express the source: a name can contain the separator of names. */
export const isEditable = ({ from = [], join = [], quantity }: Source = {}) =>
  ![...from, ...join, ...(quantity?.from ?? [])].some((name) => name.includes(separator));

export const encodings: NonNullable<Definition['encoding']>[] = [
  'utf-8',
  'utf-16le',
  'utf-16be',
  'windows-1250',
  'windows-1251',
  'windows-1252',
  'windows-1253',
  'windows-1254',
  'windows-1255',
  'windows-1256',
  'windows-1257',
  'windows-874',
  'iso-8859-1',
  'iso-8859-2',
  'iso-8859-15',
  'shift_jis',
  'euc-jp',
  'euc-kr',
  'gb18030',
  'big5',
];

const shownMembers = ['delimiter', 'encoding', 'skip_lines', 'header', 'decimal_separator', 'columns'];

/** Returns the members of a definition that the form does not show. */
export const otherMembers = (definition: Definition) =>
  Object.fromEntries(Object.entries(definition).filter(([name]) => !shownMembers.includes(name)));

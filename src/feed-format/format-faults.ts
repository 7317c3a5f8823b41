import type { ShapeError } from '../base/errors';
import { productColumns, requiredIn } from './columns';
import { isActiveCurrency } from './currency';
import type { FeedFormat } from './format-definition';
import type { LoadMode } from './load-options';
import { trimText } from './text';

type Step = string | number;
type Fault = Omit<ShapeError, 'loc'> & { at: Step[] };

const sources = ['from', 'join', 'value', 'position', 'quantity'] as const;

/**
 * Finds the faults of a definition that the document's schema cannot express. Ignores parts of the wrong shape, which the schema
 * reports.
 * @param body - as sent, of any shape
 * @returns one entry per fault, with locations from `body` on
 */
export function definitionFaults(body: unknown): ShapeError[] {
  const definition = objectOf(body);
  const hasHeader = definition.header !== false;
  const columns = objectOf(definition.columns);
  return [
    ...textFaults(body, []),
    ...Object.entries(columns).flatMap(([name, source]) => sourceFaults(name, objectOf(source), hasHeader)),
    ...headerFaults(definition, hasHeader),
    ...widthFaults(definition, hasHeader, columns),
    ...fillDownFaults(definition.fill_down, columns),
    ...wordFaults(objectOf(definition.availability)),
    ...conditionFaults(definition),
  ].map(({ at, type, msg, input, ...rest }) => ({ type, loc: ['body', ...at], msg, input, ...rest }));
}

export function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

/** Finds texts that no cell can contain, and that PostgreSQL cannot store. */
function textFaults(value: unknown, at: Step[]): Fault[] {
  const msg = 'String should not contain a NUL character';
  if (typeof value === 'string')
    return value.includes('\0') ? [{ type: 'string_nul', at, msg, input: value }] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const place = [...at, Array.isArray(value) ? Number(name) : name];
    const ofName = name.includes('\0') ? [{ type: 'string_nul', at: place, msg, input: name }] : [];
    return [...ofName, ...textFaults(member, place)];
  });
}

function sourceFaults(name: string, source: Record<string, unknown>, hasHeader: boolean): Fault[] {
  if (!(productColumns as readonly string[]).includes(name)) return [];
  const at = ['columns', name];
  const given = sources.filter((member) => Object.hasOwn(source, member));
  const faults: Fault[] = [];
  if (given.length !== 1) {
    const rest = name === 'availability' ? ", 'position' and 'quantity'" : " and 'position'";
    const msg = `Input should have exactly one of 'from', 'join', 'value'${rest}`;
    faults.push({ type: 'one_source', at, msg, input: source });
  }
  const isJoined = Object.hasOwn(source, 'join');
  if (isJoined && !Object.hasOwn(source, 'with')) {
    faults.push({ type: 'missing', at: [...at, 'with'], msg: 'Field required with join', input: source });
  }
  for (const member of ['with', 'first_with']) {
    if (isJoined || !Object.hasOwn(source, member)) continue;
    const msg = 'Input should be absent without join';
    faults.push({ type: 'only_with_join', at: [...at, member], msg, input: source[member] });
  }
  for (const member of hasHeader ? ['position'] : ['from', 'join', 'quantity']) {
    if (!Object.hasOwn(source, member)) continue;
    const msg = hasHeader ? 'Input should be absent with a header row' : absentWithoutHeader;
    const type = hasHeader ? 'not_with_header' : 'not_without_header';
    faults.push({ type, at: [...at, member], msg, input: source[member] });
  }
  for (const member of ['from', 'join']) {
    faults.push(...blankHeaders(listOf(source[member]), [...at, member]));
  }
  if (Object.hasOwn(source, 'quantity')) faults.push(...quantityFaults(name, source.quantity));
  return [...faults, ...forbiddenConstantFaults(name, source.value, [...at, 'value'])];
}

function quantityFaults(name: string, quantity: unknown): Fault[] {
  const at = ['columns', name, 'quantity'];
  if (name !== 'availability') {
    const msg = "Input should be absent, except in the column 'availability'";
    return [{ type: 'only_for_availability', at, msg, input: quantity }];
  }
  const { from, unless } = objectOf(quantity);
  const ofConditions = listOf(unless).flatMap((condition, position) =>
    blankHeader(objectOf(condition).header, [...at, 'unless', position, 'header']),
  );
  return [...blankHeaders(listOf(from), [...at, 'from']), ...ofConditions];
}

const absentWithoutHeader = 'Input should be absent without a header row';

/** Finds constants that no row can have, regardless of their meaning for a run. */
function forbiddenConstantFaults(name: string, value: unknown, at: Step[]): Fault[] {
  if (typeof value !== 'string') return [];
  if (name === 'sku') {
    const msg = 'Input should be absent: each row has its own sku';
    return [{ type: 'constant_sku', at, msg, input: value }];
  }
  if (name === 'availability' && trimText(value) === '') {
    const msg = 'Input should not be blank: no row would have an availability';
    return [{ type: 'string_blank', at, msg, input: value }];
  }
  const isWrong = name === 'currency' && !isActiveCurrency(trimText(value).toUpperCase());
  const msg = 'Input should be an active ISO 4217 code';
  return isWrong ? [{ type: 'currency_code', at, msg, input: value }] : [];
}

/** Finds faults of the members that name headers of the partner. */
function headerFaults(definition: Record<string, unknown>, hasHeader: boolean): Fault[] {
  const ignored = listOf(definition.ignore_rows_without);
  const faults = blankHeaders(ignored, ['ignore_rows_without']);
  for (const [position, rule] of listOf(definition.fill_down).entries()) {
    faults.push(...blankHeader(objectOf(rule).by, ['fill_down', position, 'by']));
  }
  for (const [position, condition] of listOf(definition.only_rows_where).entries()) {
    for (const member of ['header', 'by'])
      faults.push(...blankHeader(objectOf(condition)[member], ['only_rows_where', position, member]));
  }
  if (hasHeader) return faults;
  for (const member of ['fill_down', 'ignore_rows_without', 'only_rows_where']) {
    if (!Object.hasOwn(definition, member)) continue;
    const input = definition[member];
    faults.push({ type: 'not_without_header', at: [member], msg: absentWithoutHeader, input });
  }
  return faults;
}

function blankHeaders(headers: unknown[], at: Step[]): Fault[] {
  return headers.flatMap((header, position) => blankHeader(header, [...at, position]));
}

/** The schema reports an empty text. */
function blankHeader(header: unknown, at: Step[]): Fault[] {
  if (typeof header !== 'string' || header === '' || trimText(header) !== '') return [];
  return [{ type: 'string_blank', at, msg: 'String should not be blank', input: header }];
}

/** Finds a number of fields that no row could have. */
function widthFaults(
  { fields }: Record<string, unknown>,
  hasHeader: boolean,
  columns: Record<string, unknown>,
): Fault[] {
  if (fields === undefined) return [];
  const at = ['fields'];
  if (hasHeader)
    return [{ type: 'not_with_header', at, msg: 'Input should be absent with a header row', input: fields }];
  const positions = Object.values(columns).map((source) => Number(objectOf(source).position) || 0);
  const ge = Math.max(1, ...positions);
  if (typeof fields !== 'number' || fields >= ge) return [];
  const msg = `Input should be greater than or equal to ${ge}, the last position of 'columns'`;
  return [{ type: 'greater_than_equal', at, msg, input: fields, ctx: { ge } }];
}

function fillDownFaults(rules: unknown, columns: Record<string, unknown>): Fault[] {
  const seen = new Set<unknown>();
  return listOf(rules).flatMap((rule, position) => {
    const { column, by } = objectOf(rule);
    const at = ['fill_down', position, 'column'];
    if (!(productColumns as readonly unknown[]).includes(column)) return [];
    const key = keyOf(column, by);
    if (seen.has(key)) {
      const msg = 'Column should be filled down only once by the same header';
      return [{ type: 'repeated', at, msg, input: column }];
    }
    seen.add(key);
    if (Object.hasOwn(columns, column as string)) return [];
    return [{ type: 'column_missing', at, msg: "Input should be a column of 'columns'", input: column }];
  });
}

/** Finds words for the stock status that are equal when they are compared. */
function wordFaults(words: Record<string, unknown>): Fault[] {
  const seen = new Set<string>();
  return Object.keys(words).flatMap((word) => {
    const compared = trimText(word).toLowerCase();
    const at = ['availability', word];
    if (compared === '') return [{ type: 'string_blank', at, msg: 'Word should not be blank', input: word }];
    if (seen.has(compared)) {
      const msg = 'Word should be listed only once, in upper or lower case';
      return [{ type: 'repeated', at, msg, input: word }];
    }
    seen.add(compared);
    return [];
  });
}

/** Finds conditions on one header and group, values that are equal when they are compared, and values that no cell has. */
function conditionFaults({ only_rows_where, null_values }: Record<string, unknown>): Fault[] {
  const nullWords = new Set(
    listOf(null_values).map((word) => (typeof word === 'string' ? trimText(word) : word)),
  );
  const seen = new Set<unknown>();
  return listOf(only_rows_where).flatMap((condition, position) => {
    const { header, values, by } = objectOf(condition);
    const at = ['only_rows_where', position];
    const key = keyOf(header, by);
    const isRepeated = seen.has(key);
    seen.add(key);
    const msg = "Header should have only one condition with the same 'by'";
    const faults: Fault[] = isRepeated
      ? [{ type: 'repeated', at: [...at, 'header'], msg, input: header }]
      : [];
    return [...faults, ...valueFaults(listOf(values), nullWords, [...at, 'values'])];
  });
}

function valueFaults(values: unknown[], nullWords: ReadonlySet<unknown>, at: Step[]): Fault[] {
  const seen = new Set<unknown>();
  return values.flatMap((value, position) => {
    const place = [...at, position];
    const text = compared(value);
    if (seen.has(text)) {
      const msg = 'Value should be listed only once, in upper or lower case';
      return [{ type: 'repeated', at: place, msg, input: value }];
    }
    seen.add(text);
    if (typeof value !== 'string' || text === '' || !nullWords.has(trimText(value))) return [];
    const msg = "Input should be '': 'null_values' makes cells with this text empty";
    return [{ type: 'null_value', at: place, msg, input: value }];
  });
}

/** The schema reports what is no text. */
const compared = (value: unknown) => (typeof value === 'string' ? trimText(value).toLowerCase() : Symbol());

/** Key of a rule of a group. The schema reports a subject that is no text. */
const keyOf = (subject: unknown, by: unknown) =>
  typeof subject === 'string'
    ? JSON.stringify([subject, by].map((text) => compared(text).toString()))
    : Symbol();

/** Finds a column that the mode needs and the format lacks. @param field - of the form that has named or defined the format */
export function columnFault(
  { name, definition }: FeedFormat,
  mode: LoadMode,
  field: string,
): ShapeError | undefined {
  const column = requiredIn(mode).find((each) => !definition.columns[each]);
  if (!column) return undefined;
  const msg = `Format should have the column '${column}', except in mode 'update'`;
  return { type: 'format_without_column', loc: ['body', field], msg, input: name, ctx: { column } };
}

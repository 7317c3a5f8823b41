import type { components } from '../../generated/openapi';

type Schemas = components['schemas'];
type FormatDefinition = Schemas['FormatDefinition'];
type SourceDefinition = Schemas['SourceDefinition'];
type WebhookDefinition = Schemas['WebhookDefinition'];

/**
 * Changes a definition that fits the schema so that it keeps the rules that no schema expresses. One source for each column,
 * constants that load, headers only if there is a header row, enough fields, distinguishable words, no NUL, no blank name.
 */
export function keepFormatRules(fitting: FormatDefinition): FormatDefinition {
  const definition = withoutNul(fitting);
  const hasHeader = definition.header !== false;
  const columns = Object.entries(definition.columns).map(([name, source]) => [
    name,
    oneSource(name, source, hasHeader),
  ]);
  const kept = { ...definition, columns: Object.fromEntries(columns) as FormatDefinition['columns'] };
  if (kept.availability) kept.availability = distinctWords(kept.availability);
  if (!hasHeader) {
    delete kept.fill_down;
    delete kept.ignore_rows_without;
    delete kept.only_rows_where;
  }
  const positions = Object.values(kept.columns).map(({ position = 1 }) => position);
  if (hasHeader) delete kept.fields;
  else if (kept.fields !== undefined) kept.fields = Math.max(kept.fields, ...positions);
  if (kept.ignore_rows_without) kept.ignore_rows_without = kept.ignore_rows_without.map(notBlank);
  if (kept.only_rows_where) kept.only_rows_where = distinctConditions(kept);
  if (kept.fill_down) {
    const byColumn = new Map(kept.fill_down.map((rule) => [rule.column, { ...rule, by: notBlank(rule.by) }]));
    kept.fill_down = [...byColumn.values()].filter(({ column }) => Object.hasOwn(kept.columns, column));
  }
  return kept;
}

/** Changes conditions so that each header has one, and each value can be in a cell, once. */
function distinctConditions({ only_rows_where = [], null_values = [] }: FormatDefinition) {
  const compared = (text: string) => text.trim().toLowerCase();
  const nullWords = new Set(null_values.map(compared));
  const byHeader = new Map(
    only_rows_where.map(({ header, values, by }) => {
      const name = notBlank(header);
      const distinct = new Map(values.map((value) => [compared(value), value]));
      const kept = [...distinct].flatMap(([text, value]) =>
        text !== '' && nullWords.has(text) ? [] : [value],
      );
      const condition = { header: name, values: kept.length > 0 ? kept : [''] };
      return [compared(name), by === undefined ? condition : { ...condition, by: notBlank(by) }];
    }),
  );
  return [...byHeader.values()];
}

function oneSource(
  name: string,
  source: Schemas['ColumnSource'],
  hasHeader: boolean,
): Schemas['ColumnSource'] {
  const { from = ['Nr'], join, with: between = '', first_with: first, value, position = 1 } = source;
  if (value !== undefined && name !== 'sku') return { value: loadable(name, value) };
  if (!hasHeader) return { position };
  if (!join) return { from: from.map(notBlank) };
  return { join: join.map(notBlank), with: between, ...(first !== undefined && { first_with: first }) };
}

/** Maximum number of characters of a constant of any column. */
const constantCharacters = 100;

/** Changes the constant of a column so that a row with it loads. */
function loadable(column: string, value: string): string {
  const fixed: Record<string, string> = { currency: 'EUR', price: '5' };
  const text = [...value].slice(0, constantCharacters).join('');
  return fixed[column] ?? (['product_name', 'availability'].includes(column) ? notBlank(text) : text);
}

/** Changes a definition that fits the schema so that it keeps the rules that no schema expresses. */
export function keepSourceRules(fitting: SourceDefinition): SourceDefinition {
  const kept = withoutNul(fitting);
  kept.url = `https://feeds.example/${encodeURIComponent(kept.url)}`;
  // An existing format of the partner.
  if (kept.format) kept.format = null;
  if (kept.mode !== 'replace') kept.max_withdrawn_percent = null;
  if (kept.schedule)
    kept.schedule = { ...kept.schedule, cron: '30 5 * * mon-fri', time_zone: 'Europe/Berlin' };
  if (kept.headers) {
    const values = Object.values(kept.headers).map((value) => value.replaceAll(/[^\x20-\x7e]/g, '-'));
    kept.headers = Object.fromEntries(values.map((value, at) => [`x-header-${at}`, value]));
  }
  return kept;
}

/** Changes a definition that fits the schema so that it keeps the rules that no schema expresses. */
export const keepWebhookRules = (fitting: WebhookDefinition): WebhookDefinition => ({
  ...fitting,
  url: `https://127.0.0.1:1/${encodeURIComponent(fitting.url)}`,
});

const notBlank = (text: string) => (/[^\s\u0085]/.test(text) ? text : 'x');

function distinctWords<T>(words: Record<string, T>): Record<string, T> {
  const compared = (word: string) => word.replaceAll('\u0085', ' ').trim().toLowerCase();
  const entries = Object.entries(words).filter(([word]) => compared(word) !== '');
  return Object.fromEntries(new Map(entries.map((entry) => [compared(entry[0]), entry])).values());
}

/** Replaces each NUL, also in names. */
function withoutNul<T>(value: T): T {
  if (typeof value === 'string') return value.replaceAll('\0', 'x') as T;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutNul) as T;
  const entries = Object.entries(value).map(
    ([name, member]) => [withoutNul(name), withoutNul(member)] as const,
  );
  return Object.fromEntries(entries) as T;
}

import type { Schemas } from '../api';
import { count } from '../locale';
import { texts } from '../texts';
import type { Definition } from './mapping';

type Source = Schemas['ColumnSource'];

const { check } = texts;
const { memberValues } = check;

/** Describes the source of the values of a column. */
export function sourceInWords(source: Source | undefined): string {
  if (!source) return check.absent;
  if (source.value !== undefined) return check.constant(source.value);
  if (source.join) return check.joined(source.join.join(', '));
  if (source.quantity) {
    const { from, unless } = source.quantity;
    return [check.quantity(from.join(', ')), ...(unless ? [check.unless(unless)] : [])].join('. ');
  }
  return source.from?.join(', ') ?? String(source.position);
}

/** Describes a member of a definition other than its columns. @param value - undefined: it is absent */
export function memberInWords(name: string, value: unknown): string {
  if (value === undefined || value === null) return texts.none;
  if (name === 'header') return value === true ? texts.formats.hasHeader : texts.formats.noHeader;
  if (typeof value === 'boolean') return value ? memberValues.yes : memberValues.no;
  if (typeof value === 'number') return count(value);
  if (typeof value === 'string') return wordOf(name, value);
  if (Array.isArray(value)) return value.map((each) => itemInWords(name, each)).join(', ');
  return Object.entries(value)
    .map(([word, meaning]) =>
      memberValues.words(word, texts.availabilities[String(meaning)] ?? String(meaning)),
    )
    .join(', ');
}

function wordOf(name: string, value: string): string {
  const words: Record<string, Record<string, string>> = {
    delimiter: check.delimiters,
    encoding: check.encodings,
    decimal_separator: check.decimals,
    text_marks: { strip: memberValues.strip },
  };
  return words[name]?.[value] ?? memberValues.quoted(value);
}

function itemInWords(name: string, item: unknown): string {
  if (typeof item === 'string')
    return name === 'null_values' ? memberValues.quoted(item) : (texts.fields[item] ?? item);
  const { header, values } = item as Schemas['RowCondition'];
  return memberValues.rowsWhere(
    header,
    values.map((value) => value || memberValues.empty).join(memberValues.or),
  );
}

/** Describes the members of a definition that a form does not show. */
export const membersInWords = (members: Partial<Definition>): [name: string, words: string][] =>
  Object.entries(members).map(([name, value]) => [check.members[name] ?? name, memberInWords(name, value)]);

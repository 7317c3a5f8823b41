import type { Knex } from 'knex';

/** A value that a statement refers to. A list becomes an array of PostgreSQL. */
export type SqlValue = Knex.Value | readonly (string | number | boolean | Date | Buffer | null)[];

/** A part of a statement, with `?` for each of its bindings. */
export interface Sql {
  sql: string;
  bindings: readonly SqlValue[];
}

/** Composes a statement: parts are inserted as they are, values become bindings. */
export function sql(texts: TemplateStringsArray, ...parts: (Sql | SqlValue)[]): Sql {
  const bindings: SqlValue[] = [];
  let text = texts[0]!;
  for (let at = 0; at < parts.length; at++) {
    const part = parts[at]!;
    if (isSql(part)) {
      bindings.push(...part.bindings);
      text += part.sql + texts[at + 1]!;
    } else {
      bindings.push(part);
      text += '?' + texts[at + 1]!;
    }
  }
  return { sql: text, bindings };
}

function isSql(part: Sql | SqlValue): part is Sql {
  return typeof part === 'object' && part !== null && 'sql' in part && 'bindings' in part;
}

/** Inserts a constant text: a name, a direction, a limit. Never a text of a request. */
export function raw(text: string | number): Sql {
  return { sql: String(text), bindings: [] };
}

/** Joins conditions with `and`; without any, true. */
export function allOf(conditions: readonly Sql[]): Sql {
  if (conditions.length === 0) return raw('true');
  return {
    sql: conditions.map((condition) => `(${condition.sql})`).join(' and '),
    bindings: conditions.flatMap(({ bindings }) => bindings),
  };
}

/** Joins parts with commas. */
export function listOf(parts: readonly Sql[]): Sql {
  return {
    sql: parts.map((part) => part.sql).join(', '),
    bindings: parts.flatMap(({ bindings }) => bindings),
  };
}

/** Returns the text for the driver: `$1` for the first `?`, and so on. `\?` is the operator `?`, as in knex. */
export function positioned(text: string): string {
  let count = 0;
  return text.replaceAll(/\\?\?/g, (found) => (found === '?' ? `$${++count}` : '?'));
}

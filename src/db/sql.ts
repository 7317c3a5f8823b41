import type { Knex } from 'knex';

/** A part of a statement, with `?` for each of its bindings. */
export interface Sql {
  sql: string;
  bindings: readonly Knex.Value[];
}

/** Composes a statement: parts are inserted as they are, values become bindings. */
export function sql(texts: TemplateStringsArray, ...parts: (Sql | Knex.Value)[]): Sql {
  const bindings: Knex.Value[] = [];
  let text = texts[0]!;
  parts.forEach((part, at) => {
    if (isSql(part)) bindings.push(...part.bindings);
    else bindings.push(part);
    text += (isSql(part) ? part.sql : '?') + texts[at + 1]!;
  });
  return { sql: text, bindings };
}

function isSql(part: Sql | Knex.Value): part is Sql {
  return typeof part === 'object' && part !== null && 'sql' in part && 'bindings' in part;
}

/** A constant text: a name, a direction, a limit. Never anything that a caller has sent. */
export function raw(text: string | number): Sql {
  return { sql: String(text), bindings: [] };
}

/** All conditions; without any, true. */
export function allOf(conditions: readonly Sql[]): Sql {
  if (conditions.length === 0) return raw('true');
  return {
    sql: conditions.map((condition) => `(${condition.sql})`).join(' and '),
    bindings: conditions.flatMap(({ bindings }) => bindings),
  };
}

/**
 * The statement with all bindings in one array of texts, which a function executes as `$1`. Bindings are texts and integers,
 * never null.
 */
export function withArray({ sql: text, bindings }: Sql): { sql: string; bindings: string[] } {
  let at = 0;
  return {
    sql: text.replaceAll('?', () => {
      const element = `$1[${at + 1}]`;
      return ['number', 'bigint'].includes(typeof bindings[at++]) ? `cast(${element} as bigint)` : element;
    }),
    bindings: bindings.map((value) => String(value as string | number | bigint)),
  };
}

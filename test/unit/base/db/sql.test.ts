import { positioned, sql } from '../../../../src/base/db/sql';

it('numbers the values of a statement in order', () => {
  const part = sql`b = ${'two'}`;
  const statement = sql`select ${1} where ${part} and c \\? ${'three'}`;

  expect(positioned(statement.sql)).toBe('select $1 where b = $2 and c ? $3');
  expect(statement.bindings).toEqual([1, 'two', 'three']);
});

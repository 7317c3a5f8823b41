import {
  prepareStatement,
  preparedStatementsMax,
  replaceStatement,
} from '../../../../src/base/db/prepared-statements';

const prepare = (number: number) => prepareStatement(`select ${number}, ?`);

it('assigns a bounded number of names, each to one text until it is replaced', () => {
  const first = prepare(0)!;
  for (let number = 1; number < 10 * preparedStatementsMax; number++) {
    const isNamed = prepare(number) !== undefined;
    expect(isNamed).toBe(number < preparedStatementsMax);
  }
  expect(prepare(0)).toBe(first);

  replaceStatement(first);
  const second = prepare(0)!;
  // Another connection notices it later.
  replaceStatement(first);
  expect(prepare(0)).toBe(second);
  replaceStatement(second);

  const texts = [first, second, prepare(0)!];
  expect(texts.map(({ text }) => text)).toEqual(['select 0, $1', 'select 0, $1 -- 1', 'select 0, $1 -- 2']);
  expect(new Set(texts.map(({ name }) => name)).size).toBe(3);
});

const isWhole = () => process.env.TEST_MATRIX === 'whole';

/**
 * Selects the slow cases of a matrix: `make test` tries the named ones, which represent others; `make test-more` tries all.
 * @throws Error for the name of an unknown case
 */
export function ofMatrix<Case extends readonly [string, ...unknown[]]>(
  cases: readonly Case[],
  ...names: string[]
): Case[] {
  const unknown = names.filter((name) => !cases.some(([first]) => first === name));
  if (unknown.length > 0) throw new Error(`Not in the matrix: ${unknown.join('; ')}.`);
  return isWhole() ? [...cases] : cases.filter(([name]) => names.includes(name));
}

/**
 * Selects the values for the `at`th of many places. `make test` tries `count` of them, and the next ones at the next place, so
 * that each value is tried; `make test-more` tries all.
 */
export function inTurn<Value>(values: readonly Value[], at: number, count: number): Value[] {
  if (isWhole() || count >= values.length) return [...values];
  return Array.from({ length: count }, (_, next) => values[(at * count + next) % values.length]!);
}

const isWhole = () => process.env.TEST_MATRIX === 'whole';

/**
 * The cases of a matrix whose tests take long: `make test` tries those that are named, which each stand for others;
 * `make test-more` tries all.
 * @throws Error for a name that no case has
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
 * The values that are tried at the `at`th of many places: in `make test` `count` of them, the next ones at the next
 * place, so that each value has its turn; all in `make test-more`.
 */
export function inTurn<Value>(values: readonly Value[], at: number, count: number): Value[] {
  if (isWhole() || count >= values.length) return [...values];
  return Array.from({ length: count }, (_, next) => values[(at * count + next) % values.length]!);
}

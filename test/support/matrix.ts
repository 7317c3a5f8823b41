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
  return process.env.TEST_MATRIX === 'whole' ? [...cases] : cases.filter(([name]) => names.includes(name));
}

/** Yields chunks that were read already, then the rest, which is closed with it. */
export async function* startingWith<T>(
  first: T,
  rest: AsyncGenerator<T, unknown>,
): AsyncGenerator<T, undefined> {
  try {
    yield first;
    yield* rest;
  } finally {
    await rest.return(undefined);
  }
}

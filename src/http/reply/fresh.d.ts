/** The package `fresh` has no types of its own. */
declare module 'fresh' {
  /** Whether a client's copy is up to date, by the conditional headers of a request (names in lower case). */
  function fresh(
    requestHeaders: Record<string, string | undefined>,
    responseHeaders: Record<string, string>,
  ): boolean;
  export = fresh;
}

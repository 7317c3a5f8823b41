declare module 'negotiator' {
  /** Chooses by the `Accept` headers of a request (RFC 9110, sections 12.5.1 and 12.5.3). */
  export default class Negotiator {
    constructor(request: { headers: { accept?: string; 'accept-encoding'?: string | string[] } });
    /** Returns the most preferred of the available types; without an `Accept`, the first. */
    mediaType(available: string[]): string | undefined;
    /** Returns the most preferred of the available encodings; `preferred` decides between encodings of equal quality. */
    encoding<E extends string>(
      available: readonly E[],
      options: { preferred: readonly string[] },
    ): E | undefined;
  }
}

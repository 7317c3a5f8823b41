declare module 'negotiator' {
  /** Chooses by the `Accept` headers of a request (RFC 9110, section 12.5.1). */
  export default class Negotiator {
    constructor(request: { headers: { accept?: string } });
    /** Returns the most preferred of the available types; without an `Accept`, the first. */
    mediaType(available: string[]): string | undefined;
  }
}

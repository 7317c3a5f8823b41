import type { Readable } from 'node:stream';

/** The body of a reply that is a file in another charset than UTF-8; null: it has none, as it is packed. */
export class EncodedFile {
  constructor(
    readonly content: Readable,
    readonly charset: string | null,
  ) {}
}

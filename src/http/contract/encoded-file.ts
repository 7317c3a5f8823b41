import type { Readable } from 'node:stream';

/** The body of a reply with a file in a charset other than UTF-8; null: no charset, as the file is compressed. */
export class EncodedFile {
  constructor(
    readonly content: Readable,
    readonly charset: string | null,
  ) {}
}

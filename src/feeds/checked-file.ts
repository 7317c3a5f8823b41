import { invalidShape } from '../shared/errors';

/** An uploaded file that is checked while it streams through. */
export interface CheckedFile {
  /** Size as sent. */
  readonly bytes: number;
  /** SHA-256 of the file as sent, 32 bytes. Call once, after its end. */
  sha256(): Buffer;
  /**
   * Yields the bytes of the file, from where its header is valid.
   * @throws invalid_feed_file at the end, too_large at once
   */
  accepted(content: AsyncIterable<Buffer>, bytesMax: number): AsyncGenerator<Buffer>;
}

/** A few mended rows must not withdraw all others. */
export const rejectsToReplace = () =>
  invalidShape([
    {
      type: 'rejects_file',
      loc: ['body', 'mode'],
      msg: "Input should be 'upsert' for a file of skipped rows (_line, _codes)",
      input: 'replace',
    },
  ]);

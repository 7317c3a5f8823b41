const lineEnd = Buffer.from('\r\n');
const headEnd = Buffer.from('\r\n\r\n');

/** The result of one step: continue, wait for more bytes, or reject the form. */
type Step = 'next' | 'more' | 'ambiguous';

/**
 * Follows the delimiters of a multipart body (RFC 2046, section 5.1.1) where busboy is too lenient:
 * - For busboy, a boundary at the start of a line ends the part even if more text follows in that line, which is dropped: a file with
 * such a line would be stored truncated.
 * - For busboy, the content of a part never ends after a boundary directly behind its head.
 * - busboy reads parts after the last delimiter if they arrive in the same chunk; a content without its end never ends.
 */
export class Delimiters {
  /** The heads of the parts so far, in order, as Latin-1; the reader removes them. */
  readonly heads: string[] = [];
  private readonly delimiter: Buffer;
  private place: 'text' | 'head' | 'epilogue' = 'text';
  /** Undecided bytes. The body may start with a delimiter. */
  private rest = lineEnd;

  constructor(boundary: string) {
    this.delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  }

  /** Takes the next bytes of the body. @returns the bytes up to the last delimiter; undefined when a delimiter is ambiguous */
  take(piece: Buffer): Buffer | undefined {
    if (this.place === 'epilogue') return piece.subarray(0, 0);
    if (this.place === 'text' && this.isWithoutDelimiter(piece)) return piece;
    this.rest = Buffer.concat([this.rest, piece]);
    let step: Step;
    do step = this.place === 'head' ? this.head() : this.text();
    while (step === 'next');
    if (step === 'ambiguous') return undefined;
    return this.isInEpilogue() ? piece.subarray(0, piece.length - this.rest.length) : piece;
  }

  /** Skips a piece of a long content without a copy of it: these would be as large as the file until garbage is collected. */
  private isWithoutDelimiter(piece: Buffer): boolean {
    const undecided = this.delimiter.length - 1;
    if (piece.length < undecided) return false;
    const seam = Buffer.concat([this.rest, piece.subarray(0, undecided)]);
    if (seam.includes(this.delimiter) || piece.includes(this.delimiter)) return false;
    this.rest = Buffer.from(piece.subarray(piece.length - undecided));
    return true;
  }

  private isInEpilogue(): boolean {
    return this.place === 'epilogue';
  }

  /** Skips the preamble or the content of a part, and the delimiter after it. */
  private text(): Step {
    const found = this.rest.indexOf(this.delimiter);
    if (found === -1) {
      this.skip(Math.max(0, this.rest.length - this.delimiter.length + 1));
      return 'more';
    }
    this.skip(found);
    const end = this.delimiter.length;
    if (this.rest.length < end + 2) return 'more';
    const next = this.rest.toString('latin1', end, end + 2);
    if (next !== '--' && next !== '\r\n') return 'ambiguous';
    this.place = next === '--' ? 'epilogue' : 'head';
    // The line break can be the one before the empty line, if the head has no lines.
    this.skip(next === '--' ? end + 2 : end);
    return next === '--' ? 'more' : 'next';
  }

  /** Skips the head of a part, for which busboy allows 16 KiB, and the empty line. */
  private head(): Step {
    const end = this.rest.indexOf(headEnd);
    const head = end === -1 ? this.rest : this.rest.subarray(0, end);
    if (head.includes(this.delimiter)) return 'ambiguous';
    if (end === -1) return 'more';
    // The line break before the content, and enough of the content to see that it is no delimiter.
    const start = this.rest.subarray(end + lineEnd.length, end + lineEnd.length + this.delimiter.length);
    if (start.equals(this.delimiter)) return 'ambiguous';
    if (start.equals(this.delimiter.subarray(0, start.length))) return 'more';
    this.heads.push(head.toString('latin1'));
    this.place = 'text';
    this.skip(end + headEnd.length);
    return 'next';
  }

  private skip(bytes: number): void {
    this.rest = this.rest.subarray(bytes);
  }
}

const lineEnd = Buffer.from('\r\n');
const headEnd = Buffer.from('\r\n\r\n');

/**
 * Follows the delimiters of a multipart body (RFC 2046, section 5.1.1), where busboy is too lenient:
 *
 * - A boundary that begins a line ends the part also where more text follows it in that line. What comes then is dropped: a
 *   file that holds such a line would be stored without its rest.
 * - Where one follows a part's head, its line break being that of the empty line before the content, the part's content
 *   never ends.
 * - Parts that follow the last delimiter are parts as far as they come in the same piece; a content that does not end
 *   there never does.
 */
export class Delimiters {
  private readonly delimiter: Buffer;
  private place: 'text' | 'head' | 'content begin' | 'epilogue' = 'text';
  /** What is not decided yet. The body may begin with a delimiter. */
  private rest = lineEnd;

  constructor(boundary: string) {
    this.delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  }

  /**
   * Takes the next bytes of the body.
   * @returns those of them that are the form's: what comes after the last delimiter is not; undefined when a delimiter is
   * ambiguous
   */
  take(piece: Buffer): Buffer | undefined {
    if (this.place === 'epilogue') return piece.subarray(0, 0);
    this.rest = Buffer.concat([this.rest, piece]);
    let step: Step;
    do step = this.step();
    while (step === 'next');
    if (step === 'ambiguous') return undefined;
    return this.hasEnded() ? piece.subarray(0, piece.length - this.rest.length) : piece;
  }

  private hasEnded(): boolean {
    return this.place === 'epilogue';
  }

  private step(): Step {
    switch (this.place) {
      case 'text':
        return this.text();
      case 'head':
        return this.head();
      case 'content begin':
        return this.contentBegin();
      case 'epilogue':
        return 'more';
    }
  }

  /** What comes before the first part, or its content: to the end of the next delimiter. */
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
    // The line break may begin the empty line after a head of nothing.
    this.skip(next === '--' ? end + 2 : end);
    return 'next';
  }

  /** The headers of a part, to the empty line: busboy takes 16 KiB at most. */
  private head(): Step {
    const end = this.rest.indexOf(headEnd);
    const head = end === -1 ? this.rest : this.rest.subarray(0, end);
    if (head.includes(this.delimiter)) return 'ambiguous';
    if (end === -1) return 'more';
    this.place = 'content begin';
    this.skip(end + lineEnd.length);
    return 'next';
  }

  /** The line break before a content, and as much of that as shows that it is no delimiter. */
  private contentBegin(): Step {
    const length = Math.min(this.rest.length, this.delimiter.length);
    const isLike = this.rest.subarray(0, length).equals(this.delimiter.subarray(0, length));
    if (isLike) return length === this.delimiter.length ? 'ambiguous' : 'more';
    this.place = 'text';
    this.skip(lineEnd.length);
    return 'next';
  }

  private skip(bytes: number): void {
    this.rest = this.rest.subarray(bytes);
  }
}

/** What a look at the rest has come to: it goes on at the next place, needs more bytes, or is ambiguous. */
type Step = 'next' | 'more' | 'ambiguous';

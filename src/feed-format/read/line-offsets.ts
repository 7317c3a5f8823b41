/** Maps positions in a decoded text, as UTF-8, to offsets in its original bytes. */
export interface TextOffsets {
  /** Bytes of a CR or LF. */
  readonly unitBytes: number;
  /** Returns the offset of a position where a line begins. Positions must not descend. */
  sourceOf(textPosition: number): number;
  /** Forgets the lines before a position. */
  discard(textPosition: number): void;
}

/** Returns offsets of a text that is UTF-8 already: `shift` is the length of its byte order mark. */
export function shiftedOffsets(shift: number): TextOffsets {
  return { unitBytes: 1, sourceOf: (position) => position + shift, discard: () => undefined };
}

/** Returns the offset of the end of a record, without its line end. @param lineEndLength - 0 at the end of the text */
export function sourceEndOf(offsets: TextOffsets, textEnd: number, lineEndLength: number): number {
  return lineEndLength === 0 ? offsets.sourceOf(textEnd) : offsets.sourceOf(textEnd + 1) - offsets.unitBytes;
}

/** Table of the lines of a decoded text, and of its end. CR and LF each end a line here: every record begins with one. */
export class LineOffsets implements TextOffsets {
  private text: number[] = [0];
  private source: number[];
  /** Index of the first kept line. */
  private head = 0;

  /** @param start - offset of the first character, behind a byte order mark */
  constructor(
    start: number,
    readonly unitBytes = 1,
  ) {
    this.source = [start];
  }

  add(textPosition: number, sourceOffset: number): void {
    this.text.push(textPosition);
    this.source.push(sourceOffset);
  }

  sourceOf(textPosition: number): number {
    const { text } = this;
    while (this.head < text.length && text[this.head]! < textPosition) this.head++;
    if (text[this.head] !== textPosition) throw new Error(`No line begins at ${textPosition}.`);
    return this.source[this.head]!;
  }

  discard(textPosition: number): void {
    let first = 0;
    while (first < this.text.length && this.text[first]! < textPosition) first++;
    if (first === 0) return;
    this.text = this.text.slice(first);
    this.source = this.source.slice(first);
    this.head = Math.max(0, this.head - first);
  }
}

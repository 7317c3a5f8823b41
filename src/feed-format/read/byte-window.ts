/** The latest bytes read from a file, by their offsets. */
export class ByteWindow {
  private bytes: Buffer = Buffer.alloc(0);
  private start = 0;

  append(chunk: Buffer): void {
    this.bytes = Buffer.concat([this.bytes, chunk]);
  }

  slice(from: number, to: number): Buffer {
    return this.bytes.subarray(from - this.start, to - this.start);
  }

  /** Discards the bytes before an offset. */
  discard(offset: number): void {
    this.bytes = this.bytes.subarray(Math.max(0, offset - this.start));
    this.start = Math.max(offset, this.start);
  }
}

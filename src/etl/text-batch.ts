/** How much is handed on at once, about: few writes, little memory. */
const batchBytes = 64 * 1024;

/**
 * Collects texts as UTF-8 until there are enough of them to hand on. Bytes, because a text that was put together of parts
 * keeps all of them in memory, and a part of a record keeps the record.
 */
export class TextBatch {
  private buffer: Buffer = Buffer.alloc(0);
  private used = 0;

  /** @returns what came before, once that is enough; its memory is no longer shared with anything */
  add(text: string | Buffer): Buffer | null {
    // A character of UTF-16 has at most three bytes in UTF-8.
    const bytesMax = typeof text === 'string' ? 3 * text.length : text.length;
    const isFull = this.used + bytesMax > this.buffer.length;
    const full = isFull && this.used > 0 ? this.take() : null;
    if (bytesMax > this.buffer.length) this.buffer = Buffer.allocUnsafeSlow(Math.max(batchBytes, bytesMax));
    this.used +=
      typeof text === 'string' ? this.buffer.write(text, this.used) : text.copy(this.buffer, this.used);
    return full;
  }

  /** Takes what is there, which may be nothing. */
  take(): Buffer {
    const bytes = this.buffer.subarray(0, this.used);
    this.buffer = Buffer.alloc(0);
    this.used = 0;
    return bytes;
  }
}

/** Approximate size of a batch: few writes, little memory. */
const batchBytes = 64 * 1024;

/**
 * Collects texts as UTF-8 into batches.
 *
 * Bytes, because in V8 a concatenated string retains its parts, and a slice retains the whole record.
 */
export class TextBatch {
  private buffer: Buffer = Buffer.alloc(0);
  private used = 0;

  /** Adds a text. @returns the texts before it when the batch is full; their memory is not reused */
  add(text: string | Buffer): Buffer | null {
    // A character of UTF-16 has at most three bytes in UTF-8.
    const bytesMax = typeof text === 'string' ? 3 * text.length : text.length;
    const isFull = this.used + bytesMax > this.buffer.length;
    const full = isFull && this.used > 0 ? this.flush() : null;
    if (bytesMax > this.buffer.length) this.buffer = Buffer.allocUnsafeSlow(Math.max(batchBytes, bytesMax));
    this.used +=
      typeof text === 'string' ? this.buffer.write(text, this.used) : text.copy(this.buffer, this.used);
    return full;
  }

  /** Returns the collected texts, which may be empty. */
  flush(): Buffer {
    const bytes = this.buffer.subarray(0, this.used);
    this.buffer = Buffer.alloc(0);
    this.used = 0;
    return bytes;
  }
}

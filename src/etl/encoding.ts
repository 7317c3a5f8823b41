const utf8Mark = Buffer.from('efbbbf', 'hex');
const utf16Mark = Buffer.from('fffe', 'hex');

/** Decodes UTF-16LE to UTF-8 where the byte order mark says so. The first chunk begins with the mark of UTF-8, if any. */
export async function* asUtf8(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let first: Buffer | undefined = Buffer.alloc(0);
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  for await (const chunk of source) {
    if (first) {
      first = Buffer.concat([first, chunk]);
      // The header alone is longer than a mark.
      if (first.length < utf8Mark.length) continue;
      if (startsWith(first, utf16Mark)) decoder = new TextDecoder('utf-16le');
    }
    const bytes: Buffer = first ?? chunk;
    first = undefined;
    yield decoder ? Buffer.from(decoder.decode(bytes, { stream: true })) : bytes;
  }
  if (first) yield first;
  if (decoder) yield Buffer.from(decoder.decode());
}

/** Returns the length of the byte order mark of UTF-8 at the beginning. */
export function markLength(bytes: Buffer): number {
  return startsWith(bytes, utf8Mark) ? utf8Mark.length : 0;
}

function startsWith(bytes: Buffer, mark: Buffer): boolean {
  return bytes.subarray(0, mark.length).equals(mark);
}

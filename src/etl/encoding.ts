const utf8Mark = Buffer.from('efbbbf', 'hex');
const utf16Mark = Buffer.from('fffe', 'hex');

/** Strips the byte order mark, and decodes UTF-16LE to UTF-8 where the mark says so. */
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
    const bytes: Buffer = first ? withoutMark(first) : chunk;
    first = undefined;
    yield decoder ? Buffer.from(decoder.decode(bytes, { stream: true })) : bytes;
  }
  if (first) yield first;
  if (decoder) yield Buffer.from(decoder.decode());
}

function withoutMark(bytes: Buffer): Buffer {
  return startsWith(bytes, utf8Mark) ? bytes.subarray(utf8Mark.length) : bytes;
}

function startsWith(bytes: Buffer, mark: Buffer): boolean {
  return bytes.subarray(0, mark.length).equals(mark);
}

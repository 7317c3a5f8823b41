import type { Encoding, ReadDefinition } from '../format-definition';

/** A byte order mark as a character. */
export const markCharacter = '\ufeff';

const marks: readonly { encoding: Encoding; bytes: readonly number[] }[] = [
  { encoding: 'utf-8', bytes: [0xef, 0xbb, 0xbf] },
  { encoding: 'utf-16le', bytes: [0xff, 0xfe] },
  { encoding: 'utf-16be', bytes: [0xfe, 0xff] },
  { encoding: 'gb18030', bytes: [0x84, 0x31, 0x95, 0x33] },
];

/** Maximum length of a byte order mark. */
export const markBytesMax = 4;

/**
 * Finds the encoding of a file, and the length of its byte order mark, which overrides the encoding of its format. In strict
 * reading, a file has no other encoding than UTF-8: other marks are no text.
 */
export function detectMark(
  beginning: Uint8Array,
  { encoding: otherwise = 'utf-8', strict = false }: Pick<ReadDefinition, 'encoding' | 'strict'> = {},
): { encoding: Encoding; markBytes: number } {
  const mark = marks.find(
    ({ encoding, bytes }) =>
      bytes.every((byte, at) => beginning[at] === byte) &&
      // In other encodings, the bytes of the mark of GB 18030 are letters.
      (otherwise === encoding || (encoding !== 'gb18030' && !strict)),
  );
  return { encoding: mark?.encoding ?? otherwise, markBytes: mark?.bytes.length ?? 0 };
}

/** Returns a text without the byte order mark at its beginning. */
export function withoutMark(text: string): string {
  return text.startsWith(markCharacter) ? text.slice(markCharacter.length) : text;
}

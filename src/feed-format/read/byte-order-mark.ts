import type { Encoding } from './decode-text';

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

/** Finds the encoding of a file by its byte order mark, and the length of that. @param otherwise - without a mark */
export function detectMark(
  beginning: Uint8Array,
  otherwise: Encoding = 'utf-8',
): { encoding: Encoding; markBytes: number } {
  const mark = marks.find(
    ({ encoding, bytes }) =>
      bytes.every((byte, at) => beginning[at] === byte) &&
      // In other encodings, these bytes are letters.
      (encoding !== 'gb18030' || otherwise === encoding),
  );
  return { encoding: mark?.encoding ?? otherwise, markBytes: mark?.bytes.length ?? 0 };
}

/** Returns a text without the byte order mark at its beginning. */
export function withoutMark(text: string): string {
  return text.startsWith(markCharacter) ? text.slice(markCharacter.length) : text;
}

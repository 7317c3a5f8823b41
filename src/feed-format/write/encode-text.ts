import { decode, encode } from 'iconv-lite';
import type { Encoding } from '../format-definition';

/** Encodings with all characters. */
const unicode: ReadonlySet<Encoding> = new Set(['utf-8', 'utf-16le', 'utf-16be']);

/** The decoders' replacement for bytes that are no character. */
const replacement = '\ufffd';

/** Encodes a text for which `canEncode` is true, without a byte order mark. */
export function encodeText(text: string, encoding: Encoding = 'utf-8'): Buffer {
  return encoding === 'utf-8' ? Buffer.from(text) : encode(text, encoding, { addBOM: false });
}

/** Tells whether an encoding has all characters of a text, so that decoding restores it. */
export function canEncode(text: string, encoding: Encoding = 'utf-8'): boolean {
  // eslint-disable-next-line no-control-regex -- ASCII is the same in all others
  if (unicode.has(encoding) || /^[\x00-\x7f]*$/.test(text)) return true;
  return !text.includes(replacement) && decode(encode(text, encoding), encoding) === text;
}

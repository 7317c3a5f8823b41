import { isUtf8 as isWholeUtf8 } from 'node:buffer';
import { decode, getDecoder, type DecoderStream } from 'iconv-lite';
import type { Encoding, ReadDefinition } from '../format-definition';
import { detectMark, markBytesMax } from './byte-order-mark';
import { LineOffsets, shiftedOffsets, type TextOffsets } from './line-offsets';

/** The bytes are not text in this encoding: one of them is no character, or the last character is incomplete. */
export class UndecodableText extends Error {
  constructor(readonly encoding: Encoding) {
    super(`The text is not ${encodingName(encoding)}.`);
  }
}

export function encodingName(encoding: Encoding): string {
  return encoding === 'utf-8' ? 'UTF-8' : encoding;
}

/** Decodes chunks of one encoding to UTF-8, in whole characters. */
interface ChunkDecoder {
  offsets: TextOffsets;
  /** @throws UndecodableText */
  write(bytes: Buffer): Buffer;
  /** Ends the text. @throws UndecodableText when a character is incomplete */
  end(): Buffer;
}

/**
 * Decodes a file to UTF-8, chunk by chunk, without its byte order mark, which overrides the encoding.
 * The table of offsets maps each line of the text to its bytes.
 */
export class FileDecoder {
  private first = Buffer.alloc(0);
  private decoder: ChunkDecoder | undefined;
  /** The encoding of the file; until its first bytes are known, the encoding of its format. */
  encoding: Encoding;
  /** Whether the file has a byte order mark. */
  hasMark = false;

  /** @param isWithin - whether the bytes are from within a file, in its encoding: a byte order mark is then a character */
  constructor(
    private readonly definition: Pick<ReadDefinition, 'encoding' | 'strict'>,
    isWithin = false,
  ) {
    this.encoding = definition.encoding ?? 'utf-8';
    if (isWithin) this.decoder = decoderOf(this.encoding, 0);
  }

  /** Table of offsets of the text so far. Call it after the first text. */
  get offsets(): TextOffsets {
    return this.decoder!.offsets;
  }

  /** @returns the text so far as UTF-8; empty until the byte order mark is known. @throws UndecodableText */
  write(bytes: Buffer): Buffer {
    if (this.decoder) return this.decoder.write(bytes);
    this.first = Buffer.concat([this.first, bytes]);
    return this.first.length < markBytesMax ? Buffer.alloc(0) : this.begin();
  }

  /** @returns the rest of the text. @throws UndecodableText */
  end(): Buffer {
    const text = this.decoder ? Buffer.alloc(0) : this.begin();
    return Buffer.concat([text, this.decoder!.end()]);
  }

  private begin(): Buffer {
    const { encoding, markBytes } = detectMark(this.first, this.definition);
    this.encoding = encoding;
    this.hasMark = markBytes > 0;
    this.decoder = decoderOf(encoding, markBytes);
    return this.decoder.write(this.first.subarray(markBytes));
  }
}

/**
 * Decodes a file, or its beginning, to UTF-8. Omits an incomplete character at the end of a beginning.
 * @param isWhole - absent: a beginning, but fewer bytes than a byte order mark may have are a whole file
 * @returns undefined if it is no text in its encoding
 */
export function decodeBeginning(
  bytes: Buffer,
  definition: Pick<ReadDefinition, 'encoding' | 'strict'>,
  isWhole = bytes.length < markBytesMax,
): Buffer | undefined {
  const decoder = new FileDecoder(definition);
  try {
    const text = decoder.write(bytes);
    return isWhole ? Buffer.concat([text, decoder.end()]) : text;
  } catch (error) {
    if (!(error instanceof UndecodableText)) throw error;
    return undefined;
  }
}

const isWithin = (byte: number, from: number, to: number) => byte >= from && byte <= to;

/** Length of a character by its first two bytes, in encodings of several bytes. */
const characterBytes: Partial<Record<Encoding, (lead: number, next: number) => number>> = {
  shift_jis: (lead) => (isWithin(lead, 0x81, 0x9f) || isWithin(lead, 0xe0, 0xfc) ? 2 : 1),
  'euc-jp': (lead) => (lead === 0x8f ? 3 : lead === 0x8e || isWithin(lead, 0xa1, 0xfe) ? 2 : 1),
  'euc-kr': (lead) => (isWithin(lead, 0x81, 0xfe) ? 2 : 1),
  big5: (lead) => (isWithin(lead, 0x81, 0xfe) ? 2 : 1),
  gb18030: (lead, next) => (!isWithin(lead, 0x81, 0xfe) ? 1 : isWithin(next, 0x30, 0x39) ? 4 : 2),
};

function decoderOf(encoding: Encoding, start: number): ChunkDecoder {
  if (encoding === 'utf-8') return new Utf8Decoder(start);
  if (encoding === 'utf-16le' || encoding === 'utf-16be') return new Utf16Decoder(encoding, start);
  return encoding in characterBytes
    ? new MultiByteDecoder(encoding, start)
    : new SingleByteDecoder(encoding, start);
}

/** Checks UTF-8, which needs no decoding. */
class Utf8Decoder implements ChunkDecoder {
  readonly offsets: TextOffsets;
  /** An incomplete character. */
  private rest = Buffer.alloc(0);

  constructor(start: number) {
    this.offsets = shiftedOffsets(start);
  }

  write(bytes: Buffer): Buffer {
    const all = this.rest.length === 0 ? bytes : Buffer.concat([this.rest, bytes]);
    const end = wholeCharacters(all);
    const text = all.subarray(0, end);
    if (!isUtf8(text)) throw new UndecodableText('utf-8');
    this.rest = Buffer.from(all.subarray(end));
    return text;
  }

  end(): Buffer {
    if (this.rest.length > 0) throw new UndecodableText('utf-8');
    return this.rest;
  }
}

/** Tells whether bytes are UTF-8. @param isBeginning - whether the last character may be incomplete */
export function isUtf8(bytes: Buffer, isBeginning = false): boolean {
  if (!isBeginning) return isWholeUtf8(bytes);
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** Returns the end of the last complete character, or of the bytes if they end with one. */
export function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if (byte < 0x80) break;
    if (byte < 0xc0) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const isLineEnd = (code: number) => code === lineFeed || code === carriageReturn;

const utf16UnitBytes = 2;

class Utf16Decoder implements ChunkDecoder {
  readonly offsets: LineOffsets;
  private readonly decoder: InstanceType<typeof TextDecoder>;
  private textPosition = 0;

  constructor(
    private readonly encoding: 'utf-16le' | 'utf-16be',
    /** Offset of the next decoded character. */
    private sourceOffset: number,
  ) {
    this.offsets = new LineOffsets(sourceOffset, utf16UnitBytes);
    this.decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
  }

  write(bytes: Buffer): Buffer {
    return this.decode(bytes);
  }

  end(): Buffer {
    const text = this.decode(undefined);
    this.offsets.add(this.textPosition, this.sourceOffset);
    return text;
  }

  private decode(bytes: Buffer | undefined): Buffer {
    let characters: string;
    try {
      characters = this.decoder.decode(bytes, { stream: bytes !== undefined });
    } catch {
      throw new UndecodableText(this.encoding);
    }
    const text = Buffer.from(characters);
    let unit = 0;
    for (let at = 0; at < text.length; at++) {
      if (!isLineEnd(text[at]!)) continue;
      while (!isLineEnd(characters.charCodeAt(unit))) unit++;
      unit++;
      this.offsets.add(this.textPosition + at + 1, this.sourceOffset + utf16UnitBytes * unit);
    }
    this.textPosition += text.length;
    this.sourceOffset += utf16UnitBytes * characters.length;
    return text;
  }
}

/** Bytes of UTF-8 for each byte of an encoding; undefined where the byte is no character. */
type ByteTable = readonly (Buffer | undefined)[];

const byteTables = new Map<Encoding, ByteTable>();

function byteTableOf(encoding: Encoding): ByteTable {
  let table = byteTables.get(encoding);
  if (!table) {
    const characters = decode(Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)), encoding, {
      stripBOM: false,
    });
    table = [...characters].map((character) =>
      character === replacement ? undefined : Buffer.from(character),
    );
    byteTables.set(encoding, table);
  }
  return table;
}

/** The library's replacement for bytes that are no character. Only its table of GB 18030 has it as a character. */
const replacement = '\ufffd';

/** Maximum bytes of UTF-8 per byte of a single-byte encoding: all their characters are in the Basic Multilingual Plane. */
const utf8BytesMax = 3;

class SingleByteDecoder implements ChunkDecoder {
  readonly offsets: LineOffsets;
  private readonly table: ByteTable;
  private textPosition = 0;

  constructor(
    private readonly encoding: Encoding,
    private sourceOffset: number,
  ) {
    this.offsets = new LineOffsets(sourceOffset);
    this.table = byteTableOf(encoding);
  }

  write(bytes: Buffer): Buffer {
    const { table, offsets, textPosition, sourceOffset } = this;
    const text = Buffer.allocUnsafe(utf8BytesMax * bytes.length);
    let used = 0;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (byte < 0x80) {
        text[used++] = byte;
        if (isLineEnd(byte)) offsets.add(textPosition + used, sourceOffset + at + 1);
        continue;
      }
      const character = table[byte];
      if (!character) throw new UndecodableText(this.encoding);
      for (let index = 0; index < character.length; index++) text[used++] = character[index]!;
    }
    this.textPosition += used;
    this.sourceOffset += bytes.length;
    return text.subarray(0, used);
  }

  end(): Buffer {
    this.offsets.add(this.textPosition, this.sourceOffset);
    return Buffer.alloc(0);
  }
}

/**
 * Decodes an encoding in which the bytes of line ends occur in no other character.
 * The library gets whole characters: it loses one that began in the previous chunk and becomes two code units.
 */
class MultiByteDecoder implements ChunkDecoder {
  readonly offsets: LineOffsets;
  private readonly decoder: DecoderStream;
  /** An incomplete character. */
  private rest = Buffer.alloc(0);
  private textPosition = 0;

  constructor(
    private readonly encoding: Encoding,
    /** Offset of the next character. */
    private sourceOffset: number,
  ) {
    this.offsets = new LineOffsets(sourceOffset);
    this.decoder = getDecoder(encoding, { stripBOM: false });
  }

  write(chunk: Buffer): Buffer {
    const all = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    const bytes = all.subarray(0, this.lastEnd(all));
    this.rest = Buffer.from(all.subarray(bytes.length));
    const text = this.check(this.decoder.write(bytes));
    let at = 0;
    for (let position = 0; position < text.length; position++) {
      if (!isLineEnd(text[position]!)) continue;
      while (at < bytes.length && !isLineEnd(bytes[at]!)) at++;
      at++;
      this.offsets.add(this.textPosition + position + 1, this.sourceOffset + at);
    }
    this.textPosition += text.length;
    this.sourceOffset += bytes.length;
    return text;
  }

  end(): Buffer {
    if (this.rest.length > 0) throw new UndecodableText(this.encoding);
    this.offsets.add(this.textPosition, this.sourceOffset);
    return this.check(this.decoder.end() ?? '');
  }

  /** Finds the end of the last complete character. */
  private lastEnd(bytes: Buffer): number {
    const lengthOf = characterBytes[this.encoding]!;
    let at = 0;
    for (;;) {
      const byte = bytes[at];
      if (byte === undefined) return at;
      // After a byte at the end, the next is unknown: no character of two bytes or more is complete.
      const length = byte < 0x80 ? 1 : lengthOf(byte, bytes[at + 1] ?? 0);
      if (at + length > bytes.length) return at;
      at += length;
    }
  }

  private check(characters: string): Buffer {
    // The library's table of GB 18030 contains halves of characters too.
    if (characters.includes(replacement) || !characters.isWellFormed())
      throw new UndecodableText(this.encoding);
    return Buffer.from(characters);
  }
}

import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** Identifies a key of this service, for secret scanners. */
const prefix = 'pcis_';
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 178 bits. */
const secretCharacters = 30;
const checksumCharacters = 6;
const key = `${prefix}[${alphabet}]{${secretCharacters + checksumCharacters}}`;
const form = new RegExp(`^${key}$`);
const anywhere = new RegExp(key, 'g');

/**
 * Generates a key: `pcis_`, 30 random characters, and their CRC-32 in 6, all of `0-9A-Za-z`. The checksum identifies wrong keys
 * without the database.
 */
export function generateKey(): string {
  const secret = Array.from({ length: secretCharacters }, () => alphabet[randomInt(alphabet.length)]).join(
    '',
  );
  return `${prefix}${secret}${checksumOf(secret)}`;
}

/** Returns whether the text has the form and checksum of a generated key. */
export function isGeneratedKey(text: string): boolean {
  if (!form.test(text)) return false;
  const secret = text.slice(prefix.length, -checksumCharacters);
  return text.endsWith(checksumOf(secret));
}

/** Replaces keys of the form of `generateKey` in a text by their prefix. */
export function hideKeys(text: string): string {
  return text.replace(anywhere, `${prefix}[redacted]`);
}

function checksumOf(secret: string): string {
  let rest = crc32(secret);
  let digits = '';
  for (let place = 0; place < checksumCharacters; place++) {
    digits = alphabet[rest % alphabet.length]! + digits;
    rest = Math.floor(rest / alphabet.length);
  }
  return digits;
}

/** Returns the SHA-256 of a key, 32 bytes, which is stored instead of it. */
export function digestOf(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}

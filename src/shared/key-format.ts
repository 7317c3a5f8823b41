import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** Tells a secret scanner, for example, whose key it has found. */
const prefix = 'pcis_';
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 178 bits. */
const secretCharacters = 30;
const checksumCharacters = 6;
const key = `${prefix}[${alphabet}]{${secretCharacters + checksumCharacters}}`;
const form = new RegExp(`^${key}$`);
const anywhere = new RegExp(key, 'g');

/**
 * A new key: `pcis_`, 30 random characters, and 6 that are the CRC-32 of the 30, all of `0-9A-Za-z`, so that what only
 * looks like a key can be told from one without asking a database.
 */
export function generateKey(): string {
  const secret = Array.from({ length: secretCharacters }, () => alphabet[randomInt(alphabet.length)]).join(
    '',
  );
  return `${prefix}${secret}${checksumOf(secret)}`;
}

/** Whether the text is a key as `generateKey` makes them; whether it is in use is another question. */
export function isGeneratedKey(text: string): boolean {
  if (!form.test(text)) return false;
  const secret = text.slice(prefix.length, -checksumCharacters);
  return text.endsWith(checksumOf(secret));
}

/** The text with every key in it that `generateKey` could have made cut down to its prefix. */
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

/** SHA-256 of a key, 32 bytes: all that is kept of it. */
export function digestOf(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}

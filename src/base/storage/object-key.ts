import { createHash, randomUUID } from 'node:crypto';

/** Maximum length of a file name in a key: file systems allow 255 bytes. */
const keyFileNameBytes = 200;

/** Maximum length of a partner's slug in a key, for the same reason. */
const keySlugCharacters = 200;

/**
 * Builds the key of a raw file (specification, section 2): `raw/partners/<partner_slug>/feeds/<feed_id>/<file_name>`.
 * @param feedId - the identifier, for example FD00001
 */
export function rawFileKey(partnerName: string, feedId: string, fileName: string): string {
  return `${rawFilePrefix}${partnerSlug(partnerName)}/feeds/${feedId}/${safeFileName(fileName)}`;
}

/** Prefix of the keys of raw files. */
export const rawFilePrefix = 'raw/partners/';

/** Prefixes of all keys of the service. */
export const keyPrefixes = [rawFilePrefix, 'staging/'];

/** Key of the object that says to which database the bucket belongs. It has none of `keyPrefixes`: no clean-up lists it. */
export const ownerKey = 'identity.json';

/** Extracts the feed id of a raw file's key, for example FD00001; undefined for other keys. */
export function feedIdOfKey(key: string): string | undefined {
  return /^raw\/partners\/[^/]+\/feeds\/([^/]+)\/[^/]+$/.exec(key)?.[1];
}

/** Tells whether `stagingKey` made the key. */
export function isStagingKey(key: string): boolean {
  return /^staging\/[0-9a-f-]{36}$/.test(key);
}

/** Creates a temporary key, for an object whose final key is not known yet. No row refers to it. */
export function stagingKey(): string {
  return `staging/${randomUUID()}`;
}

/**
 * Converts a partner's name to lower-case ASCII letters, digits and hyphens.
 *
 * Without any of these, the slug is a short hash. Two partners may have the same slug; the key also has the feed's id.
 */
export function partnerSlug(partnerName: string): string {
  const slug = partnerName
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, keySlugCharacters)
    .replace(/-$/, '');
  return slug || createHash('sha256').update(partnerName).digest('hex').slice(0, 12);
}

/** Removes separators, control characters and `..` from a file name, and shortens it before its extension. */
export function safeFileName(fileName: string): string {
  const safe = fileName.replace(/[/\\\p{Cc}]/gu, '_').replace(/\.{2,}/g, '.');
  const named = /^[.\s]*$/.test(safe) ? `feed${safe.trim()}` : safe;
  if (Buffer.byteLength(named) <= keyFileNameBytes) return named;
  const ending = /\.[A-Za-z0-9]{1,10}$/.exec(named)?.[0] ?? '';
  let stem = '';
  for (const character of named) {
    if (Buffer.byteLength(stem + character + ending) > keyFileNameBytes) break;
    stem += character;
  }
  // Avoids `..` before the extension.
  return stem.replace(/\.$/, '') + ending;
}

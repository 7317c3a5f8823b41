import { createHash, randomUUID } from 'node:crypto';

/** A file name in an object's key is cut to this many bytes: a local file system allows 255. */
const keyFileNameBytes = 200;

/** A partner's slug in an object's key is cut to this many characters, for the same reason. */
const keySlugCharacters = 200;

/**
 * The key of a feed's raw file (specification, section 2): `raw/partners/<partner_slug>/feeds/<feed_id>/<file_name>`.
 * @param feedId - the identifier, for example FD00001
 */
export function rawFileKey(partnerName: string, feedId: string, fileName: string): string {
  return `raw/partners/${partnerSlug(partnerName)}/feeds/${feedId}/${safeFileName(fileName)}`;
}

/** What a listing must begin with to show all objects of ours. */
export const keyPrefixes = ['raw/partners/', 'staging/'];

/** The feed that a raw file's key names, for example FD00001; undefined for any other key. */
export function feedIdOfKey(key: string): string | undefined {
  return /^raw\/partners\/[^/]+\/feeds\/([^/]+)\/[^/]+$/.exec(key)?.[1];
}

/** Whether the key is one of `stagingKey`. */
export function isStagingKey(key: string): boolean {
  return /^staging\/[0-9a-f-]{36}$/.test(key);
}

/** A key for an object whose final key is not known yet. No row ever names it. */
export function stagingKey(): string {
  return `staging/${randomUUID()}`;
}

/**
 * The partner's name without diacritics, in lower case, every run of characters other than a-z and 0-9 as one hyphen.
 * A name of which nothing remains gives a short hash of itself. Two partners may share a slug; the feed's id differs.
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

/** The file name without separators, control characters and `..`; cut in the middle of the name, not of the ending. */
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
  // Cut at a point, the name would end in two.
  return stem.replace(/\.$/, '') + ending;
}

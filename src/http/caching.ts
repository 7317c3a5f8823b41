import { createHash } from 'node:crypto';
import fresh from 'fresh';

/**
 * Returns the maximum age of a response in seconds by `Cache-Control` of the request (RFC 9111, section 5.2.1).
 * @returns 0 for `no-cache`, Infinity without a limit; other directives are ignored
 */
export function ageSecondsMaxOf({ 'Cache-Control': header }: { 'Cache-Control'?: string }): number {
  if (header === undefined) return Infinity;
  let seconds = Infinity;
  for (const directive of header.split(',')) {
    if (/^\s*no-cache\s*$/i.test(directive)) return 0;
    const [, given] = /^\s*max-age\s*=\s*"?(\d{1,9})"?\s*$/i.exec(directive) ?? [];
    if (given !== undefined) seconds = Math.min(seconds, Number(given));
  }
  return seconds;
}

/** Returns the strong entity tag of bytes: their SHA-256 in hexadecimal digits, in quotes. */
export function entityTagOf(bytes: Buffer): string {
  return `"${createHash('sha256').update(bytes).digest('hex')}"`;
}

/** Returns whether the client has this version (RFC 9110, section 13.1.2). */
export function hasCopy(request: { 'If-None-Match'?: string }, entityTag: string): boolean {
  // Without Cache-Control, which `fresh` would obey, and which `fetch` adds to If-None-Match.
  return fresh({ 'if-none-match': request['If-None-Match'] }, { etag: entityTag });
}

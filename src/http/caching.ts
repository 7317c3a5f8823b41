import { createHash } from 'node:crypto';
import fresh from 'fresh';

/**
 * How old an answer a client takes, in seconds, by the header `Cache-Control` of its request (RFC 9111, section 5.2.1): 0
 * with `no-cache`, Infinity when it does not say. Other directives are ignored.
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

/** The strong entity tag of these bytes: their SHA-256 in hexadecimal digits, in quotes. */
export function entityTagOf(bytes: Buffer): string {
  return `"${createHash('sha256').update(bytes).digest('hex')}"`;
}

/** Whether the client has this copy already (RFC 9110, section 13.1.2). */
export function hasCopy(request: { 'If-None-Match'?: string }, entityTag: string): boolean {
  // No other header: `fresh` heeds Cache-Control, which is for caches, and which `fetch` adds to If-None-Match by itself.
  return fresh({ 'if-none-match': request['If-None-Match'] }, { etag: entityTag });
}

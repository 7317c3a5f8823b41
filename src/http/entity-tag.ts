import { createHash } from 'node:crypto';
import fresh from 'fresh';

/** The strong entity tag of these bytes: their SHA-256 in hexadecimal digits, in quotes. */
export function entityTagOf(bytes: Buffer): string {
  return `"${createHash('sha256').update(bytes).digest('hex')}"`;
}

/** Whether the client has this copy already (RFC 9110, section 13.1.2). */
export function hasCopy(request: { 'If-None-Match'?: string }, entityTag: string): boolean {
  // No other header: `fresh` heeds Cache-Control, which is for caches, and which `fetch` adds to If-None-Match by itself.
  return fresh({ 'if-none-match': request['If-None-Match'] }, { etag: entityTag });
}

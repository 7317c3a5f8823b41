import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/**
 * The caller's own request id if it is well-formed, else a new UUID. It goes into the log: one that is the caller's key, sent
 * there by mistake, is not taken.
 */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const sent = headers['x-request-id'];
  const isTaken = typeof sent === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(sent);
  return isTaken && sent !== headers['x-api-key'] ? sent : randomUUID();
}

/**
 * What every response says, whatever it answers (OWASP REST Security Cheat Sheet): a browser that is led here must not
 * run, frame, guess at, embed or keep any of it. An operation that needs something else declares it in the document.
 * No Strict-Transport-Security: this is plain HTTP, where it must not be sent (RFC 6797, section 7.2); whoever ends TLS
 * before us sends it.
 */
export const securityHeaders: Readonly<Record<string, string>> = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

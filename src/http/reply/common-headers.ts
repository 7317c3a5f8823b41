import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';

/** Returns the caller's request id if it is well-formed and not the key, else a new UUID. It is logged. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const sent = headers['x-request-id'];
  const isTaken = typeof sent === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(sent);
  return isTaken && sent !== headers['x-api-key'] ? sent : randomUUID();
}

/**
 * Headers of every response (OWASP REST Security Cheat Sheet); an operation can override them in the document.
 * Strict-Transport-Security is left to the proxy that terminates TLS: it must not be sent over plain HTTP (RFC 6797, section 7.2).
 */
export const securityHeaders: Readonly<Record<string, string>> = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

export function setSecurityHeaders(response: ServerResponse): void {
  for (const [name, value] of Object.entries(securityHeaders)) response.setHeader(name, value);
}

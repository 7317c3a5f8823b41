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

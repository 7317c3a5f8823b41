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

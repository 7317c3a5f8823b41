import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import fresh from 'fresh';
import { keepJson } from '../../base/exact-json';
import { makeReply, type Reply } from '../contract/contract';

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

/** Returns the strong entity tag of bytes or a text in UTF-8: the SHA-256 in hexadecimal digits, in quotes. */
export function entityTagOf(content: Buffer | string): string {
  return `"${hash('sha256', content, 'hex')}"`;
}

/** A JSON body that several requests may share: it is serialized once. */
export interface Representation<Body> {
  body: Body;
  entityTag: string;
}

export function representationOf<Body extends object>(body: Body): Representation<Body> {
  return { body, entityTag: entityTagOf(keepJson(body)) };
}

/** Returns headers by which a client may reuse its copy for two seconds, and then revalidates it: see `unlessCopied`. */
export const cacheHeaders = ({ entityTag }: Representation<unknown>) =>
  ({ ETag: entityTag, 'Cache-Control': 'private, max-age=2', Vary: 'x-api-key' }) as const;

/** Returns whether the client has this version (RFC 9110, section 13.1.2). */
export function hasCopy(request: { 'If-None-Match'?: string }, entityTag: string): boolean {
  // Without Cache-Control, which `fresh` would obey, and which `fetch` adds to If-None-Match.
  return fresh({ 'if-none-match': request['If-None-Match'] }, { etag: entityTag });
}

/** Returns 304 instead of a 200 with an `ETag` if the client has this version. */
export function unlessCopied({ method, headers }: IncomingMessage, reply: Reply): Reply {
  const { ETag: entityTag } = reply.headers;
  if (reply.status !== 200 || typeof entityTag !== 'string') return reply;
  if (method !== 'GET' && method !== 'HEAD') return reply;
  const isCopied = hasCopy({ 'If-None-Match': headers['if-none-match'] }, entityTag);
  return isCopied ? makeReply(304, undefined, reply.headers) : reply;
}

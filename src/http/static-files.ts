import type { IncomingHttpHeaders } from 'node:http';
import { extname } from 'node:path';
import Negotiator from 'negotiator';
import { entityTagOf } from './caching';
import { contentCodings, type Encoded, type ContentCoding } from './compressed';
import { makeReply, type Reply } from './contract';
import type { Route, Routes } from './routes';

/** The address stays when the content changes. */
const revalidated = 'no-cache';
/** The address contains the digest of the content. */
const immutable = 'public, max-age=31536000, immutable';

interface Options {
  /** Whether the address contains the digest of the content, see `hashedPath`. */
  isHashed?: boolean;
  /** Whether only clients that prefer HTML get the file; others get what the contract says. */
  isForBrowsers?: boolean;
  contentSecurityPolicy?: string;
}

/** A public file outside the contract, kept in memory in each encoding. */
export interface StaticFile {
  content: Buffer;
  mediaType: string;
  isForBrowsers: boolean;
  replies: Readonly<Record<ContentCoding | 'identity', Reply>>;
}

/** Files by path. `*` after the first segment is any segment; `NAME-*.EXT` is any digest, see `hashedPath`. */
export type StaticFiles = ReadonlyMap<string, StaticFile>;

export function staticFile(content: Encoded, mediaType: string, options: Options = {}): StaticFile {
  const { isHashed, isForBrowsers = false, contentSecurityPolicy } = options;
  const headers = {
    'Cache-Control': isHashed ? immutable : revalidated,
    Vary: isForBrowsers ? 'Accept, Accept-Encoding' : 'Accept-Encoding',
    ...(contentSecurityPolicy && { 'Content-Security-Policy': contentSecurityPolicy }),
  };
  const replyOf = (body: Buffer, encoding?: ContentCoding) =>
    makeReply(200, body, {
      ...headers,
      ETag: entityTagOf(body),
      ...(encoding && { 'Content-Encoding': encoding }),
    });
  const replies = {
    identity: replyOf(content.identity),
    br: replyOf(content.br, 'br'),
    gzip: replyOf(content.gzip, 'gzip'),
  };
  return { content: content.identity, mediaType, isForBrowsers, replies };
}

/**
 * Returns the path with a digest before its extension, by default that of the content: another content has another address.
 * @param digest - `*` for that of any other release: while releases replace each other, a page of one asks the other for its files
 */
export function hashedPath(
  path: string,
  content: Buffer,
  digest = entityTagOf(content).slice(1, 17),
): string {
  const extension = extname(path);
  return `${path.slice(0, -extension.length)}-${digest}${extension}`;
}

const anyDigest = (path: string) => path.replace(/-[0-9a-f]{16}(?=\.\w+$)/, '-*');

/** Adds files to the routes of the document; a file precedes an operation of the same path. */
export function withStaticFiles(routes: Routes, files: StaticFiles): Routes {
  const methods = ['GET', 'HEAD'];
  const fileAt = (path: string) => files.get(path) ?? files.get(anyDigest(path)) ?? files.get(shapeOf(path));
  return {
    find(method, path, headers = {}) {
      const file = fileAt(path);
      const isOffered = !file?.isForBrowsers || (methods.includes(method) && prefersHtml(headers));
      if (!file || !isOffered) return routes.find(method, path, headers);
      return methods.includes(method) ? routeOf(file, headers) : 'method_not_allowed';
    },
    allowedMethods: (path) => (fileAt(path) ? methods : routes.allowedMethods(path)),
  };
}

/** Returns the path with `*` for each segment after the first. */
function shapeOf(path: string): string {
  const second = path.indexOf('/', 1);
  return second === -1 ? path : path.slice(0, second) + path.slice(second).replace(/[^/]+/g, '*');
}

/** Returns whether a browser navigates: other clients accept anything, or prefer JSON. */
function prefersHtml({ accept }: IncomingHttpHeaders): boolean {
  const types = ['application/json', 'text/html'];
  return new Negotiator({ headers: { accept } }).mediaType(types) === 'text/html';
}

function routeOf({ mediaType, replies }: StaticFile, headers: IncomingHttpHeaders): Route {
  const preferred = [...contentCodings, 'identity'] as const;
  const chosen = new Negotiator({ headers }).encoding(preferred, { preferred });
  const reply = chosen
    ? replies[chosen]
    : makeReply(
        406,
        { detail: 'Not Acceptable' },
        { Vary: replies.identity.headers.Vary, 'x-error-code': 'not_acceptable' },
      );
  return {
    operationId: undefined,
    parameters: [],
    body: undefined,
    needsKey: false,
    handle: () => Promise.resolve(reply),
    pathParameters: () => ({}),
    violations: () => [],
    mediaTypeOf: (status) => (status === 200 ? mediaType : 'application/json'),
    checkReply: () => undefined,
  };
}

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import express, { type Request } from 'express';
import Negotiator from 'negotiator';
import { entityTagOf, hasCopy } from '../reply/caching';
import { setSecurityHeaders } from '../reply/common-headers';
import type { Exchange, Middleware } from '../contract/exchange';
import { drainRequest } from '../reply/send-reply';
import { methodNotAllowed, notAcceptable } from '../../base/errors';
import { consoleDepthMax } from './console.page';
import { contentSecurityPolicy } from './docs.page';

/** The encodings of files, the smallest first. */
const contentCodings = ['br', 'gzip'] as const;
export type ContentCoding = (typeof contentCodings)[number];
const encodings = [...contentCodings, 'identity'] as const;

const methods = ['GET', 'HEAD'];

/** Express knows others for scripts and YAML. */
const mediaTypes: Readonly<Record<string, string>> = {
  '.cjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.yaml': 'application/yaml',
};

/** The address stays when the content changes. */
const revalidated = 'no-cache';
/** The address contains the digest of the content. */
const immutable = 'public, max-age=31536000, immutable';

/** A browser that navigates to it gets the landing page; for other clients it is no route. */
const landingPath = '/';

/**
 * Opens the pages outside of the document: landing page, console, the document, a page that shows it, and the command of partners.
 * @returns their middleware and paths. @throws Error when they are not built (`make dist/.built`)
 */
export function openPages(folder = builtPages()): { serve: Middleware; paths: string[] } {
  const files = new Set(pagePaths(folder));
  const currentAssets = new Map([...files].map((path) => [anyDigest(path), path]));
  const serveEncoded = express.static(folder, staticOptions);
  const tags = new Map(
    encodings.flatMap((encoding) =>
      [...files].map((path) => [
        `/${encoding}${path}`,
        entityTagOf(readFileSync(join(folder, encoding, path))),
      ]),
    ),
  );

  const fileAt = (path: string): string | undefined => {
    if (path === landingPath) return '/index.html';
    if (path === '/docs') return '/docs.html';
    if (isConsole(path)) {
      const depth = path.split('/').length - 2;
      const isAddress = !path.includes('//') && depth < consoleDepthMax + (path.endsWith('/') ? 1 : 0);
      return isAddress ? `/console/${depth}.html` : undefined;
    }
    if (extname(path) === '.html') return undefined;
    return files.has(path) ? path : currentAssets.get(anyDigest(path));
  };

  const serve: Middleware = (request, response, next) => {
    const { exchange } = response.locals;
    const { path } = exchange;
    const file = fileAt(path);
    const isLanding = path === landingPath;
    if (file === undefined || (isLanding && !(methods.includes(request.method) && prefersHtml(request))))
      return next();
    if (!methods.includes(request.method)) throw methodNotAllowed(methods);
    response.setHeader('Vary', isLanding ? 'Accept, Accept-Encoding' : 'Accept-Encoding');
    const encoding = new Negotiator(request).encoding(encodings, { preferred: encodings });
    if (!encoding) throw notAcceptable();
    endWithResponse(exchange);
    drainRequest(request);
    if (exchange.isDraining) response.setHeader('Connection', 'close');
    const address = `/${encoding}${file}`;
    const tag = tags.get(address)!;
    response.setHeader('ETag', tag);
    response.setHeader('Cache-Control', path === file && isHashed(path) ? immutable : revalidated);
    if (hasCopy({ 'If-None-Match': request.headers['if-none-match'] }, tag)) {
      // It would replace the header of the cached copy.
      response.status(304).removeHeader('Content-Security-Policy');
      response.end();
      return;
    }
    if (extname(file) === '.html') response.setHeader('Content-Security-Policy', contentSecurityPolicy);
    if (encoding !== 'identity') response.setHeader('Content-Encoding', encoding);
    response.setHeader('Content-Type', mediaTypes[extname(file)]!);
    for (const name of preconditions) request.headers[name] = undefined;
    request.url = address;
    serveEncoded(request, response, (error) => {
      // These headers describe the file.
      for (const name of ['ETag', 'Vary', 'Content-Encoding']) response.removeHeader(name);
      setSecurityHeaders(response);
      next(new Error('a page cannot be read', { cause: error }));
    });
  };
  const shown = [...files].filter((path) => extname(path) !== '.html');
  return { serve, paths: [landingPath, '/docs', '/console', ...shown] };
}

const builtPages = () => dirname(dirname(require.resolve('#pages/identity/openapi.yaml')));

/** Ends the request with its response; a response behind another one on a closed connection gets no event of its own. */
function endWithResponse(exchange: Exchange): void {
  const { response } = exchange;
  const { socket } = exchange.request;
  const end = () => {
    response.off('close', end);
    socket.off('close', end);
    exchange.end({ status: response.statusCode });
  };
  response.on('close', end);
  socket.on('close', end);
  if (socket.destroyed) end();
}

/** Disables Express' additions: weak tags, dates, ranges, redirects of folders. */
const staticOptions = {
  acceptRanges: false,
  cacheControl: false,
  etag: false,
  fallthrough: false,
  index: false,
  lastModified: false,
  redirect: false,
} as const;

/** Express would answer 412, or obey the `Cache-Control` that `fetch` adds. */
const preconditions = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'];

/** Inserts a digest of the content before the extension of a path: new content has a new address. */
export function hashedPath(path: string, content: Buffer): string {
  const extension = extname(path);
  return `${path.slice(0, -extension.length)}-${entityTagOf(content).slice(1, 17)}${extension}`;
}

/** During an upgrade, a page of one release requests files from the other: any digest names the current file. */
const anyDigest = (path: string) => path.replace(/-[0-9a-f]{16}(?=\.\w+$)/, '-*');

/** Whether a path is of a part of the console: the bundler puts a digest into its name. */
export const isChunk = (path: string) => /-[A-Z0-9]{8}\.js$/.test(path);

const isHashed = (path: string) => anyDigest(path) !== path || isChunk(path);

/** `/console`, and all addresses of its views below it, each also with a slash at its end. */
const isConsole = (path: string) => /^\/console(?:\/|$)/.test(path);

export function pagePaths(folder: string): string[] {
  const root = join(folder, 'identity');
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length));
}

/** Returns whether a browser navigates: other clients accept anything, or prefer JSON. */
const prefersHtml = ({ headers: { accept } }: Request) =>
  new Negotiator({ headers: { accept } }).mediaType(['application/json', 'text/html']) === 'text/html';

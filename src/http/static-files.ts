import Negotiator from 'negotiator';
import { makeReply } from './contract';
import { entityTagOf } from './caching';
import type { Route, Routes } from './routes';

/** A public file outside the contract, kept in memory. */
export interface StaticFile {
  content: Buffer;
  mediaType: string;
  headers: { ETag: string; 'Cache-Control': string; 'Content-Security-Policy'?: string; Vary?: 'Accept' };
}

/** Files by path. `*` after the first segment is any segment; a path with `Vary: Accept` is for browsers only. */
export type StaticFiles = ReadonlyMap<string, StaticFile>;

export function staticFile(
  content: Buffer,
  mediaType: string,
  headers: Omit<StaticFile['headers'], 'ETag'>,
): StaticFile {
  return { content, mediaType, headers: { ETag: entityTagOf(content), ...headers } };
}

/** Adds files to the routes of the document; a file precedes an operation of the same path. */
export function withStaticFiles(routes: Routes, files: StaticFiles): Routes {
  const fileRoutes = new Map([...files].map(([path, file]) => [path, routeOf(file)]));
  const forBrowsers = new Set([...files].flatMap(([path, { headers }]) => (headers.Vary ? [path] : [])));
  const methods = ['GET', 'HEAD'];
  const routeAt = (path: string) => fileRoutes.get(path) ?? fileRoutes.get(shapeOf(path));
  return {
    find(method, path, accept) {
      const route = routeAt(path);
      const isOffered = !forBrowsers.has(path) || (methods.includes(method) && prefersHtml(accept));
      if (!route || !isOffered) return routes.find(method, path, accept);
      return methods.includes(method) ? route : 'method_not_allowed';
    },
    allowedMethods: (path) => (routeAt(path) ? methods : routes.allowedMethods(path)),
  };
}

/** Returns the path with `*` for each segment after the first. */
function shapeOf(path: string): string {
  const second = path.indexOf('/', 1);
  return second === -1 ? path : path.slice(0, second) + path.slice(second).replace(/[^/]+/g, '*');
}

/** Returns whether a browser navigates: other clients accept anything, or prefer JSON. */
function prefersHtml(accept: string | undefined): boolean {
  const types = ['application/json', 'text/html'];
  return new Negotiator({ headers: { accept } }).mediaType(types) === 'text/html';
}

function routeOf({ content, mediaType, headers }: StaticFile): Route {
  return {
    operationId: undefined,
    parameters: [],
    body: undefined,
    needsKey: false,
    handle: () => Promise.resolve(makeReply(200, content, headers)),
    pathParameters: () => ({}),
    violations: () => [],
    mediaTypeOf: (status) => (status === 200 ? mediaType : 'application/json'),
    checkReply: () => undefined,
  };
}

import { makeReply } from './contract';
import { entityTagOf } from './caching';
import type { Route, Routes } from './routes';

/** A public file outside the contract, kept in memory. */
export interface StaticFile {
  content: Buffer;
  mediaType: string;
  headers: { ETag: string; 'Cache-Control': string; 'Content-Security-Policy'?: string };
}

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
  const methods = ['GET', 'HEAD'];
  return {
    find(method, path) {
      const route = fileRoutes.get(path);
      if (!route) return routes.find(method, path);
      return methods.includes(method) ? route : 'method_not_allowed';
    },
    allowedMethods: (path) => (fileRoutes.has(path) ? methods : routes.allowedMethods(path)),
  };
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

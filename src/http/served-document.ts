import type { Document } from 'openapi-backend';
import type { OpenAPIV3 } from 'openapi-types';
import type { ServedHandlers } from './contract';

/**
 * The document as far as it is served: without the operations that have no handler, and with any object accepted as a
 * form, whose parts come in while the handler reads them, and it checks them.
 */
export function servedDocument(document: Document, handlers: ServedHandlers): Document {
  type PathItem = Record<string, { operationId?: string; requestBody?: OpenAPIV3.RequestBodyObject }>;
  const isServed = ([, { operationId }]: [string, PathItem[string]]) =>
    operationId === undefined || Object.hasOwn(handlers, operationId);
  const copy = structuredClone(document);
  const paths = copy.paths as Record<string, PathItem>;
  for (const [path, item] of Object.entries(paths)) {
    paths[path] = Object.fromEntries(Object.entries(item).filter(isServed));
    for (const { requestBody } of Object.values(item)) {
      const form = requestBody?.content['multipart/form-data'];
      if (form) form.schema = { type: 'object' };
    }
  }
  return copy;
}

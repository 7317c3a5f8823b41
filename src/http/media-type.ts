import type OpenAPIBackend from 'openapi-backend';
import type { OpenAPIV3 } from 'openapi-types';

/** The media type of a reply, as the document declares it; JSON for what belongs to no operation (404 and 405 of the router). */
export function declaredMediaType(
  api: OpenAPIBackend,
  operationId: string | undefined,
  status: number,
): string {
  const responses = operationId === undefined ? {} : api.router.getOperation(operationId)?.responses;
  const response = responses?.[status] as OpenAPIV3.ResponseObject | undefined;
  return Object.keys(response?.content ?? {})[0] ?? 'application/json';
}

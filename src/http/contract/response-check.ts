import { Readable } from 'node:stream';
import type { OpenAPIBackend, Operation } from 'openapi-backend';
import type { OpenAPIV3 } from 'openapi-types';
import { stringifyJson } from '../../base/exact-json';
import type { Reply } from './contract';
import { EncodedFile } from './encoded-file';

/** Validates a reply against the document. @throws Error for a violation */
export function checkReply(api: OpenAPIBackend, operation: Operation, reply: Reply): void {
  const violation = findViolation(api, operation, reply);
  if (violation)
    throw new Error(`${operation.operationId} ${reply.status} breaks the contract: ${violation}`);
}

function findViolation(api: OpenAPIBackend, operation: Operation, reply: Reply): string | undefined {
  const declared = operation.responses?.[reply.status] as OpenAPIV3.ResponseObject | undefined;
  if (!declared) return `status ${reply.status} is not declared`;

  const declaredHeaders = (declared.headers ?? {}) as Record<string, OpenAPIV3.HeaderObject>;
  const headers = Object.keys(reply.headers);
  const missing = Object.entries(declaredHeaders)
    .filter(([name, { required }]) => required && name !== 'x-request-id' && !headers.includes(name))
    .map(([name]) => name);
  const unknown = headers.filter((name) => name === 'x-request-id' || !(name in declaredHeaders));
  if (missing.length + unknown.length > 0)
    return `headers: missing ${missing.join()}, not declared ${unknown.join()}`;

  const code = reply.headers['x-error-code'];
  const { 'x-error-codes': codes = [] } = declared as { 'x-error-codes'?: unknown[] };
  if (code !== undefined && !codes.includes(code)) return `the code ${JSON.stringify(code)} is not declared`;

  const [declaredType, anotherType] = Object.keys(declared.content ?? {});
  if (anotherType !== undefined) return 'a response has one media type';
  if ((reply.body === undefined) !== (declaredType === undefined))
    return `a body of ${declaredType ?? 'nothing'} is declared`;
  const { body } = reply;
  const isBytes = body instanceof Readable || body instanceof EncodedFile || Buffer.isBuffer(body);
  if (declaredType !== 'application/json')
    return isBytes || declaredType === undefined ? undefined : `the body is not ${declaredType}`;
  if (isBytes) return 'the body is not JSON';

  // In the parsed form of a client: dates are strings, and undefined fields are absent.
  const wire: unknown = JSON.parse(stringifyJson(reply.body as object));
  const { errors } = api.validateResponse(wire, operation, reply.status);
  return errors ? `body: ${JSON.stringify(errors)}` : undefined;
}

import { ValidationContext, type OpenAPIBackend, type Operation } from 'openapi-backend';
import type { OpenAPIV3 } from 'openapi-types';
import type { ShapeError } from '../../base/errors';
import type { OperationId, RawRequest, Reply, RuledRequest } from './contract';
import { openFormFields, type FormFields } from '../body/form-fields';
import type { BodySchema } from '../body/prepare-body';
import type { Parameter } from '../body/query';
import { checkReply } from './response-check';

/** The body of a request, from the document. */
interface OperationBody {
  mediaType: string;
  schema: BodySchema;
  /** `x-max-bytes`; undefined: the default maximum of JSON bodies. */
  bytesMax: number | undefined;
  /** `x-error-pointers`: whether the errors of the body have a JSON pointer. */
  hasPointers: boolean;
  /** `x-secret`: whether the body has secrets: errors and logs must not show it. */
  isSecret: boolean;
}

type RequestBody = OpenAPIV3.RequestBodyObject & {
  'x-max-bytes'?: number;
  'x-error-pointers'?: boolean;
  'x-secret'?: boolean;
};

/** An operation of the document with its implementation. */
export interface ServedOperation {
  readonly operationId: OperationId;
  readonly parameters: readonly Parameter[];
  /** Undefined without a body. */
  readonly body: OperationBody | undefined;
  /** Undefined without a form. */
  readonly fields: FormFields | undefined;
  readonly needsKey: boolean;
  /** GET, or `x-read-only`: changes nothing, so a read-only key may call it. */
  readonly isRead: boolean;
  readonly check: ((request: RawRequest) => unknown) | undefined;
  readonly rule: ((request: RuledRequest) => ShapeError[]) | undefined;
  /** Returns the declared media type of a response; by default JSON. */
  mediaTypeOf(status: number): string;
  /** @throws Error when the reply violates the document */
  checkReply(reply: Reply): void;
}

/**
 * Prepares an operation of the document.
 * @throws Error when it has a feature that the service does not support
 */
export function serveOperation(
  api: OpenAPIBackend,
  operation: Operation,
  { check, rule }: Partial<Pick<ServedOperation, 'check' | 'rule'>>,
): ServedOperation {
  const parameters = operation.parameters as Parameter[];
  requirePlain(operation, parameters);
  const requestBody = operation.requestBody as RequestBody | undefined;
  const body = requestBody && bodyOf(requestBody);
  const isForm = body?.mediaType === 'multipart/form-data';
  return {
    operationId: operation.operationId as OperationId,
    parameters,
    body,
    fields: isForm
      ? openFormFields(body.schema, () => api.validator.getAjv(ValidationContext.RequestBody))
      : undefined,
    needsKey: operation.security!.length > 0,
    isRead: operation.method === 'get' || (operation as { 'x-read-only'?: boolean })['x-read-only'] === true,
    check,
    rule,
    mediaTypeOf(status) {
      const response = operation.responses?.[status] as OpenAPIV3.ResponseObject | undefined;
      return Object.keys(response?.content ?? {})[0] ?? 'application/json';
    },
    checkReply: (reply) => checkReply(api, operation, reply),
  };
}

function bodyOf(requestBody: RequestBody): OperationBody {
  const [[mediaType, { schema }]] = Object.entries(requestBody.content) as [
    [string, OpenAPIV3.MediaTypeObject],
  ];
  return {
    mediaType,
    schema: schema as BodySchema,
    bytesMax: requestBody['x-max-bytes'],
    hasPointers: requestBody['x-error-pointers'] ?? false,
    isSecret: requestBody['x-secret'] ?? false,
  };
}

/** @throws Error for parameters, paths and security that the service does not support */
function requirePlain({ operationId, path, security }: Operation, parameters: Parameter[]): void {
  const isPlain =
    path.split('/').every((segment) => !segment.includes('{') || /^\{[^{}]+\}$/.test(segment)) &&
    parameters.every(
      ({ in: place, content, explode, schema }) =>
        place !== 'cookie' &&
        !content &&
        explode !== false &&
        schema.type !== 'array' &&
        (place === 'query' || schema.type === 'string'),
    ) &&
    security!.every((requirement) => Object.keys(requirement).join() === 'ApiKey');
  if (!isPlain)
    throw new Error(`Operation ${operationId} has a path, parameter or security that is not supported.`);
}

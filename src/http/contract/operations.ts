import addFormats from 'ajv-formats';
import OpenAPIBackend, { type Context, type Document } from 'openapi-backend';
import type { OpenAPIV3 } from 'openapi-types';
import type { OperationId, Operations, Reply } from './contract';
import type { Exchange } from './exchange';
import { HandlerCall } from './handler-call';
import { openMultipart } from '../body/multipart';
import { PreparedRouter, SentRequest } from './prepared-router';
import { serveOperation, type ServedOperation } from './served-operation';
import { toShapeErrors, type SentValues } from '../../base/shape-errors';
import type { ShapeError } from '../../base/errors';

/** The operations of the document, routed, validated and called by openapi-backend. */
export interface OpenApi {
  find(request: SentRequest): ServedOperation | undefined;
  /** Lists the methods of a path, for `Allow`. */
  allowedMethods(path: string): string[];
  /** Returns the decoded parameters of the path. @throws URIError */
  pathParameters(request: SentRequest): Record<string, string>;
  /** Returns violations of the operation's schemas and rule. @param sent - the same request as sent */
  shapeErrors(request: SentRequest, sent: SentValues): ShapeError[];
  /** Calls the handler of its operation. */
  call(request: SentRequest, exchange: Exchange): Promise<Reply>;
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/**
 * Opens the operations of the document.
 * @param uploadBytesMax - limit of the file of a form
 * @throws Error for an unsupported feature of the document, or a registered operation that it lacks
 */
export async function openOperations(
  document: Document,
  operations: Operations,
  uploadBytesMax: number,
): Promise<OpenApi> {
  const api = new OpenAPIBackend({
    definition: withFormsReadLater(withStrictTimes(document)),
    strict: true,
    // Validators are compiled on first use: the start takes a second and 40 MB less. A test compiles all.
    quick: true,
    ignoreTrailingSlashes: false,
    // The middleware validates: other steps follow before the call.
    validate: () => false,
    ajvOpts: { allErrors: true },
    customizeAjv: (ajv) => {
      addFormats(ajv);
      const { validate } = ajv.formats['date-time'] as { validate: (text: string) => boolean };
      // Its rule for leap seconds accepts hours and minutes that do not exist, such as 25:57:00+01:58.
      ajv.addFormat('date-time', (text) => validate(text) && !/T(?:2[4-9]|[3-9]|..:[6-9])/i.test(text));
      return ajv;
    },
    securityHandlers: { ApiKey: (_context, { caller }: Exchange) => caller },
  });
  await api.init();
  api.router = new PreparedRouter({ definition: api.definition, ignoreTrailingSlashes: false });
  api.validator.router = api.router;
  const served = new Map(
    api.getOperations().map((operation) => {
      const operationId = operation.operationId as OperationId;
      return [
        operationId,
        serveOperation(api, operation, operations[operationId] as Partial<ServedOperation>),
      ];
    }),
  );
  const find = (request: SentRequest) => {
    const operation = api.matchOperation(request);
    return operation && served.get(operation.operationId as OperationId);
  };
  const operationOf = (request: SentRequest) => api.matchOperation(request)!;
  const openApi: OpenApi = {
    find,
    allowedMethods: (path) => methods.filter((method) => find(new SentRequest(method, path))),
    pathParameters: (request) =>
      api.router.parseRequest(request, operationOf(request)).params as Record<string, string>,
    shapeErrors(request, sent) {
      const { errors } = api.validateRequest(request, operationOf(request));
      const violations = errors ? toShapeErrors(errors, sent) : [];
      return [...violations, ...(find(request)?.rule?.(sent) ?? [])];
    },
    call: (request, exchange) => api.handleRequest(request, exchange) as Promise<Reply>,
  };
  for (const [operationId, { handle }] of Object.entries(operations)) {
    api.register(operationId, (_context: Context, exchange: Exchange) => {
      const { fields } = exchange.operation;
      const form = fields && openMultipart(exchange.request, fields, uploadBytesMax, exchange.keyCheck);
      return handle(new HandlerCall(exchange, form) as never);
    });
  }
  return openApi;
}

/**
 * Copies the document with format and pattern of the times that requests have. Each has one of them in the document: generated
 * Python fails on both. The format refuses days that do not exist, the pattern what RFC 3339 leaves open.
 */
export function withStrictTimes(document: Document): Document {
  const copy = structuredClone(document);
  const { FilterTime, PointInTime, ExactTime } = copy.components!.schemas as Record<
    string,
    OpenAPIV3.NonArraySchemaObject
  >;
  FilterTime!.pattern = PointInTime!.pattern;
  PointInTime!.format = ExactTime!.format = FilterTime!.format;
  return copy;
}

/** Copies the document with optional forms as bodies: their fields are checked when they arrive, after the parameters. */
function withFormsReadLater(document: Document): Document {
  type PathItem = Record<string, { requestBody?: OpenAPIV3.RequestBodyObject }>;
  const copy = structuredClone(document);
  for (const item of Object.values(copy.paths as Record<string, PathItem>)) {
    for (const { requestBody } of Object.values(item)) {
      if (requestBody?.content['multipart/form-data']) requestBody.required = false;
    }
  }
  return copy;
}

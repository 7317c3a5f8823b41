import { OpenAPIRouter, type Operation, type ParsedRequest, type Request } from 'openapi-backend';

/** A request in the form of openapi-backend; HEAD counts as GET. It is matched and parsed once, also for its validation and its call. */
export class SentRequest {
  readonly method: string;
  /** Query parameters as their types. */
  query: Request['query'] = {};
  headers: Request['headers'] = {};
  body: object | undefined = undefined;
  matched: Operation | undefined = undefined;
  parsed: ParsedRequest | undefined = undefined;

  constructor(
    method: string,
    readonly path: string,
  ) {
    this.method = method === 'HEAD' ? 'GET' : method;
  }
}

/**
 * The router of openapi-backend, with operations that are prepared once (docs/decisions/0066). The original router prepares all
 * of them, and a pattern of every path, for each request, and parses each request four times, with its cookies and lists.
 */
export class PreparedRouter extends OpenAPIRouter {
  private readonly operations = super.getOperations();
  private readonly parametersOf = new Map(
    this.operations.map((operation) => [operation, pathParametersOf(operation.path)]),
  );
  private readonly templates = [...new Set(this.operations.map(({ path }) => path))].map((path) =>
    path.split('/'),
  );
  /** By method and shape. A match compiles a pattern of every path (0.1 ms). */
  private readonly matches = new Map<string, Operation | undefined>();

  override getOperations(): Operation[] {
    return this.operations;
  }

  override matchOperation(request: SentRequest): Operation | undefined;
  override matchOperation(request: SentRequest, strict: boolean): Operation;
  override matchOperation(request: SentRequest, isStrict = false): Operation | undefined {
    return (request.matched ??= this.matchShape(request, isStrict));
  }

  override parseRequest(request: SentRequest, operation = this.matchOperation(request)): ParsedRequest {
    return (request.parsed ??= this.parse(request, operation));
  }

  private parse({ method, path, headers, query, body }: SentRequest, operation?: Operation): ParsedRequest {
    const params: Record<string, string> = {};
    const names = operation && this.parametersOf.get(operation);
    if (names?.length) {
      const segments = path.split('/');
      for (const { at, name } of names) params[name] = decodeURIComponent(segments[at]!);
    }
    const lowerCase = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
    return {
      method: method.toLowerCase(),
      path,
      params,
      headers: Object.fromEntries<unknown>(lowerCase),
      query,
      cookies: {},
      requestBody: body,
    };
  }

  /** Matches a path with `*` for each segment that is no word of a template: that limits the number of shapes. */
  private matchShape(request: SentRequest, isStrict: boolean): Operation | undefined {
    const segments = request.path.split('/');
    const fitting = this.templates.filter((template) => fits(template, segments));
    if (fitting.length === 0) return undefined;
    const isWord = (segment: string, at: number) => fitting.some((template) => template[at] === segment);
    const path = segments.map((segment, at) => (isWord(segment, at) ? segment : '*')).join('/');
    const key = `${request.method} ${path}`;
    if (!this.matches.has(key)) this.matches.set(key, super.matchOperation({ ...request, path }, isStrict));
    return this.matches.get(key);
  }
}

/** Lists the parameters of a path template, each a whole segment, with their positions. */
function pathParametersOf(path: string): { at: number; name: string }[] {
  return path
    .split('/')
    .flatMap((segment, at) => (segment.startsWith('{') ? [{ at, name: segment.slice(1, -1) }] : []));
}

/** Returns whether a path matches a template. */
function fits(template: string[], segments: string[]): boolean {
  const isPart = (part: string, segment: string) =>
    part.startsWith('{') ? segment !== '' : part === segment;
  return template.length === segments.length && template.every((part, at) => isPart(part, segments[at]!));
}

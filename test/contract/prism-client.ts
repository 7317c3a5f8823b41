import { isUtf8 } from 'node:buffer';
import { ApiClient, type ApiResponse } from '../support/api-client';
import { operationOf } from '../support/contract';
import { startProxy } from './prism';

const bodyBytesMax = 10 * 1000 * 1000;

/** A client of a service behind Prism's proxy. Requests that Prism would change go to the service directly. */
export class PrismClient extends ApiClient {
  private readonly proxy: ApiClient;

  private constructor(
    direct: ApiClient,
    private readonly proxyUrl: string,
  ) {
    super(direct.url, direct.key);
    this.proxy = new ApiClient(proxyUrl, direct.key);
  }

  /** Starts a proxy before the service of a client; it is stopped after the file. */
  static async before(direct: ApiClient): Promise<PrismClient> {
    return new PrismClient(direct, await startProxy(direct.url));
  }

  override withKey(key: string | undefined): PrismClient {
    return new PrismClient(super.withKey(key), this.proxyUrl);
  }

  /** Sends a request unchanged, with the key. @throws Error if Prism finds that the response violates the document */
  override async send(method: string, path: string, init: RequestInit = {}): Promise<ApiResponse> {
    if (!(await passesPrism(method, path, init))) return super.send(method, path, init);
    const headers = new Headers(init.headers);
    // Prism closes a connection after five idle seconds; if Prism stalls that long, a request may be on its way.
    headers.set('connection', 'close');
    const response = await this.proxy.send(method, path, { ...init, headers });
    const violations = response.headers.get('sl-violations');
    if (violations !== null) throw new Error(`${method} ${path} breaks the document: ${violations}`);
    // Prism's own error: the service was not reached, or its response was cut off.
    if (response.headers.get('content-type') === 'application/problem+json')
      throw new Error(`${method} ${path}: the proxy got no response`);
    return response;
  }
}

/** Prism fails on other media types. */
const readableType = /^[\w.+-]+\/[\w.+-]+(; *[\w-]+=("[^"\\]+"|[^\s";,]+))*$/;

/** Whether Prism forwards a request unchanged. */
async function passesPrism(method: string, target: string, init: RequestInit): Promise<boolean> {
  // Prism expects the body of GET in the response to a HEAD.
  if (method === 'HEAD') return false;
  // Prism itself responds if the document has no such operation.
  if (operationOf(method, target) === undefined) return false;
  return survivesUrl(target) && (await survivesBody(init));
}

/** Prism parses and rebuilds the target: it changes bad escapes, empty names and similar parts. */
function survivesUrl(target: string): boolean {
  const [path, query = ''] = target.split('?') as [string, string?];
  try {
    if (decodeURI(path) === '' || new URL(path, 'http://prism').pathname !== path) return false;
    // Its matching decodes the segments.
    decodeURIComponent(target);
  } catch {
    return false;
  }
  // Names become keys of an object, and a pair without a name or without a value is written differently.
  return query.split('&').every((pair) => pair === '' || /^(?!__)[^=[\]]+=/.test(pair));
}

/** Prism decodes a body as UTF-8, and parses and rewrites JSON. */
async function survivesBody({ body, headers }: RequestInit): Promise<boolean> {
  if (body === undefined || body === null) return true;
  if (body instanceof ReadableStream) return false;
  // Parsed from a copy: the original text is sent.
  const bytes = Buffer.from(await new Response(body).arrayBuffer());
  if (bytes.length > bodyBytesMax || !isUtf8(bytes)) return false;
  const contentType = new Headers(headers).get('content-type');
  if (contentType === null) return true;
  if (!readableType.test(contentType)) return false;
  return !contentType.includes('json') || isRewrittenAlike(bytes.toString());
}

function isRewrittenAlike(json: string): boolean {
  try {
    const value: unknown = JSON.parse(json);
    // Prism sends a text without its quotes, and omits null.
    return typeof value === 'object' && value !== null && JSON.stringify(value) === json;
  } catch {
    return false;
  }
}

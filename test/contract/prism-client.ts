import { isUtf8 } from 'node:buffer';
import { operationOf } from '../support/contract';

/** Prism refuses larger bodies. */
const bodyBytesMax = 10 * 1000 * 1000;

/**
 * Starts the proxy of a service when the run asks for one (`make test`). @returns its address; undefined: there is none
 */
export async function proxyOf(url: string): Promise<string | undefined> {
  const maker = process.env.CONTRACT_PROXY_MAKER;
  if (!maker) return undefined;
  // A file that stalls for five seconds would send its next request on a connection that is being closed.
  const response = await fetch(maker, { method: 'POST', body: url, headers: { connection: 'close' } });
  return response.text();
}

/** It fails on other media types. */
const readableType = /^[\w.+-]+\/[\w.+-]+(; *[\w-]+=("[^"\\]+"|[^\s";,]+))*$/;

/** Whether Prism passes a request on as it is. What it would change goes to the service directly. */
export async function passesPrism(method: string, target: string, init: RequestInit): Promise<boolean> {
  // It misses the body of GET in the answer to a HEAD.
  if (method === 'HEAD') return false;
  // It answers itself where the document has no operation.
  if (operationOf(method, target) === undefined) return false;
  return survivesUrl(target) && (await survivesBody(init));
}

/** Prism takes the target apart and puts it together again: bad escapes, empty names and their like change. */
function survivesUrl(target: string): boolean {
  const [path, query = ''] = target.split('?') as [string, string?];
  try {
    if (decodeURI(path) === '' || new URL(path, 'http://prism').pathname !== path) return false;
    // Its matching decodes the segments.
    decodeURIComponent(target);
  } catch {
    return false;
  }
  // Names become keys of an object, and a pair without a name or a value of its own is written differently.
  return query.split('&').every((pair) => pair === '' || /^(?!__)[^=[\]]+=/.test(pair));
}

/** Prism reads a body as UTF-8, and JSON into a value that it writes anew. */
async function survivesBody({ body, headers }: RequestInit): Promise<boolean> {
  if (body === undefined || body === null) return true;
  if (body instanceof ReadableStream) return false;
  // Parsed from a copy: its text is what goes out.
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
    // It sends a text without its quotes, and null not at all.
    return typeof value === 'object' && value !== null && JSON.stringify(value) === json;
  } catch {
    return false;
  }
}

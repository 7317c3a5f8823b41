import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Agent, request as sendRequest } from 'undici';

/** Sends each request on a new connection: minutes may pass between two, and a service may restart. */
const dispatcher = new Agent({ pipelining: 0 });

/** The constructor of `Response` refuses a body, even an empty one, with these. */
const bodilessStatuses = [204, 205, 304];

/**
 * Sends a request as `fetch` does, but to any port, and follows no redirect: the key is for one address.
 * @throws an error of the network; the reason of the signal
 */
export async function sendToService(request: Request): Promise<Response> {
  const { statusCode, headers, body } = await sendRequest(request.url, {
    dispatcher,
    method: request.method,
    headers: Object.fromEntries(request.headers),
    body: request.body && (await request.text()),
    signal: request.signal,
  });
  const init = { status: statusCode, headers: headers as Record<string, string> };
  // The status of an error response is enough, even if its body is truncated.
  if (statusCode >= 400) return new Response(await text(body).catch(() => ''), init);
  if (!bodilessStatuses.includes(statusCode))
    return new Response(Readable.toWeb(body) as ReadableStream, init);
  await body.dump();
  return new Response(null, init);
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { limits } from '../config';
import type { Log } from '../log';
import type { Reply } from './contract';

/** A reply as it goes out: JSON has become bytes, a stream is read while it is sent; undefined is no body. */
export interface Prepared {
  reply: Reply;
  mediaType: string;
  payload: Buffer | Readable | undefined;
}

/** Makes the bytes of a reply. @throws when its body should be JSON and is not */
export function prepareReply(reply: Reply, mediaType: string): Prepared {
  const { body } = reply;
  if (body === undefined || body instanceof Readable || Buffer.isBuffer(body))
    return { reply, mediaType, payload: body };
  return { reply, mediaType, payload: Buffer.from(JSON.stringify(body)) };
}

/**
 * Sends a reply and waits until it is handed over. A stream that fails amid it cuts the connection, so that nobody takes
 * the part for the whole; the log says why.
 */
export async function sendReply(
  { request, response, log }: { request: IncomingMessage; response: ServerResponse; log: Log },
  { reply, mediaType, payload }: Prepared,
  requestId: string,
): Promise<void> {
  response.statusCode = reply.status;
  for (const [name, value] of Object.entries(reply.headers)) response.setHeader(name, String(value));
  response.setHeader('x-request-id', requestId);
  if (payload) setContentType(response, mediaType);
  if (payload instanceof Readable) {
    await sendStream({ request, response, log }, payload);
    return;
  }
  if (payload) response.setHeader('Content-Length', payload.length);
  response.end(payload);
  drainRequest(request);
}

/** Every text of ours is UTF-8; of the other media types, none has such a parameter. */
function setContentType(response: ServerResponse, mediaType: string): void {
  response.setHeader(
    'Content-Type',
    mediaType.startsWith('text/') ? `${mediaType}; charset=utf-8` : mediaType,
  );
  // Bytes, a partner's among them: a browser must not take them for anything else.
  if (mediaType !== 'application/json') response.setHeader('X-Content-Type-Options', 'nosniff');
}

async function sendStream(
  { request, response, log }: { request: IncomingMessage; response: ServerResponse; log: Log },
  payload: Readable,
): Promise<void> {
  drainRequest(request);
  if (request.method === 'HEAD') {
    payload.destroy();
    response.end();
    return;
  }
  const promisedBytes = response.getHeader('Content-Length');
  try {
    if (promisedBytes === undefined) await pipeline(payload, response);
    else await pipeline(payload, exactly(Number(promisedBytes)), response);
  } catch (error) {
    const clientIsGone = (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE';
    if (!clientIsGone) log.error({ err: error }, 'a response was cut off');
  }
}

/** Passes on what it gets. With fewer bytes than promised, the client would wait; more would be another response to it. */
function exactly(promisedBytes: number) {
  return async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > promisedBytes) break;
      yield chunk;
    }
    if (bytes !== promisedBytes)
      throw new Error(`The content is not of the ${promisedBytes} bytes promised.`);
  };
}

/** A client that is still sending gets time to read the answer, but not to send for ever. */
function drainRequest(request: IncomingMessage): void {
  if (request.complete) return;
  const timer = setTimeout(() => request.destroy(), limits.refusedBodyDrainMilliseconds);
  request.once('close', () => clearTimeout(timer));
  request.resume();
}

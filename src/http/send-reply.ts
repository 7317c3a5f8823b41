import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Log } from '../shared/log';
import { TransferEvicted } from '../shared/transfer-limit';
import { stringifyJson } from '../shared/exact-json';
import type { Reply } from './contract';

/** What a client takes of its response is seen by pieces of this size. */
const responsePieceBytes = 32 * 1024;

/** A client that is refused may finish sending for this long, so that it gets to read why. */
const refusedBodyDrainMilliseconds = 10_000;

/** A reply as it goes out: JSON has become text, which Node sends in one piece with the headers; a stream is read while it is sent; undefined is no body. */
export interface Prepared {
  reply: Reply;
  mediaType: string;
  payload: string | Buffer | Readable | undefined;
}

/** Makes what is sent of a reply. @throws when its body should be JSON and is not */
export function prepareReply(reply: Reply, mediaType: string): Prepared {
  const { body } = reply;
  if (body === undefined || body instanceof Readable || Buffer.isBuffer(body))
    return { reply, mediaType, payload: body };
  return { reply, mediaType, payload: stringifyJson(body as object) };
}

/**
 * Sends a reply and waits until it is handed over. A stream that fails amid it cuts the connection, so that nobody takes
 * the part for the whole; the log says why.
 * @returns false when that has happened; that the client has gone away is no failure of the stream
 */
export async function sendReply(
  exchange: { request: IncomingMessage; response: ServerResponse; log: Log },
  { reply, mediaType, payload }: Prepared,
  requestId: string,
): Promise<boolean> {
  const { request, response } = exchange;
  response.statusCode = reply.status;
  for (const [name, value] of Object.entries(reply.headers)) response.setHeader(name, String(value));
  response.setHeader('x-request-id', requestId);
  // It would replace that of the copy that the client has (RFC 9111, section 3.2).
  if (reply.status === 304) response.removeHeader('Content-Security-Policy');
  if (payload) setContentType(response, mediaType);
  if (payload instanceof Readable) return sendStream(exchange, payload);
  if (payload) response.setHeader('Content-Length', Buffer.byteLength(payload));
  response.end(payload);
  drainRequest(request);
  return true;
}

/** Every text of ours is UTF-8; of the other media types, none has such a parameter. */
function setContentType(response: ServerResponse, mediaType: string): void {
  response.setHeader(
    'Content-Type',
    mediaType.startsWith('text/') ? `${mediaType}; charset=utf-8` : mediaType,
  );
}

async function sendStream(
  { request, response, log }: { request: IncomingMessage; response: ServerResponse; log: Log },
  payload: Readable,
): Promise<boolean> {
  drainRequest(request);
  if (request.method === 'HEAD') {
    payload.destroy();
    response.end();
    return true;
  }
  const promisedBytes = response.getHeader('Content-Length');
  const sent =
    promisedBytes === undefined
      ? pipeline(payload, inPieces, response)
      : pipeline(payload, exactly(Number(promisedBytes)), inPieces, response);
  const client = watchLeaving(request, response, payload);
  try {
    await Promise.race([sent, client.left]);
    return true;
  } catch (error) {
    const isEarlyEnd = (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE';
    if (isEarlyEnd && client.wasFirst()) return true;
    const level = error instanceof TransferEvicted ? 'warn' : 'error';
    log[level]({ err: error }, 'a response was cut off');
    return false;
  } finally {
    client.endWatch();
    sent.catch(() => undefined);
  }
}

/**
 * Gives the payload up when the client leaves. A response that waits behind another one on its connection does not learn of
 * that by itself. Whichever of the two ends early takes the other with it, and the error can be the same: `wasFirst` says
 * whether it was the client.
 */
function watchLeaving(request: IncomingMessage, response: ServerResponse, payload: Readable) {
  const { socket } = request;
  let wasFirst = false;
  let leave: () => void = () => undefined;
  const left = new Promise<void>((resolve) => (leave = resolve));
  const onClose = () => {
    if (!payload.destroyed || payload.readableEnded) {
      wasFirst = true;
      leave();
    }
    payload.destroy();
  };
  socket.once('close', onClose);
  response.once('close', onClose);
  if (socket.destroyed || response.destroyed) onClose();
  return { left, wasFirst: () => wasFirst, endWatch: () => socket.off('close', onClose) };
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

/** Cuts what it gets small: whether a client takes something is seen by the piece. */
async function* inPieces(chunks: AsyncIterable<Buffer | string>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    for (let at = 0; at < bytes.length; at += responsePieceBytes) {
      yield bytes.subarray(at, at + responsePieceBytes);
    }
  }
}

/** A client that is still sending gets time to read the answer, but not to send for ever. */
function drainRequest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  const timer = setTimeout(() => request.destroy(), refusedBodyDrainMilliseconds);
  request.once('close', () => clearTimeout(timer));
  request.resume();
}

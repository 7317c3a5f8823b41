import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServiceError, unauthorized } from '../../base/errors';
import { TransferEvicted } from '../../base/concurrency/transfer-limit';
import { stringifyJson } from '../../base/exact-json';
import type { Reply } from '../contract/contract';
import { EncodedFile } from '../contract/encoded-file';
import type { Exchange } from '../contract/exchange';
import type { KeyCheck } from '../keys/key-check';
import { withParameterHeaders } from '../contract/unknown-parameters';

/** Chunk size of a sent stream; progress of a client is measured per chunk. */
const responsePieceBytes = 32 * 1024;

/** Time for a rejected client to finish its body, so that it can read the response. */
const refusedBodyDrainMilliseconds = 10_000;

/** A serialized reply. Node sends a text in one piece with the headers; undefined is no body. */
export interface PreparedReply {
  reply: Reply;
  mediaType: string;
  /** Charset of a text; absent: UTF-8, null: none. */
  charset?: string | null;
  payload: string | Buffer | Readable | undefined;
}

/**
 * Serializes a reply.
 * @param isVerified - validates it against the document, for tests
 * @throws when a JSON body cannot be serialized, or the document does not have the reply
 */
export function prepareReply(
  made: Reply,
  { found: operation, unknownParameters: unknown }: Exchange,
  isVerified: boolean,
): PreparedReply {
  const reply = unknown ? withParameterHeaders(made, unknown) : made;
  if (isVerified) operation?.checkReply(reply);
  const mediaType = operation?.mediaTypeOf(reply.status) ?? 'application/json';
  const { body } = reply;
  if (body instanceof EncodedFile) return { reply, mediaType, charset: body.charset, payload: body.content };
  if (body === undefined || body instanceof Readable || Buffer.isBuffer(body))
    return { reply, mediaType, payload: body };
  return { reply, mediaType, payload: stringifyJson(body as object) };
}

/**
 * Sends a reply, waits until it is handed over, and ends the request. If the stream fails midway, the connection is destroyed so
 * that clients detect truncation, and the failure is logged.
 * @param error - the reason of the reply, for the log
 */
export async function sendReply(
  exchange: Exchange,
  { reply, mediaType, charset = 'utf-8', payload }: PreparedReply,
  error?: unknown,
): Promise<void> {
  const { request, response } = exchange;
  response.statusCode = reply.status;
  // At shutdown, Node closes only idle connections; clients would reuse a connection with a request in progress.
  if (exchange.isDraining) response.setHeader('Connection', 'close');
  for (const [name, value] of Object.entries(reply.headers)) response.setHeader(name, String(value));
  // A 304 must not overwrite the cached header (RFC 9111, section 3.2), and has no content to encode.
  if (reply.status === 304)
    for (const name of ['Content-Security-Policy', 'Content-Encoding']) response.removeHeader(name);
  if (payload) setContentType(response, mediaType, charset);
  let isWhole = true;
  if (payload instanceof Readable) isWhole = await sendStream(exchange, payload);
  else {
    if (payload) response.setHeader('Content-Length', Buffer.byteLength(payload));
    response.end(payload);
    drainRequest(request);
  }
  exchange.end({ status: reply.status, error, truncated: !isWhole });
}

function setContentType(response: ServerResponse, mediaType: string, charset: string | null): void {
  const isText = mediaType.startsWith('text/') && charset !== null;
  response.setHeader('Content-Type', isText ? `${mediaType}; charset=${charset}` : mediaType);
}

async function sendStream(
  { request, response, log, keyCheck }: Exchange,
  payload: Readable,
): Promise<boolean> {
  drainRequest(request);
  if (request.method === 'HEAD') {
    payload.destroy();
    response.end();
    return true;
  }
  const promisedBytes = response.getHeader('Content-Length');
  const pieces = inPieces(keyCheck);
  const sent =
    promisedBytes === undefined
      ? pipeline(payload, pieces, response)
      : pipeline(payload, exactly(Number(promisedBytes)), pieces, response);
  const client = watchDisconnect(request, response, payload);
  try {
    await Promise.race([sent, client.left]);
    return true;
  } catch (error) {
    const isEarlyEnd = (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE';
    if (isEarlyEnd && client.wasFirst()) return true;
    const isMeant = error instanceof TransferEvicted || error instanceof ServiceError;
    const level = isMeant ? 'warn' : 'error';
    log[level]({ err: error }, 'response truncated');
    return false;
  } finally {
    client.endWatch();
    sent.catch(() => undefined);
  }
}

/**
 * Destroys the payload when the client disconnects; a response behind another one on its connection gets no event of its own.
 * Payload and connection end each other with the same error: `wasFirst` returns whether the client disconnected first.
 */
function watchDisconnect(request: IncomingMessage, response: ServerResponse, payload: Readable) {
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

/** Passes on chunks, and throws unless they have the promised length: the client would wait, or read another response. */
function exactly(promisedBytes: number) {
  return async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > promisedBytes) break;
      yield chunk;
    }
    if (bytes !== promisedBytes)
      throw new Error(`The content does not have ${promisedBytes} bytes, as Content-Length says.`);
  };
}

/** Passes on a stream in chunks of `responsePieceBytes`, until the key of the request is invalid. */
function inPieces(keyCheck: KeyCheck | undefined) {
  return async function* (chunks: AsyncIterable<Buffer | string>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      for (let at = 0; at < bytes.length; at += responsePieceBytes) {
        if (keyCheck?.isGone()) throw unauthorized();
        yield bytes.subarray(at, at + responsePieceBytes);
      }
    }
  };
}

/** Discards the rest of a request for a limited time. */
export function drainRequest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  // A request with an incomplete body may not close with its connection: the timer must not keep the process alive.
  const timer = setTimeout(() => request.destroy(), refusedBodyDrainMilliseconds).unref();
  request.once('close', () => clearTimeout(timer));
  request.resume();
}

import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { Failure, UsageFailure } from './failures';
import { printable } from './printable';

export interface StreamedBody {
  /** In bytes; undefined: unknown before its end. */
  size: number | undefined;
  /** A chunk is valid until the next one is requested. */
  pieces(): AsyncIterable<Buffer>;
  /** Called with each chunk written to the socket. */
  onSent(piece: Buffer): void;
}

const connectMilliseconds = 10_000;
/** Longer than the service takes to store the end of a large file. */
const idleMilliseconds = 5 * 60_000;
/** Maximum wait for `100 Continue`, after which the body is sent. */
const continueMilliseconds = 1_000;

/**
 * Makes a `fetch` that sends a request with this body on a new connection, after `100 Continue`. undici has no `Expect` in HTTP/1.1,
 * and its `fetch` reports no progress.
 * @throws Failure if the body cannot be read; an error of the network
 */
export const sendingBody =
  (body: StreamedBody) =>
  (request: Request): Promise<Response> =>
    new Promise((resolve, reject) => {
      const send = request.url.startsWith('https:') ? httpsRequest : httpRequest;
      const sent = send(request.url, {
        method: request.method,
        headers: { ...Object.fromEntries(request.headers), ...bodyHeaders(body) },
        agent: false,
        signal: request.signal,
        timeout: idleMilliseconds,
      });
      sent.on('timeout', () => sent.destroy(new Error('response timeout')));
      sent.on('socket', (socket) => {
        const timer = setTimeout(() => sent.destroy(new Error('connect timeout')), connectMilliseconds);
        for (const event of ['connect', 'close']) socket.once(event, () => clearTimeout(timer));
      });
      sent.on('error', reject);
      sent.on('response', (response) => {
        readResponse(response)
          .then(resolve, reject)
          .finally(() => sent.destroy());
      });
      sendPieces(sent, body).catch((error: unknown) => sent.destroy(readFailure(error as Error)));
    });

function bodyHeaders({ size }: StreamedBody): Record<string, string> {
  return { expect: '100-continue', ...(size !== undefined && { 'content-length': String(size) }) };
}

const readFailure = (error: Error) =>
  error instanceof Failure
    ? error
    : new UsageFailure(`The file cannot be read: ${printable(error.message)}.`);

/** Sends the body until a response arrives. @throws errors of reading it; the request emits network errors */
async function sendPieces(request: ClientRequest, body: StreamedBody): Promise<void> {
  let hasEnded = false;
  const isOver = () => hasEnded;
  const over = new Promise<void>((resolve) => {
    for (const event of ['response', 'close']) {
      request.once(event, () => {
        hasEnded = true;
        resolve();
      });
    }
  });
  request.flushHeaders();
  await Promise.race([over, waitForContinue(request)]);
  // Do not start to read the body: standard input can be read only once.
  if (isOver()) return;
  for await (const piece of body.pieces()) {
    const sent = new Promise<void>((resolve) => request.write(piece, () => resolve()));
    await Promise.race([over, sent]);
    if (isOver()) return;
    body.onSent(piece);
  }
  request.end();
}

function waitForContinue(request: ClientRequest): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, continueMilliseconds);
    request.once('continue', resolve);
    request.once('close', () => clearTimeout(timer));
  });
}

async function readResponse(response: IncomingMessage): Promise<Response> {
  const status = response.statusCode!;
  const pieces: Buffer[] = [];
  try {
    for await (const piece of response) pieces.push(piece as Buffer);
  } catch (error) {
    // The status of an error response is enough, even if its body is truncated.
    if (status < 400) throw error;
  }
  const headers = response.headers as Record<string, string>;
  return new Response(Buffer.concat(pieces).toString('utf8') || null, { status, headers });
}

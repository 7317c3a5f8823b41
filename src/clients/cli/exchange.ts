import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Readable } from 'node:stream';

export interface ServiceResponse {
  status: number;
  /** By lower-case name. */
  headers: Record<string, string>;
  /** Parsed JSON; undefined if it is not JSON, or was saved. */
  body: unknown;
}

export interface StreamedBody {
  /** In bytes; undefined: unknown before its end. */
  size: number | undefined;
  /** A chunk is valid until the next one is requested. */
  pieces(): AsyncIterable<Buffer>;
  /** Called with each chunk written to the socket. */
  onSent(piece: Buffer): void;
}

export interface ClientExchange {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  headers: Record<string, string>;
  body?: StreamedBody;
  save?: (content: Readable, headers: ServiceResponse['headers']) => Promise<void>;
  signal: AbortSignal;
}

/** The request body could not be read; `cause` is the reason. */
export class BodyFailure extends Error {}

/** The response could not be saved completely; `cause` is the reason. */
export class SaveFailure extends Error {}

const connectMilliseconds = 10_000;
/** Longer than a long poll, and longer than the service takes to store the end of a large file. */
const idleMilliseconds = 5 * 60_000;
/** Maximum wait for `100 Continue`, after which the body is sent. */
const continueMilliseconds = 1_000;

/** Sends one request on a new connection. @throws BodyFailure, SaveFailure, an error of the network, the signal's reason */
export function exchange(
  target: URL,
  { method, headers, body, save, signal }: ClientExchange,
): Promise<ServiceResponse> {
  return new Promise((resolve, reject) => {
    const send = target.protocol === 'https:' ? httpsRequest : httpRequest;
    const request = send(target, {
      method,
      headers: { accept: 'application/json', ...headers, ...(body && bodyHeaders(body)) },
      agent: false,
      signal,
      timeout: idleMilliseconds,
    });
    request.on('timeout', () => request.destroy(new Error('response timeout')));
    request.on('socket', (socket) => {
      const timer = setTimeout(() => request.destroy(new Error('connect timeout')), connectMilliseconds);
      for (const event of ['connect', 'close']) socket.once(event, () => clearTimeout(timer));
    });
    request.on('error', reject);
    request.on('response', (response) => {
      readResponse(response, save)
        .then(resolve, reject)
        .finally(() => request.destroy());
    });
    if (!body) request.end();
    else
      sendBody(request, body).catch((error: unknown) =>
        request.destroy(new BodyFailure('the body could not be read', { cause: error })),
      );
  });
}

function bodyHeaders({ size }: StreamedBody): Record<string, string> {
  return { expect: '100-continue', ...(size !== undefined && { 'content-length': String(size) }) };
}

/** Sends the body until a response arrives. @throws errors of reading it; the request emits network errors */
async function sendBody(request: ClientRequest, body: StreamedBody): Promise<void> {
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

async function readResponse(
  response: IncomingMessage,
  save: ClientExchange['save'],
): Promise<ServiceResponse> {
  const status = response.statusCode!;
  const headers = response.headers as Record<string, string>;
  if (save && status === 200) {
    await save(response, headers).catch((error: unknown) => {
      throw new SaveFailure('the content could not be saved', { cause: error });
    });
    return { status, headers, body: undefined };
  }
  const pieces: Buffer[] = [];
  try {
    for await (const piece of response) pieces.push(piece as Buffer);
  } catch (error) {
    // The status of an error response is enough, even if its body is truncated.
    if (status < 400) throw error;
  }
  return {
    status,
    headers,
    body: parseJson(Buffer.concat(pieces).toString('utf8')),
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

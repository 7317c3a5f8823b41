import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Readable } from 'node:stream';

/** A response of the service, whatever its status. */
export interface ServiceResponse {
  status: number;
  /** By lower-case name. */
  headers: Record<string, string>;
  /** Parsed JSON; undefined where there is none, and where the content was saved. */
  body: unknown;
}

/** What is sent as it is read. */
export interface StreamedBody {
  /** In bytes; undefined where only its end will tell. */
  size: number | undefined;
  /** A piece is valid until the next one is asked for. */
  pieces(): AsyncIterable<Buffer>;
  /** Is called with each piece that was handed to the network. */
  onSent(piece: Buffer): void;
}

export interface Exchange {
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: StreamedBody;
  /** Takes the content of a response of 200 while it comes. */
  save?: (content: Readable) => Promise<void>;
  signal: AbortSignal;
}

/** The body could not be read; `cause` says why. The exchange as such would have gone on. */
export class BodyFailure extends Error {}

/** The content could not be saved; `cause` says why. A part of it may be. */
export class SaveFailure extends Error {}

const connectMilliseconds = 10_000;
/** Longer than the service holds a response back, and than it takes to store the end of a large file. */
const silenceMilliseconds = 5 * 60_000;
/** How long a server that knows nothing of `Expect` keeps us from sending the body. */
const expectMilliseconds = 1_000;

/**
 * Sends one request on a connection of its own. A body is sent when the server asks for it, or after a second; a response
 * that comes before its end counts, and the rest is not sent.
 * @throws when there is no whole response: an error of the network, `BodyFailure`, `SaveFailure`, or the signal's
 */
export function exchange(
  target: URL,
  { method, headers, body, save, signal }: Exchange,
): Promise<ServiceResponse> {
  return new Promise((resolve, reject) => {
    const send = target.protocol === 'https:' ? httpsRequest : httpRequest;
    const request = send(target, {
      method,
      headers: { accept: 'application/json', ...headers, ...(body && bodyHeaders(body)) },
      agent: false,
      signal,
      timeout: silenceMilliseconds,
    });
    request.on('timeout', () => request.destroy(new Error('nothing came for minutes')));
    request.on('socket', (socket) => {
      const timer = setTimeout(
        () => request.destroy(new Error('no connection within ten seconds')),
        connectMilliseconds,
      );
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

/** Sends the body as long as there is no response. @throws what reading it throws; what the network says, the request tells */
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
  await Promise.race([over, bodyIsWanted(request)]);
  // To begin with the body is to take from its source.
  if (isOver()) return;
  for await (const piece of body.pieces()) {
    const sent = new Promise<void>((resolve) => request.write(piece, () => resolve()));
    await Promise.race([over, sent]);
    if (isOver()) return;
    body.onSent(piece);
  }
  request.end();
}

function bodyIsWanted(request: ClientRequest): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, expectMilliseconds);
    request.once('continue', resolve);
    request.once('close', () => clearTimeout(timer));
  });
}

async function readResponse(response: IncomingMessage, save: Exchange['save']): Promise<ServiceResponse> {
  const status = response.statusCode!;
  const headers = response.headers as Record<string, string>;
  if (save && status === 200) {
    await save(response).catch((error: unknown) => {
      throw new SaveFailure('the content could not be saved', { cause: error });
    });
    return { status, headers, body: undefined };
  }
  const pieces: Buffer[] = [];
  try {
    for await (const piece of response) pieces.push(piece as Buffer);
  } catch (error) {
    // A refusal counts, even if the rest of its explanation is lost with the connection.
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

import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';

/** An answer of the service, whatever its status. */
export interface Answer {
  status: number;
  /** By lower-case name. */
  headers: Record<string, string>;
  /** Parsed JSON; undefined where there is none. */
  body: unknown;
}

/** What is sent as it is read. */
export interface StreamedBody {
  /** In bytes; undefined where only its end will tell. */
  size: number | undefined;
  pieces(): AsyncIterable<Buffer>;
  /** Is called with each piece that was handed to the network. */
  onSent(piece: Buffer): void;
}

export interface Exchange {
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: StreamedBody;
  signal: AbortSignal;
}

/** The body could not be read; `cause` says why. The exchange as such would have gone on. */
export class BodyFailure extends Error {}

const connectMilliseconds = 10_000;
/** Longer than the service holds an answer back, and than it takes to store the end of a large file. */
const silenceMilliseconds = 5 * 60_000;
/** How long a server that knows nothing of `Expect` keeps us from sending the body. */
const expectMilliseconds = 1_000;

/**
 * Sends one request on a connection of its own. A body is sent when the server asks for it, or after a second; an answer
 * that comes before its end counts, and the rest is not sent.
 * @throws when there is no whole answer: an error of the network, `BodyFailure`, or the signal's
 */
export function exchange(target: URL, { method, headers, body, signal }: Exchange): Promise<Answer> {
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
      readAnswer(response)
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

/** Sends the body as long as there is no answer. @throws what reading it throws; what the network says, the request tells */
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

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const status = response.statusCode!;
  const pieces: Buffer[] = [];
  try {
    for await (const piece of response) pieces.push(piece as Buffer);
  } catch (error) {
    // A refusal counts, even if the rest of its explanation is lost with the connection.
    if (status < 400) throw error;
  }
  return {
    status,
    headers: response.headers as Record<string, string>,
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

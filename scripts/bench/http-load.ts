/**
 * Load generator process: receives each `LoadOrder` as a message, and sends a `LoadResult` or an error back. One request at a
 * time per connection, over plain sockets, because it shares the machine with the server.
 */
import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';

/** A request. `isKeyed`: each one has an `Idempotency-Key` of its own. */
export interface DrawnRequest {
  path: string;
  /** JSON of a POST; absent: a GET. */
  body?: string;
  isKeyed?: boolean;
}

export interface LoadOrder {
  port: number;
  connections: number;
  milliseconds: number;
  apiKey: string;
  /** Connections take them in turn. */
  requests: readonly DrawnRequest[];
  from?: number;
}

export interface LoadResult {
  requests: number;
  seconds: number;
  /** Latency in milliseconds. */
  median: number;
}

let texts: { text: string; isKeyed?: boolean }[] = [];

/** @param order - without requests, the requests of the last order */
async function send({
  port,
  connections,
  milliseconds,
  apiKey,
  requests,
  from = 0,
}: Partial<Pick<LoadOrder, 'requests'>> & Omit<LoadOrder, 'requests'>): Promise<LoadResult> {
  if (requests) texts = requests.map((request) => ({ ...request, text: textOf(request, apiKey) }));
  let turn = from;
  const times: number[] = [];
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port)));
  const startedAt = performance.now();
  const endAt = startedAt + milliseconds;
  const ask = (socket: Socket) =>
    new Promise<void>((resolve, reject) => {
      let answer = '';
      let sentAt = 0;
      const sendNext = () => {
        answer = '';
        const { text, isKeyed } = texts[turn++ % texts.length]!;
        sentAt = performance.now();
        socket.write(isKeyed ? text.replace(keyMark, randomUUID()) : text);
      };
      socket.setEncoding('latin1').on('data', (chunk: string) => {
        answer += chunk;
        if (!isWhole(answer)) return;
        if (!answer.startsWith('HTTP/1.1 20')) reject(new Error(answer.slice(0, 500)));
        const now = performance.now();
        times.push(now - sentAt);
        if (now < endAt) sendNext();
        else resolve();
      });
      socket.on('error', reject).on('end', () => reject(new Error('the server closed a connection')));
      sendNext();
    });
  try {
    await Promise.all(sockets.map(ask));
  } finally {
    for (const socket of sockets) socket.destroy();
  }
  const seconds = (performance.now() - startedAt) / 1000;
  times.sort((a, b) => a - b);
  return { requests: times.length, seconds, median: times[Math.floor((times.length - 1) / 2)]! };
}

const keyMark = '{key}';

function textOf({ path, body, isKeyed }: DrawnRequest, apiKey: string): string {
  const head = [
    `${body === undefined ? 'GET' : 'POST'} ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `X-API-Key: ${apiKey}`,
    ...(body === undefined
      ? []
      : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`]),
    ...(isKeyed ? [`Idempotency-Key: ${keyMark}`] : []),
  ];
  return `${head.join('\r\n')}\r\n\r\n${body ?? ''}`;
}

/** @throws Error on a response without Content-Length */
function isWhole(answer: string): boolean {
  const headEnd = answer.indexOf('\r\n\r\n');
  if (headEnd === -1) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(answer)?.[1];
  if (length === undefined) throw new Error(`response without Content-Length: ${answer.slice(0, headEnd)}`);
  return answer.length - headEnd - 4 >= Number(length);
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket));
    socket.once('error', reject);
  });
}

process.on('message', (order: LoadOrder) => {
  send(order)
    .catch((error: unknown) => ({ error: String(error) }))
    .then((answer) => process.send!(answer))
    .catch(console.error);
});

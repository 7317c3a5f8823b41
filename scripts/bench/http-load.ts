/**
 * Load generator process: one request at a time per connection; prints its result as JSON. Uses plain sockets,
 * because it shares the machine with the server.
 *
 * usage: http-load <JSON of LoadOrder>
 */
import { connect, type Socket } from 'node:net';

export interface LoadOrder {
  port: number;
  connections: number;
  milliseconds: number;
  headers: Record<string, string>;
  /** The `x-api-key` of requests in turn; absent: none but that of `headers`. */
  keys?: readonly string[];
  /** Paths in turn. `#` is replaced by a number from 1 to `numbers`, padded like identifiers. */
  paths: readonly string[];
  numbers: number;
  /** Whether the n-th most popular number has a share proportional to 1/n; default: each request has another one. */
  isZipf?: boolean;
}

export interface LoadResult {
  requestsPerSecond: number;
  /** Latency in milliseconds. */
  median: number;
  p99: number;
  /** Bytes of the last body: compared servers must send the same. */
  bodyBytes: number;
}

async function main(order: LoadOrder): Promise<LoadResult> {
  const { port, connections, milliseconds, headers, keys = [], paths, numbers, isZipf } = order;
  const rest = `\r\nHost: 127.0.0.1\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`;
  let number = 0;
  let turn = 0;
  // A step coprime to the count visits every number, in an order that no cache profits from.
  const step = 7_368_787;
  const nextNumber = () => (isZipf ? Math.floor(numbers ** Math.random()) * step : number + step) % numbers;
  const nextRequest = () => {
    const path = paths[turn++ % paths.length]!;
    if (path.includes('#')) number = nextNumber();
    const keyLine = keys.length > 0 ? `\r\nx-api-key: ${keys[turn % keys.length]!}` : '';
    return `GET ${path.replace('#', String(number + 1).padStart(5, '0'))} HTTP/1.1${keyLine}${rest}`;
  };
  const times: number[] = [];
  let bodyBytes = 0;
  const endAt = performance.now() + milliseconds;
  const ask = (socket: Socket) =>
    new Promise<void>((resolve, reject) => {
      let answer = '';
      let sentAt = 0;
      const send = () => {
        answer = '';
        sentAt = performance.now();
        socket.write(nextRequest());
      };
      socket.setEncoding('latin1').on('data', (chunk: string) => {
        answer += chunk;
        const length = bodyLength(answer);
        if (length === undefined) return;
        if (!answer.startsWith('HTTP/1.1 200 ')) reject(new Error(answer.slice(0, 500)));
        bodyBytes = length;
        const now = performance.now();
        times.push(now - sentAt);
        if (now < endAt) send();
        else resolve();
      });
      socket.on('error', reject).on('end', () => reject(new Error('the server closed a connection')));
      send();
    });
  const sockets = await openAll(port, connections);
  const startedAt = performance.now();
  await Promise.all(sockets.map(ask));
  const seconds = (performance.now() - startedAt) / 1000;
  for (const socket of sockets) socket.destroy();
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(share * (times.length - 1))]!;
  return { requestsPerSecond: times.length / seconds, median: at(0.5), p99: at(0.99), bodyBytes };
}

/** @returns the body length of a complete response; undefined while a part is missing */
function bodyLength(answer: string): number | undefined {
  const head = answer.indexOf('\r\n\r\n');
  if (head === -1) return undefined;
  const length = /\r\ncontent-length: (\d+)/i.exec(answer)?.[1];
  if (length === undefined) throw new Error(`response without Content-Length: ${answer.slice(0, head)}`);
  return answer.length - head - 4 >= Number(length) ? Number(length) : undefined;
}

function openAll(port: number, connections: number): Promise<Socket[]> {
  return Promise.all(Array.from({ length: connections }, () => open(port)));
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket));
    socket.once('error', reject);
  });
}

main(JSON.parse(process.argv[2]!) as LoadOrder)
  .then((result) => process.stdout.write(JSON.stringify(result)))
  .catch((error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  });

import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';

export interface OrderLoad {
  url: string;
  apiKey: string;
  connections: number;
  milliseconds: number;
  nextBody: () => string;
  /** Whether each order has an `Idempotency-Key` of its own. */
  isKeyed?: boolean;
}

/**
 * Sends orders as fast as possible. Uses plain sockets, because it shares the machine with the service. @returns orders
 * per second. @throws Error on a status other than 201
 */
export async function sendOrders({
  url,
  apiKey,
  connections,
  milliseconds,
  nextBody,
  isKeyed = false,
}: OrderLoad): Promise<number> {
  const { hostname, port, host } = new URL(url);
  const head =
    `POST /orders HTTP/1.1\r\nHost: ${host}\r\nX-API-Key: ${apiKey}\r\n` +
    'Content-Type: application/json\r\nContent-Length: ';
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(hostname, Number(port))));
  const startedAt = performance.now();
  let orders = 0;
  const sendOn = (socket: Socket) =>
    new Promise<void>((resolve, reject) => {
      let answer = '';
      const send = () => {
        answer = '';
        const body = nextBody();
        const keyLine = isKeyed ? `\r\nIdempotency-Key: ${randomUUID()}` : '';
        socket.write(`${head}${Buffer.byteLength(body)}${keyLine}\r\n\r\n${body}`);
      };
      socket.setEncoding('latin1').on('data', (chunk: string) => {
        answer += chunk;
        if (!isWhole(answer)) return;
        if (!answer.startsWith('HTTP/1.1 201 ')) reject(new Error(answer.slice(0, 500)));
        orders++;
        if (performance.now() < startedAt + milliseconds) send();
        else resolve();
      });
      socket.on('error', reject).on('end', () => reject(new Error('the service closed a connection')));
      send();
    });
  try {
    await Promise.all(sockets.map(sendOn));
    return (orders * 1000) / (performance.now() - startedAt);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

function isWhole(answer: string): boolean {
  const headEnd = answer.indexOf('\r\n\r\n');
  if (headEnd < 0) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(answer.slice(0, headEnd));
  if (!length) throw new Error(`response without Content-Length: ${answer.slice(0, headEnd)}`);
  return answer.length >= headEnd + 4 + Number(length[1]);
}

function open(hostname: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port, noDelay: true }, () => resolve(socket));
    socket.once('error', reject);
  });
}

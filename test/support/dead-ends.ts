import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterFile } from './after-file';

/** The address of a port of this machine that nobody listens on. */
export async function closedPort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A server that takes connections and everything they send, and never answers. @returns its port */
export async function silentServer(): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.resume();
  });
  const port = await listen(server);
  afterFile(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return port;
}

/** A server that answers every connection with `head` at once, and then with `text`, a byte every 20 ms. @returns its port */
export async function tricklingServer(text: string, head = ''): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).resume();
    socket.write(head);
    let at = 0;
    const timer = setInterval(() => socket.write(text[at++]!), 20);
    socket.on('close', () => clearInterval(timer));
  });
  const port = await listen(server);
  afterFile(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return port;
}

/** An HTTP server whose every answer promises `promised` bytes, gives `given`, then hangs up or falls silent. @returns its port */
export async function interruptedServer(promised: number, given: Buffer, then: 'hang up' | 'fall silent') {
  const server = createHttpServer((_request, response) => {
    response.writeHead(200, { 'content-length': promised });
    response.write(given, () => {
      if (then === 'hang up') response.destroy();
    });
  });
  const port = await listen(server);
  afterFile(() => {
    server.closeAllConnections();
    server.close();
  });
  return port;
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
  );
}

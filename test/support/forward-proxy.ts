import { createServer as createHttpServer, request as requestHttp, type IncomingMessage } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterFile } from './harness';

/** A request that the proxy received. */
interface ProxiedRequest {
  /** Method and target, such as `CONNECT localhost:443` or `GET http://feeds.test/a.csv`. */
  line: string;
  authorization: string | undefined;
}

/** An HTTP proxy that forwards requests, and opens tunnels by CONNECT. */
export interface ForwardProxy {
  /** With credentials if the proxy requires them. */
  url: URL;
  port: number;
  requests: ProxiedRequest[];
  /** Its response instead of a connection; undefined: it connects. */
  refusal: number | undefined;
  /** Returns the number of open connections of clients. */
  connections: () => number;
}

/**
 * Starts a proxy, which is stopped after the file. It resolves every host to this machine.
 * @param options.credentials - `user:password` that it requires, else it responds with 407
 * @param options.tls - key and certificate; absent: plain HTTP
 */
export async function startForwardProxy(
  options: { credentials?: string; tls?: { key: string; cert: string } } = {},
): Promise<ForwardProxy> {
  const { credentials, tls } = options;
  const server = tls ? createHttpsServer(tls) : createHttpServer();
  const sockets = new Set<Socket>();
  const track = (socket: Socket) => {
    sockets.add(socket.on('error', () => undefined));
    socket.on('close', () => sockets.delete(socket));
  };
  server.on(tls ? 'secureConnection' : 'connection', track);

  /** Notes a request. @returns the status of its refusal */
  const refusalOf = ({ method, url, headers }: IncomingMessage): number | undefined => {
    const authorization = headers['proxy-authorization'];
    proxy.requests.push({ line: `${method} ${url}`, authorization });
    const expected = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`;
    return expected === undefined || authorization === expected ? proxy.refusal : 407;
  };

  server.on('request', (request, response) => {
    const refusal = refusalOf(request);
    if (refusal !== undefined) return void response.writeHead(refusal).end('refused by the proxy');
    const { port, pathname, search } = new URL(request.url!);
    const headers = { ...request.headers };
    delete headers['proxy-authorization'];
    delete headers['proxy-connection'];
    const far = { host: '127.0.0.1', port, path: pathname + search, method: request.method, headers };
    const forwarded = requestHttp(far, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.on('error', () => response.destroy()).pipe(response);
    });
    forwarded.on('error', () => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
    response.on('close', () => forwarded.destroy());
    request.pipe(forwarded);
  });

  server.on('connect', (request: IncomingMessage, near: Socket) => {
    const refusal = refusalOf(request);
    if (refusal !== undefined)
      return void near.end(`HTTP/1.1 ${refusal} Refused\r\ncontent-length: 0\r\n\r\n`);
    const far = connect(Number(request.url!.split(':').at(-1)), '127.0.0.1', () => {
      near.write('HTTP/1.1 200 Connection established\r\n\r\n');
      near.pipe(far).pipe(near);
    });
    far.on('error', () => near.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
    far.on('close', () => near.destroy());
    near.on('close', () => far.destroy());
  });

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterFile(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const login = credentials === undefined ? '' : `${encodeURI(credentials)}@`;
  const proxy: ForwardProxy = {
    url: new URL(`${tls ? 'https' : 'http'}://${login}localhost:${port}`),
    port,
    requests: [],
    refusal: undefined,
    connections: () => sockets.size,
  };
  return proxy;
}

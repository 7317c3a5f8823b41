import { createServer, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { OutboundProxyError, requestOutbound, type OutboundRequest } from '../../../src/base/outbound';
import { PrivateAddressError } from '../../../src/base/public-address';
import { startForwardProxy, type ForwardProxy } from '../../support/forward-proxy';
import { afterFile, eventually } from '../../support/harness';
import { closedPort, localhostCertificate, silentServer, trustLocalhost } from '../../support/network';

trustLocalhost();

let proxy: ForwardProxy;
const origins = { http: '', https: '' };
const received: IncomingMessage[] = [];
beforeAll(async () => {
  proxy = await startForwardProxy({ credentials: 'catalog:a secret' });
  const echo: RequestListener = (request, response) => {
    received.push(request);
    request.pipe(response.writeHead(202));
  };
  for (const [protocol, server] of [
    ['http', createHttpServer(echo)],
    ['https', createHttpsServer(localhostCertificate, echo)],
  ] as const) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    origins[protocol] = `${protocol}://localhost:${(server.address() as AddressInfo).port}`;
    afterFile(() => void server.close());
  }
});
beforeEach(() => {
  proxy.requests = [];
  proxy.refusal = undefined;
  received.length = 0;
});

const quick: OutboundRequest = { headers: { accept: 'text/csv' }, milliseconds: 10_000 };

const requestThrough = (address: string, through: URL, request: Partial<OutboundRequest> = {}) =>
  requestOutbound(new URL(address), { ...quick, ...request }, { privateAddresses: true, proxy: through });

const authorization = `Basic ${Buffer.from('catalog:a secret').toString('base64')}`;

describe('a request through the proxy', () => {
  it.each(['http', 'https'] as const)('sends method, headers and body over %s', async (protocol) => {
    const response = await requestThrough(`${origins[protocol]}/events?a=1`, proxy.url, {
      ...{ method: 'POST', body: 'Täglich', headers: { 'content-length': 8, 'x-kept': 'yes' } },
    });

    expect([response.statusCode, await text(response)]).toEqual([202, 'Täglich']);
    expect(received).toHaveLength(1);
    const [{ method, url, headers }] = received as [IncomingMessage];
    expect([method, url, headers['x-kept'], headers.host]).toEqual([
      ...['POST', '/events?a=1', 'yes', new URL(origins[protocol]).host],
    ]);
  });

  it('over https is a tunnel, whose content the proxy does not see', async () => {
    const response = await requestThrough(`${origins.https}/secret.csv`, proxy.url);
    await text(response);

    expect(proxy.requests).toEqual([{ line: `CONNECT ${new URL(origins.https).host}`, authorization }]);
    expect(received[0]!.headers).not.toHaveProperty('proxy-authorization');
  });

  it('over http has the whole URL', async () => {
    await text(await requestThrough(`${origins.http}/a.csv?b=c`, proxy.url));

    expect(proxy.requests).toEqual([{ line: `GET ${origins.http}/a.csv?b=c`, authorization }]);
  });

  it('over http keeps the host of a URL whose path looks like another host', async () => {
    await text(await requestThrough(`${origins.http}//127.0.0.1/latest/a.csv`, proxy.url));

    expect(proxy.requests).toEqual([{ line: `GET ${origins.http}//127.0.0.1/latest/a.csv`, authorization }]);
    expect(received.map(({ url, headers }) => [url, headers.host])).toEqual([
      ['//127.0.0.1/latest/a.csv', new URL(origins.http).host],
    ]);
  });

  it('over https to an address requires a certificate for that address', async () => {
    const { port } = new URL(origins.https);

    await expect(requestThrough(`https://127.0.0.1:${port}/`, proxy.url)).rejects.toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
    expect(received).toEqual([]);
  });

  it.each(['http', 'https'] as const)('reaches a proxy over TLS, for %s', async (protocol) => {
    const secure = await startForwardProxy({ tls: localhostCertificate });

    const response = await requestThrough(origins[protocol], secure.url);

    expect([response.statusCode, await text(response)]).toEqual([202, '']);
    expect(secure.requests).toHaveLength(1);
  });

  it('lets the proxy resolve the host', async () => {
    const url = origins.http.replace('localhost', 'only-the-proxy-knows.test');

    const response = await requestOutbound(new URL(url), quick, {
      privateAddresses: false,
      proxy: proxy.url,
    });

    expect([response.statusCode, await text(response)]).toEqual([202, '']);
  });

  it.each(['http', 'https'] as const)(
    'leaves no connection to the proxy open, after %s',
    async (protocol) => {
      await text(await requestThrough(origins[protocol], proxy.url));

      await eventually('the connection is closed', () => proxy.connections() === 0);
    },
  );

  it.each([
    'http://127.0.0.1/',
    'https://10.0.0.1/',
    'https://[::1]/',
    'http://2130706433/',
    'https://[::ffff:a9fe:a9fe]/',
    'http://localhost/',
    'https://localhost./',
    'https://any.localhost/',
  ])('to a private address does not reach the proxy: %s', async (url) => {
    const route = { privateAddresses: false, proxy: proxy.url };

    await expect(requestOutbound(new URL(url), quick, route)).rejects.toThrow(PrivateAddressError);
    expect(proxy.requests).toEqual([]);
  });
});

describe('a proxy that', () => {
  const failureOf = async (through: URL, protocol: 'http' | 'https'): Promise<OutboundProxyError> => {
    const error = await requestThrough(origins[protocol], through).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(OutboundProxyError);
    return error as OutboundProxyError;
  };

  describe.each(['http', 'https'] as const)('%s', (protocol) => {
    it('refuses connections cannot be used', async () => {
      const { message, refusal } = await failureOf(
        new URL(`http://catalog:secret@127.0.0.1:${await closedPort()}`),
        protocol,
      );

      expect([message, refusal]).toEqual(['the outbound proxy could not be used (ECONNREFUSED)', undefined]);
    });

    it('requires other credentials cannot be used', async () => {
      const { message, refusal } = await failureOf(
        new URL(`http://catalog:wrong@localhost:${proxy.port}`),
        protocol,
      );

      expect([message, refusal]).toEqual([
        'the outbound proxy responded with 407: OUTBOUND_PROXY needs other credentials',
        undefined,
      ]);
    });

    it('speaks no TLS where its address has https cannot be used', async () => {
      const { message } = await failureOf(new URL(`https://localhost:${proxy.port}`), protocol);

      expect(message).toMatch(/^the outbound proxy could not be used \(\w+\)$/);
    });

    it('does not respond is cut at the timeout', async () => {
      const through = new URL(`http://127.0.0.1:${await silentServer()}`);

      await expect(requestThrough(origins[protocol], through, { milliseconds: 200 })).rejects.toThrow(
        'no response within 0.2 s',
      );
    });
  });

  it.each([403, 502, 503])('responds to CONNECT with %d has refused the host', async (status) => {
    proxy.refusal = status;

    const { message, refusal } = await failureOf(proxy.url, 'https');

    expect([message, refusal]).toEqual([`the outbound proxy responded with ${status}`, status]);
    expect(received).toEqual([]);
  });

  it.each([
    ['disconnects', ''],
    ['speaks no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ])('%s cannot be used', async (_what, answer) => {
    const server = createServer((socket) =>
      socket.on('error', () => undefined).once('data', () => socket.end(answer)),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    afterFile(() => void server.close());
    const { port } = server.address() as AddressInfo;

    const { refusal } = await failureOf(new URL(`http://127.0.0.1:${port}`), 'https');

    expect(refusal).toBeUndefined();
  });

  it('does not open the tunnel is left when the request is aborted', async () => {
    let isOpen = false;
    const server = createServer((socket) => {
      isOpen = true;
      socket
        .on('error', () => undefined)
        .on('close', () => (isOpen = false))
        .resume();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    afterFile(() => void server.close());
    const stop = new AbortController();
    const through = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);

    const requesting = requestThrough(origins.https, through, { signal: stop.signal });
    await eventually('the proxy has a connection', () => isOpen);
    stop.abort(new Error('shutting down'));

    await expect(requesting).rejects.toThrow('shutting down');
    await eventually('the connection is closed', () => !isOpen);
  });
});

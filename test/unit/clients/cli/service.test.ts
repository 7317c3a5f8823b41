import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { sendingBody } from '../../../../src/clients/cli/send-body';
import { sendToService } from '../../../../src/clients/cli/send-to-service';
import { Service } from '../../../../src/clients/cli/service';
import { afterFile } from '../../../support/harness';

const serviceAt = (url: string) =>
  new Service({ url: new URL(url), key: 'a-key', retries: 0 }, new AbortController().signal, () => undefined);

async function openServer(respond: RequestListener): Promise<string> {
  const server = createServer(respond);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterFile(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Asks for feeds. @returns the failure */
const failureOf = (url: string, fetch = sendToService): Promise<unknown> => {
  const service = serviceAt(url);
  return service
    .ask('the request', () => service.api.GET('/feeds', { fetch }))
    .catch((error: unknown) => error);
};

describe('the failure of a request', () => {
  it('names the network error of a port that fetch refuses', async () => {
    expect(await failureOf('http://127.0.0.1:1')).toMatchObject({
      exitCode: 4,
      message: 'The service at http://127.0.0.1:1 cannot be reached: connect ECONNREFUSED 127.0.0.1:1.',
    });
  });

  it.each([
    ['', undefined],
    [' of a sent file', sendingBody({ size: 0, pieces: () => Readable.from([]), onSent: () => undefined })],
  ])(
    'names the reason of a failed TLS handshake%s without the functions of OpenSSL',
    async (_what, fetch) => {
      const address = await openServer((_, response) => response.end('{}'));

      expect(await failureOf(`https://${address}`, fetch)).toMatchObject({
        exitCode: 4,
        message: expect.stringMatching(/ cannot be reached: TLS failed \([a-z ]+\)\.$/),
      });
    },
  );

  it('names the target of a redirect', async () => {
    const address = await openServer((_, response) =>
      response.writeHead(301, { location: 'https://catalog.example/feeds' }).end(),
    );

    expect(await failureOf(`http://${address}`)).toMatchObject({
      exitCode: 1,
      message:
        'The service responded to the request with 301: it redirects to https://catalog.example/feeds. Check --url.',
    });
  });

  it('has the status of an error response with a truncated body', async () => {
    const address = await openServer((request, response) => {
      response.writeHead(401, { 'content-length': '100', 'x-error-code': 'unauthorized' });
      response.write('{"detail":', () => request.socket.destroy());
    });

    expect(await failureOf(`http://${address}`)).toMatchObject({
      exitCode: 1,
      details: { status: 401, error_code: 'unauthorized' },
    });
  });

  it.each([
    ['a known', { 'content-length': '100' }],
    ['an unknown', {}],
  ])('says that a response of %s length was interrupted', async (_what, headers) => {
    const address = await openServer((request, response) => {
      response.writeHead(200, headers);
      response.write('{"items":', () => setTimeout(() => request.socket.destroy(), 50));
    });

    expect(await failureOf(`http://${address}`)).toMatchObject({
      exitCode: 4,
      message: expect.stringMatching(
        / cannot be reached: the connection was closed before the end of the response\.$/,
      ),
    });
  });
});

import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { info } from '../../../../generated/openapi.json';
import { Service } from '../../../../src/clients/cli/service';
import { findNewer, isNewer } from '../../../../src/clients/cli/version-check';
import { afterFile } from '../../../support/harness';

async function openService(respond: RequestListener) {
  const asked: { path: string; key: unknown }[] = [];
  const server = createServer((request, response) => {
    asked.push({ path: request.url!, key: request.headers['x-api-key'] });
    respond(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterFile(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/behind/a-prefix/`);
  const service = new Service(
    { url, key: 'a-key', retries: 0 },
    new AbortController().signal,
    () => undefined,
  );
  return { url, asked, service };
}

const never = new AbortController().signal;

describe('the check of the version', () => {
  it('asks once, without the key, and names the address of the newer command', async () => {
    const { url, asked, service } = await openService((_request, response) =>
      response.end('{"version":"99.0.1"}'),
    );

    expect(await findNewer(service, never)).toBe(
      `This command has version ${info.version}, the service 99.0.1. Get the newer one: curl -O ${url.href}cli/partner-feed.cjs`,
    );
    expect(asked).toEqual([{ path: '/behind/a-prefix/cli/partner-feed.json', key: undefined }]);
  });

  it.each<[string, RequestListener]>([
    ['has the same version', (_, response) => response.end(JSON.stringify({ version: info.version }))],
    ['is older', (_, response) => response.end('{"version":"1.2.9"}')],
    ['does not offer the command', (_, response) => response.writeHead(404).end('{"detail":"Not Found"}')],
    ['redirects', (_, response) => response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end()],
    ['is another server', (_, response) => response.end('<!doctype html>')],
    ['names no version', (_, response) => response.end('[1]')],
    [
      'names a version that changes a terminal',
      (_, response) => response.end(JSON.stringify({ version: '99.0.0\u001b[2J' })),
    ],
    ['closes the connection', (request) => request.socket.destroy()],
  ])('finds nothing if the service %s', async (_what, respond) => {
    const { service } = await openService(respond);

    expect(await findNewer(service, never)).toBeUndefined();
  });

  it('ends at once when it is aborted', async () => {
    const end = new AbortController();
    const { service } = await openService(() => end.abort());

    expect(await findNewer(service, end.signal)).toBeUndefined();
  });
});

it('compares versions by their numbers', () => {
  const version = fc.tuple(fc.nat(12), fc.nat(12), fc.nat(12));
  fc.assert(
    fc.property(version, version, (one, other) => {
      const order = (numbers: number[]) => numbers.reduce((sum, each) => sum * 100 + each, 0);
      expect(isNewer(one.join('.'), other.join('.'))).toBe(order(one) > order(other));
    }),
  );
});

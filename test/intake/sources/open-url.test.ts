import http, { type RequestOptions } from 'node:http';
import https from 'node:https';
import { EventEmitter } from 'node:events';
import type { LookupFunction } from 'node:net';
import { openUrl, openUrlLimits } from '../../../src/intake/sources/open-url';
import { lookUpPublic, PrivateAddressError } from '../../../src/base/public-address';
import { silentServer } from '../../support/network';
import { startFeedServer } from '../../support/source-requests';

const request = (url: string) => ({ url, headers: {}, secretHeaders: { authorization: 'secret' } });
const options = { privateAddresses: false, signal: new AbortController().signal };

function redirectWithTls(location: string): void {
  const respond = (_url: unknown, _options: unknown, onResponse: (response: unknown) => void) => {
    const sending = Object.assign(new EventEmitter(), { end: () => undefined, setTimeout: () => undefined });
    const response = { statusCode: 302, headers: { location }, destroy: () => undefined };
    setImmediate(() => {
      sending.emit('response', response);
      onResponse(response);
    });
    return sending;
  };
  jest.spyOn(https, 'request').mockImplementation(respond as never);
}

describe('a server without a response', () => {
  const everywhere = { ...options, privateAddresses: true };
  const answers = 'timeout: The server did not respond within 0.2 seconds.';
  beforeEach(() => void jest.replaceProperty(openUrlLimits, 'idleMilliseconds', 200));

  it('times out if it negotiates no TLS', async () => {
    const url = `https://127.0.0.1:${await silentServer()}/a.csv`;

    await expect(openUrl(request(url), everywhere)).rejects.toThrow(answers);
  });

  it('times out if its name is not resolved', async () => {
    const { request: send } = http;
    const lookup: LookupFunction = () => undefined;
    jest
      .spyOn(http, 'request')
      .mockImplementation(((url: URL, given: RequestOptions) => send(url, { ...given, lookup })) as never);

    await expect(openUrl(request('http://silent.test/a.csv'), everywhere)).rejects.toThrow(answers);
  });
});

describe('a redirect', () => {
  it('from https to http is rejected', async () => {
    redirectWithTls('http://93.184.215.14/b.csv');
    const plain = jest.spyOn(http, 'request');

    await expect(openUrl(request('https://93.184.215.14/a.csv'), options)).rejects.toThrow(
      'insecure_redirect: The server redirects from https to http. Use the final URL, with https.',
    );
    expect(plain).not.toHaveBeenCalled();
  });

  it('to a private address is rejected', async () => {
    redirectWithTls('https://169.254.169.254/latest/meta-data');

    await expect(openUrl(request('https://93.184.215.14/a.csv'), options)).rejects.toThrow(
      'private_address: ',
    );
    expect(https.request).toHaveBeenCalledTimes(1);
  });
});

it('connects to the checked address, even if the name has changed since', async () => {
  const server = await startFeedServer((_request, response) => void response.end('x'));
  const asked: string[] = [];
  // The first address counts as public; a second one would be rejected.
  const lookup: LookupFunction = (name, { all }, done) => {
    asked.push(name);
    if (asked.length > 1) done(new PrivateAddressError('10.0.0.1'), '');
    else if (all) done(null, [{ address: '127.0.0.1', family: 4 }]);
    else done(null, '127.0.0.1', 4);
  };
  const { request: send } = http;
  const sending = jest
    .spyOn(http, 'request')
    .mockImplementation(((url: URL, given: RequestOptions, respond: () => void) =>
      send(url, { ...given, lookup }, respond)) as never);

  const response = await openUrl(request(`http://changing.test:${new URL(server.url).port}/`), options);
  response.destroy();

  expect(sending.mock.lastCall![1]).toHaveProperty('lookup', lookUpPublic);
  expect([response.statusCode, asked]).toEqual([200, ['changing.test']]);
});

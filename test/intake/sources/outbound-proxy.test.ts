import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { openUrlLimits } from '../../../src/intake/sources/open-url';
import { startForwardProxy, type ForwardProxy } from '../../support/forward-proxy';
import { afterFile } from '../../support/harness';
import { localhostCertificate, trustLocalhost } from '../../support/network';
import { startTestService, type TestService } from '../../support/service';
import {
  csv,
  fetchNow,
  putSource,
  sourcePath,
  startFeedServer,
  type FeedServer,
} from '../../support/source-requests';

trustLocalhost();

const partner = 'Acme Outdoor';
let proxy: ForwardProxy;
let service: TestService;
let feeds: FeedServer;
let respondSecurely: RequestListener;
let secureUrl: string;
beforeAll(async () => {
  proxy = await startForwardProxy({ credentials: 'catalog:a secret' });
  service = await startTestService({
    sources: { privateAddresses: true, spread: 0 },
    outboundProxy: proxy.url,
  });
  feeds = await startFeedServer((_request, response) => void response.end(csv));
  const server = createServer(localhostCertificate, (request, response) =>
    respondSecurely(request, response),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterFile(() => {
    server.closeAllConnections();
    server.close();
  });
  secureUrl = `https://localhost:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  proxy.requests = [];
  proxy.refusal = undefined;
  feeds.requests = [];
  feeds.respond = (_request, response) => void response.end(csv);
  respondSecurely = (_request, response) => void response.end(csv);
});

let count = 0;
async function fetchFrom(url: string, { api } = service) {
  const name = `source-${++count}`;
  const { status } = await putSource(api, partner, name, { url, run_after_fetch: false });
  expect(status).toBe(200);
  const fetch = await fetchNow(api, partner, name);
  const { body: source } = await api.get(sourcePath(partner, name));
  return { fetch, source };
}

const linesOf = ({ requests }: ForwardProxy) => requests.map(({ line }) => line);

describe('a source behind the outbound proxy', () => {
  it('is fetched over http', async () => {
    const url = feeds.url.replace('127.0.0.1', 'feeds.acme.test');

    const { fetch } = await fetchFrom(`${url}/a.csv`);

    expect(fetch).toMatchObject({ status: 'completed', http_status: 200 });
    expect(linesOf(proxy)).toEqual([`GET ${url}/a.csv`]);
    expect(feeds.requests[0]!.headers).not.toHaveProperty('proxy-authorization');
  });

  it('is fetched over https', async () => {
    const { fetch } = await fetchFrom(`${secureUrl}/a.csv`);

    expect(fetch).toMatchObject({ status: 'completed', http_status: 200 });
    expect(linesOf(proxy)).toEqual([`CONNECT ${new URL(secureUrl).host}`]);
  });

  it('is fetched through the proxy after a redirect too', async () => {
    feeds.respond = (_request, response) =>
      void response.writeHead(302, { location: `${secureUrl}/b.csv` }).end();

    const { fetch } = await fetchFrom(`${feeds.url}/a.csv`);

    expect(fetch).toMatchObject({ status: 'completed' });
    expect(linesOf(proxy)).toEqual([`GET ${feeds.url}/a.csv`, `CONNECT ${new URL(secureUrl).host}`]);
  });

  it('is cut when its server stalls within a tunnel', async () => {
    jest.replaceProperty(openUrlLimits, 'idleMilliseconds', 500);
    respondSecurely = (_request, response) => void response.write('sku,product_name\n');

    const { fetch } = await fetchFrom(`${secureUrl}/a.csv`);

    expect(fetch.failure_reason).toBe('timeout: The server sent less than 1 KiB per second for 0.5 seconds.');
  });

  it('is not asked to reach a private address, also by a redirect', async () => {
    const closed = await startTestService({
      sources: { privateAddresses: false, spread: 0 },
      outboundProxy: proxy.url,
    });
    feeds.respond = (_request, response) =>
      void response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data' }).end();
    const url = feeds.url.replace('127.0.0.1', 'feeds.acme.test');

    for (const address of [`${feeds.url}/a.csv`, `${url}/a.csv`]) {
      const { fetch } = await fetchFrom(address, closed);

      expect(fetch.failure_reason).toMatch(/^private_address: /);
    }
    expect(linesOf(proxy)).toEqual([`GET ${url}/a.csv`]);
  });
});

describe('an outbound proxy', () => {
  it.each([
    [
      503,
      'could not connect to the host',
      true,
      'The outbound proxy of the service could not connect to the host.',
    ],
    [
      ...([403, 'refuses the host', false] as const),
      'The outbound proxy of the service refuses the host or its port. Ask the operator to allow it.',
    ],
  ])(
    'that responds to CONNECT with %d %s: a failure of the source',
    async (status, _what, isRepeated, sentence) => {
      proxy.refusal = status;

      const { fetch, source } = await fetchFrom(`${secureUrl}/a.csv`);

      expect(fetch).toMatchObject({
        status: isRepeated ? 'queued' : 'failed',
        http_status: null,
        failure_reason: `connection (proxy ${status}): ${sentence}`,
      });
      expect(source.failures_in_a_row).toBe(1);
    },
  );

  it.each(['http', 'https'])(
    'that cannot be used does not count as a failure of a source of %s, and is tried again',
    async (protocol) => {
      const through = new URL(proxy.url);
      through.password = 'wrong';
      const other = await startTestService({
        sources: { privateAddresses: true, spread: 0 },
        outboundProxy: through,
      });

      const { fetch, source } = await fetchFrom(protocol === 'http' ? feeds.url : secureUrl, other);

      expect(fetch).toMatchObject({
        status: 'queued',
        attempts: 1,
        failure_reason: 'unavailable: The outbound proxy of the service could not be used.',
      });
      expect(source.failures_in_a_row).toBe(0);
    },
  );
});

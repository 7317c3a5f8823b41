import { createEmptyDatabase, databaseUrl } from '../../support/databases';
import { eventually } from '../../support/harness';
import { startForwardProxy, type ForwardProxy } from '../../support/forward-proxy';
import { startService, type ServiceProcess } from '../../support/process';
import { csv, fetchNow, putSource, startFeedServer } from '../../support/source-requests';
import { putWebhook, webhookPath } from '../../support/webhook-requests';
import { testKey } from '../../support/service';

const partner = 'Acme Outdoor';
const password = 'pr0xy-passw0rd';

let proxy: ForwardProxy;
let service: ServiceProcess;
beforeAll(async () => {
  proxy = await startForwardProxy({ credentials: `catalog:${password}` });
  service = await startService({
    env: {
      DATABASE_URL: databaseUrl(await createEmptyDatabase()),
      API_KEYS: testKey,
      SECRETS_KEY: Buffer.alloc(32, 1).toString('base64'),
      LOG_LEVEL: 'trace',
      OUTBOUND_PROXY: proxy.url.href,
    },
  });
});

it('OUTBOUND_PROXY is used by sources and webhooks, and no line of the log has its credentials', async () => {
  const { api } = service;
  const feeds = await startFeedServer((_request, response) => void response.end(csv));
  const url = `${feeds.url.replace('127.0.0.1', 'feeds.acme.test')}/a.csv`;
  await putWebhook(api, partner, 'events', {
    url: 'https://events.acme.test/',
    event_types: ['feed.uploaded'],
  });
  await putSource(api, partner, 'daily', { url, run_after_fetch: false });
  const lines = () => proxy.requests.map(({ line }) => line);

  expect(await fetchNow(api, partner, 'daily')).toMatchObject({ status: 'completed' });
  // The proxy connects to port 443 of this machine, or responds with 502.
  await eventually('the event is sent', () => lines().length === 2);
  await api.post(`${webhookPath(partner, 'events')}/ping`);
  proxy.refusal = 407;
  expect(await fetchNow(api, partner, 'daily')).toMatchObject({ status: 'queued' });

  const tunnel = 'CONNECT events.acme.test:443';
  expect(lines()).toEqual([`GET ${url}`, tunnel, tunnel, `GET ${url}`]);
  const reason = 'the outbound proxy responded with 407: OUTBOUND_PROXY needs other credentials';
  await eventually('the log has the reason', () => service.stdout.includes(reason));
  const log = service.stdout;
  expect(log).toContain('webhook pinged without a response');
  for (const secret of [password, Buffer.from(`catalog:${password}`).toString('base64')]) {
    expect(log).not.toContain(secret);
  }
});

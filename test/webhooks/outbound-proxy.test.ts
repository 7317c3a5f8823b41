import type { EndpointRow } from '../../src/webhooks/endpoints.repository';
import { webhookRetries } from '../../src/webhooks/deliver';
import { startForwardProxy, type ForwardProxy } from '../support/forward-proxy';
import { eventually } from '../support/harness';
import { closedPort, localhostCertificate, trustLocalhost } from '../support/network';
import { startTestService, type TestService } from '../support/service';
import { putWebhook, webhookPath } from '../support/webhook-requests';
import { sendTo, startReceiver, type Receiver } from '../support/webhooks';

trustLocalhost();

const partner = 'Acme';
const upload = (to: TestService) => to.api.uploadFeed('sku,product_name\nA,A\n', partner);

let proxy: ForwardProxy;
let service: TestService;
let receiver: Receiver;
beforeAll(async () => {
  proxy = await startForwardProxy({ credentials: 'catalog:a secret' });
  service = await startTestService({ webhooks: 'to any address', outboundProxy: proxy.url });
  receiver = await startReceiver({ tls: localhostCertificate });
});
beforeEach(() => {
  proxy.requests = [];
  proxy.refusal = undefined;
  receiver.received = [];
  jest.replaceProperty(webhookRetries, 'backoffSeconds', [600]);
});
afterEach(() => service.db('webhook_endpoints').delete());

const tunnel = () => `CONNECT ${new URL(receiver.url).host}`;

/** Returns the endpoint and its delivery after the first attempt. */
const attempted = (to: TestService, id: number) =>
  eventually('an attempt has ended', async () => {
    const delivery = await to.db('webhook_deliveries').where('webhook_endpoint_id', id).first();
    const endpoint = await to.db<EndpointRow>('webhook_endpoints').where('webhook_endpoint_id', id).first();
    return delivery?.last_result && !delivery.is_being_sent ? { delivery, endpoint: endpoint! } : false;
  });

describe('a webhook behind the outbound proxy', () => {
  it('is delivered through a tunnel', async () => {
    await sendTo(service.db, receiver.url);

    await upload(service);

    await eventually('the event arrives', () => receiver.received.length === 1);
    expect(proxy.requests.map(({ line }) => line)).toEqual([tunnel()]);
    expect(receiver.received[0]!.headers).not.toHaveProperty('proxy-authorization');
  });

  it('is pinged through it', async () => {
    const { body } = await putWebhook(service.api, partner, 'pinged', { url: receiver.url });
    receiver.secret = body.secret;

    const { body: ping } = await service.api.post(`${webhookPath(partner, 'pinged')}/ping`);

    expect([ping, proxy.requests.map(({ line }) => line)]).toEqual([{ http_status: 204 }, [tunnel()]]);
  });

  it('fails with the status of a proxy that does not connect', async () => {
    proxy.refusal = 502;
    const id = await sendTo(service.db, receiver.url);

    await upload(service);

    const { endpoint, delivery } = await attempted(service, id);
    expect(delivery).toMatchObject({
      last_result: 'the outbound proxy responded with 502',
    });
    expect(endpoint).toMatchObject({
      failures_in_a_row: 1,
      failure_reason: 'the outbound proxy responded with 502',
    });
  });

  it('does not fail because the proxy cannot be used: the event is sent later', async () => {
    const port = await closedPort();
    const other = await startTestService({
      webhooks: 'to any address',
      outboundProxy: new URL(`http://catalog:secret@127.0.0.1:${port}`),
    });
    const id = await sendTo(other.db, receiver.url);

    await upload(other);

    const { endpoint, delivery } = await attempted(other, id);
    expect(delivery).toMatchObject({
      attempts: 1,
      last_result: 'the outbound proxy could not be used (ECONNREFUSED)',
    });
    expect(endpoint).toMatchObject({ failures_in_a_row: 0, failed_at: null });
  });

  it('of a partner does not show that there is a proxy', async () => {
    proxy.refusal = 502;
    const { body } = await putWebhook(service.api, partner, 'named', { url: receiver.url });

    await upload(service);

    const { delivery } = await attempted(service, body.webhook_id);
    expect(delivery.last_result).toBe('no response');
  });
});

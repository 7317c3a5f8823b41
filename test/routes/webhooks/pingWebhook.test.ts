import https from 'node:https';
import { createServer, type Socket } from 'node:net';
import { lookUpPublic } from '../../../src/base/public-address';
import { generateSecretsKey, SecretBox } from '../../../src/base/secret-box';
import { pingLimits } from '../../../src/webhooks/ping';
import { webhookLimits } from '../../../src/webhooks/send';
import { afterFile, eventually } from '../../support/harness';
import {
  closedPort,
  localhostCertificate,
  silentServer,
  startNameServer,
  trustLocalhost,
  tricklingServer,
  type Names,
} from '../../support/network';
import { startTestService, withStoredKey, type TestService } from '../../support/service';
import { putWebhook, webhookPath } from '../../support/webhook-requests';
import { eventErrors, startReceiver } from '../../support/webhooks';

let service: TestService;
let publicOnly: TestService;
const names: Names = { 'here.test': ['127.0.0.1'] };
beforeAll(async () => {
  service = await startTestService({ partnerWebhookPrivateAddresses: true });
  publicOnly = await startTestService();
  await startNameServer(names);
});
beforeEach(() => void jest.replaceProperty(webhookLimits, 'pingMilliseconds', 500));

/** Stores the URL of a webhook, and pings it. */
async function ping(url: string, { api }: TestService = service) {
  expect((await putWebhook(api, 'Acme', 'pinged', { url })).status).toBeLessThan(300);
  const { status, body } = await api.post(`${webhookPath('Acme', 'pinged')}/ping`);
  return { status, body: body as unknown };
}
const httpStatus = (status: number | null) => ({ status: 200, body: { http_status: status } });

/** Starts a server that counts connections. */
async function countConnections(): Promise<{ port: number; count: () => number }> {
  let connections = 0;
  const server = createServer((socket: Socket) => {
    connections++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterFile(() => void server.close());
  return { port: (server.address() as { port: number }).port, count: () => connections };
}

describe('POST /partners/{partner_name}/webhooks/{webhook_name}/ping', () => {
  describe('200 without a status, the same for every reason: a ping is no port scanner', () => {
    it.each<[string, () => Promise<string>]>([
      ['refuses connections', async () => `https://127.0.0.1:${await closedPort()}/`],
      ['accepts a connection, and says nothing', async () => `https://127.0.0.1:${await silentServer()}/`],
      ['speaks without TLS', async () => (await startReceiver()).url.replace('http:', 'https:')],
      [
        'speaks no HTTP, slowly',
        async () => `https://127.0.0.1:${await tricklingServer('SSH-2.0-OpenSSH_9.6\r\n'.repeat(100))}/`,
      ],
      [
        'has a certificate that is not trusted',
        async () => (await startReceiver({ tls: localhostCertificate })).url,
      ],
      ['has no address', () => Promise.resolve('https://unknown.test/')],
    ])('a receiver that %s', async (_what, urlOf) => {
      expect(await ping(await urlOf())).toEqual(httpStatus(null));
    });

    it('a receiver with a private address, which gets no connection', async () => {
      const { port, count } = await countConnections();

      expect(await ping(`https://here.test:${port}/`, publicOnly)).toEqual(httpStatus(null));
      expect(count()).toBe(0);
    });

    it('a receiver whose name has a private address at the second look, which gets no connection', async () => {
      const { port, count } = await countConnections();
      // No route leads to it from here, or nothing listens there.
      names['moving.test'] = ['93.184.215.14'];
      const sending = jest.spyOn(https, 'request');
      const url = `https://moving.test:${port}/`;

      expect(await ping(url, publicOnly)).toEqual(httpStatus(null));
      names['moving.test'] = ['127.0.0.1'];
      expect(await ping(url, publicOnly)).toEqual(httpStatus(null));

      expect(count()).toBe(0);
      // One lookup finds, checks and gives the addresses of a connection.
      expect(sending).toHaveBeenCalledTimes(2);
      for (const [, options] of sending.mock.calls)
        expect(options).toMatchObject({ agent: false, lookup: lookUpPublic });
    });

    it('a literal private address, stored while the setting allowed it', async () => {
      const { port, count } = await countConnections();
      await putWebhook(publicOnly.api, 'Acme', 'pinged', { url: 'https://hooks.acme.example/' });
      await publicOnly.db('webhook_endpoints').update({ url: `https://127.0.0.1:${port}/` });

      const { body } = await publicOnly.api.post(`${webhookPath('Acme', 'pinged')}/ping`);

      expect(body).toEqual({ http_status: null });
      expect(count()).toBe(0);
    });
  });

  describe('200 with the status alone', () => {
    beforeAll(trustLocalhost);

    it('of a receiver that accepts the signed test event', async () => {
      const receiver = await startReceiver({ tls: localhostCertificate });
      const { body } = await putWebhook(service.api, 'Acme', 'accepting', { url: receiver.url });
      receiver.secret = body.secret;

      const answer = await service.api.post(`${webhookPath('Acme', 'accepting')}/ping`);

      expect({ status: answer.status, body: answer.body as unknown }).toEqual(httpStatus(204));
      const [message] = receiver.received;
      expect(message!.event).toMatchObject({ type: 'webhook.ping', data: {} });
      expect(eventErrors(message!)).toEqual([]);
    });

    it.each([200, 302, 400, 404, 500])('%i', async (status) => {
      const receiver = await startReceiver({ tls: localhostCertificate });
      const target = await startReceiver({ tls: localhostCertificate });
      receiver.answer = () => ({ status, headers: { location: target.url } });
      receiver.secret = (
        await putWebhook(service.api, 'Acme', `answers-${status}`, { url: receiver.url })
      ).body.secret;

      const answer = await service.api.post(`${webhookPath('Acme', `answers-${status}`)}/ping`);

      expect({ status: answer.status, body: answer.body as unknown }).toEqual(httpStatus(status));
      expect(target.received).toEqual([]);
    });

    it('null for a certificate of another host', async () => {
      const receiver = await startReceiver({ tls: localhostCertificate });

      expect(await ping(receiver.url.replace('localhost', '127.0.0.1'))).toEqual(httpStatus(null));
      expect(receiver.received).toEqual([]);
    });
  });

  it('counts neither as a failure nor as a delivery, and is sent to paused and disabled webhooks', async () => {
    const port = await closedPort();
    await putWebhook(service.api, 'Birch', 'idle', { url: `https://127.0.0.1:${port}/` });
    await service
      .db('webhook_endpoints')
      .where('webhook_name', 'idle')
      .update({
        ...{ disabled_at: '2026-11-20T10:00:00Z', paused_until: '2099-01-01T00:00:00Z' },
      });
    const before = (await service.api.get(webhookPath('Birch', 'idle'))).body;

    const { body } = await service.api.post(`${webhookPath('Birch', 'idle')}/ping`);

    expect(body).toEqual({ http_status: null });
    expect((await service.api.get(webhookPath('Birch', 'idle'))).body).toEqual(before);
    expect((await service.api.get(`/webhooks/${before.webhook_id}/deliveries`)).body.items).toEqual([]);
  });

  it('is 422 if the secret cannot be decrypted', async () => {
    await putWebhook(publicOnly.api, 'Acme', 'unreadable', { url: 'https://hooks.acme.example/' });
    const sealed = new SecretBox(generateSecretsKey()).seal('whsec_', 'webhook');
    await publicOnly
      .db('webhook_endpoints')
      .where('webhook_name', 'unreadable')
      .update({ sealed_secret: sealed });

    const { status, body } = await publicOnly.api.post(`${webhookPath('Acme', 'unreadable')}/ping`);

    expect([status, body.detail[0].type]).toEqual([422, 'secrets_key']);
  });

  it('is 503 while the partner has as many in progress as it may', async () => {
    jest.replaceProperty(webhookLimits, 'pingMilliseconds', 1_000);
    const url = `https://127.0.0.1:${await silentServer()}/`;
    await putWebhook(service.api, 'Busy', 'silent', { url });
    const limited = await withStoredKey(service, 'Busy', 'busy');
    const send = () => limited.post(`${webhookPath('Busy', 'silent')}/ping`);

    const responses = await Promise.all(
      Array.from({ length: pingLimits.concurrentPingsOfPartner + 1 }, send),
    );

    expect(responses.map(({ status }) => status).sort()).toEqual([200, 200, 503]);
    await eventually('another ping is sent', async () => (await send()).status === 200);
  });
});

import { Webhook } from 'standardwebhooks';
import { createLog } from '../../src/base/log';
import { generateSecretsKey, SecretBox } from '../../src/base/secret-box';
import { deliver, webhookRetries } from '../../src/webhooks/deliver';
import { claimDeliveries } from '../../src/webhooks/deliveries.repository';
import { runAdmin } from '../support/commands';
import { databaseUrl } from '../support/databases';
import { eventually } from '../support/harness';
import { localhostCertificate, startNameServer, trustLocalhost } from '../support/network';
import { startTestService, testSecretBox, type TestService } from '../support/service';
import { putWebhook, webhookPath } from '../support/webhook-requests';
import { eventErrors, startReceiver, type Receiver } from '../support/webhooks';

let service: TestService;
beforeAll(async () => {
  trustLocalhost();
  service = await startTestService({ webhooks: 'to any address' });
});
beforeEach(() => {
  jest.replaceProperty(webhookRetries, 'backoffSeconds', Array<number>(8).fill(3600));
});
afterEach(async () => {
  for (const table of ['webhook_endpoints', 'webhook_deliveries']) await service.db(table).delete();
});

const csv = 'sku,product_name\nA,A\n';
const upload = (partnerName = 'Acme', { api }: TestService = service) => api.uploadFeed(csv, partnerName);

/** Creates a webhook for a new receiver over TLS. */
async function receive(
  name: string,
  { partnerName = 'Acme', ...definition }: { partnerName?: string; event_types?: string[] } = {},
): Promise<Receiver> {
  const receiver = await startReceiver({ tls: localhostCertificate });
  const { body } = await putWebhook(service.api, partnerName, name, { url: receiver.url, ...definition });
  receiver.secret = body.secret;
  return receiver;
}
const arrived = (receiver: Receiver, count: number) =>
  eventually(`${count} events arrive`, () => receiver.received.length === count);

const verifies = (secret: string, { text, headers }: Receiver['received'][0]) => {
  try {
    new Webhook(secret).verify(text, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
};

describe('a webhook of a partner', () => {
  it('gets exactly the events of the partner, of its types, signed by its secret', async () => {
    const all = await receive('all');
    const some = await receive('some', { event_types: ['job.completed'] });
    const others = await receive('others', { partnerName: 'Birch' });

    await upload('Birch');
    await service.api.loadFeed(csv, 'Acme');

    await arrived(all, 2);
    await arrived(some, 1);
    await arrived(others, 1);
    expect(all.received.map(({ event }) => event.type).sort()).toEqual(['feed.uploaded', 'job.completed']);
    expect(some.received[0]!.event.type).toBe('job.completed');
    expect(others.received[0]!.event).toMatchObject({ data: { partner_name: 'Birch' } });
    expect([...all.received, ...some.received].flatMap(eventErrors)).toEqual([]);
  });

  it('gets two signatures for a day after a rotation, so that either secret verifies a message', async () => {
    const receiver = await receive('rotated');
    const first = receiver.secret;
    const rotate = async () =>
      (await putWebhook(service.api, 'Acme', 'rotated', { url: receiver.url }, '?rotate_secret=true')).body
        .secret as string;

    const second = await rotate();
    await upload();
    await arrived(receiver, 1);
    const [message] = receiver.received as [Receiver['received'][0]];
    expect(message.headers['webhook-signature']).toMatch(/^v1,\S{44} v1,\S{44}$/);
    expect([first, second].map((secret) => verifies(secret, message))).toEqual([true, true]);
    expect(eventErrors(message)).toEqual([]);

    receiver.secret = await rotate();
    await upload();
    await arrived(receiver, 2);
    const rotatedTwice = receiver.received[1]!;
    expect([first, second, receiver.secret].map((secret) => verifies(secret, rotatedTwice))).toEqual([
      false,
      true,
      true,
    ]);

    await service.db('webhook_endpoints').update({ previous_secret_until: new Date() });
    await upload();
    await arrived(receiver, 3);
    const later = receiver.received[2]!;
    expect(later.headers['webhook-signature']).toMatch(/^v1,\S{44}$/);
    expect([second, receiver.secret].map((secret) => verifies(secret, later))).toEqual([false, true]);
  });

  it('gets no event without SECRETS_KEY or with another key, which is no failure of the receiver', async () => {
    const publicOnly = await startTestService();
    await putWebhook(publicOnly.api, 'Acme', 'a', { url: 'https://hooks.acme.example/' });
    const context = {
      db: publicOnly.db,
      log: createLog('fatal'),
      privateAddresses: true,
      partnerPrivateAddresses: true,
    };

    for (const secretBox of [undefined, new SecretBox(generateSecretsKey())]) {
      await upload('Acme', publicOnly);
      const [delivery] = await claimDeliveries(publicOnly.db, { max: 1 });
      await deliver(delivery!, { ...context, secretBox });
    }

    const { body } = await publicOnly.api.get(webhookPath('Acme', 'a'));
    expect(body).toMatchObject({ failures_in_a_row: 0, failed_at: null });
    const { body: deliveries } = await publicOnly.api.get(`/webhooks/${body.webhook_id}/deliveries`);
    const failed = { status: 'pending', last_result: 'the secret could not be decrypted' };
    expect(deliveries.items).toMatchObject([failed, failed]);
  });

  it('shows of a failure only that there was no response; the log has the reason', async () => {
    await startNameServer({ 'here.test': ['127.0.0.1'] });
    const lines: string[] = [];
    const log = createLog('warn', { write: (line: string) => void lines.push(line) });
    const publicOnly = await startTestService();
    const target = await startReceiver({ tls: localhostCertificate });
    const { port } = new URL(target.url);
    for (const host of ['here.test', 'unknown.test'])
      await putWebhook(publicOnly.api, 'Acme', host.split('.')[0]!, { url: `https://${host}:${port}/` });
    await upload('Acme', publicOnly);

    for (const delivery of await claimDeliveries(publicOnly.db, { max: 10 }))
      // As WEBHOOK_PRIVATE_ADDRESSES=on, which is for webhooks of operators only.
      await deliver(delivery, {
        ...{ db: publicOnly.db, log, secretBox: testSecretBox },
        ...{ privateAddresses: true, partnerPrivateAddresses: false },
      });

    expect(target.received).toEqual([]);
    for (const { webhook_id: id, failure_reason: reason } of (await publicOnly.api.get('/webhooks')).body
      .items) {
      const { body } = await publicOnly.api.get(`/webhooks/${id}/deliveries`);
      expect([reason, body.items[0].last_result]).toEqual(['no response', 'no response']);
    }
    expect(lines.join()).toMatch(/127\.0\.0\.1 is not a public address/);
    expect(lines.join()).toMatch(/ENOTFOUND/);
  });

  it('is listed for the operator with its name, and with the end of its pause', async () => {
    await receive('a');
    const { body } = await service.api.post(`${webhookPath('Acme', 'a')}/pause`);

    const { stdout } = await runAdmin({ DATABASE_URL: databaseUrl(service.address) }, 'webhooks', 'list');

    expect(stdout).toMatch(/ Acme +a +\(all\) +\S+ +paused until \S+Z +0 +\(none\)\n/);
    expect(stdout).toContain(`paused until ${body.paused_until}`);
  });

  it('stays enabled and without a failure if only the URL of before responds with 410', async () => {
    const withoutWorker = await startTestService();
    const { db, api } = withoutWorker;
    const gone = await startReceiver({ tls: localhostCertificate });
    gone.answer = () => ({ status: 410 });
    const { body } = await putWebhook(api, 'Acme', 'a', { url: 'https://hooks.acme.example/' });
    gone.secret = body.secret;
    await db('webhook_endpoints').update({ url: gone.url });
    await upload('Acme', withoutWorker);
    const [delivery] = await claimDeliveries(db, { max: 1 });

    await putWebhook(api, 'Acme', 'a', { url: 'https://hooks.acme.example/' });
    const context = { db, log: createLog('fatal'), secretBox: testSecretBox };
    await deliver(delivery!, { ...context, privateAddresses: true, partnerPrivateAddresses: true });

    expect(gone.received).toHaveLength(1);
    const { body: webhook } = await api.get(webhookPath('Acme', 'a'));
    expect(webhook).toMatchObject({ disabled_at: null, failures_in_a_row: 0, failure_reason: null });
    const { body: deliveries } = await api.get(`/webhooks/${webhook.webhook_id}/deliveries`);
    expect(deliveries.items).toMatchObject([{ status: 'pending', attempts: 1 }]);
  });

  it('does not follow a redirect', async () => {
    const receiver = await receive('moved');
    const target = await startReceiver({ tls: localhostCertificate });
    receiver.answer = () => ({ status: 307, headers: { location: target.url } });

    await upload();

    await eventually('it has failed', async () => {
      const { body } = await service.api.get(webhookPath('Acme', 'moved'));
      return body.failure_reason === 'HTTP 307';
    });
    expect(target.received).toEqual([]);
  });
});

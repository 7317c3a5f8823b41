import { recordSuccess } from '../../../src/webhooks/endpoints.repository';
import { eventually } from '../../support/harness';
import { localhostCertificate, trustLocalhost } from '../../support/network';
import { startTestService, type TestService } from '../../support/service';
import { putWebhook, webhookPath } from '../../support/webhook-requests';
import { startReceiver } from '../../support/webhooks';

let service: TestService;
beforeAll(async () => {
  trustLocalhost();
  service = await startTestService({ webhooks: 'to any address' });
});

const pause = (name: string, query = '') => service.api.post(`${webhookPath('Acme', name)}/pause${query}`);
const upload = (partnerName = 'Acme') => service.api.uploadFeed('sku,product_name\nA,A\n', partnerName);
const secondsUntil = (time: string) => (Date.parse(time) - Date.now()) / 1000;

describe('POST /partners/{partner_name}/webhooks/{webhook_name}/pause', () => {
  describe('200', () => {
    it('keeps the events of the pause, and sends them after its end by seconds=0', async () => {
      const receiver = await startReceiver({ tls: localhostCertificate });
      receiver.secret = (await putWebhook(service.api, 'Acme', 'paused', { url: receiver.url })).body.secret;
      const other = await startReceiver({ tls: localhostCertificate });
      other.secret = (await putWebhook(service.api, 'Acme', 'other', { url: other.url })).body.secret;

      const { status, body } = await pause('paused');
      await upload();
      await eventually('the other webhook gets its event', () => other.received.length === 1);
      await upload();
      await eventually('the other webhook gets its event', () => other.received.length === 2);

      expect(status).toBe(200);
      expect(secondsUntil(body.paused_until)).toBeCloseTo(3600, -2);
      expect(receiver.received).toEqual([]);
      expect((await pause('paused', '?seconds=0')).body.paused_until).toBeNull();
      await eventually('the events arrive', () => receiver.received.length === 2);
    });

    it('replaces an earlier pause, and outlasts a delivery that was in progress', async () => {
      await putWebhook(service.api, 'Acme', 'long', { url: 'https://127.0.0.1:1/' });

      await pause('long', '?seconds=86400');
      expect(secondsUntil((await pause('long', '?seconds=60')).body.paused_until)).toBeCloseTo(60, -1);
      const { body: before } = await service.api.get(webhookPath('Acme', 'long'));
      await recordSuccess(service.db, Number(before.webhook_id));

      const { body } = await service.api.get(webhookPath('Acme', 'long'));
      expect(secondsUntil(body.paused_until)).toBeCloseTo(60, -1);
    });

    it('shows no pause once it is over', async () => {
      await putWebhook(service.api, 'Acme', 'over', { url: 'https://127.0.0.1:1/' });
      await pause('over');
      await service.db('webhook_endpoints').where('webhook_name', 'over').update({ held_until: new Date() });

      expect((await service.api.get(webhookPath('Acme', 'over'))).body.paused_until).toBeNull();
    });

    it('ends a pause that the service has made after failures', async () => {
      await putWebhook(service.api, 'Acme', 'failing', { url: 'https://127.0.0.1:1/' });
      await service
        .db('webhook_endpoints')
        .where('webhook_name', 'failing')
        .update({ paused_until: '2099-01-01T00:00:00Z' });

      expect((await pause('failing', '?seconds=60')).body.paused_until).toBe('2099-01-01T00:00:00.000Z');
      expect((await pause('failing', '?seconds=0')).body.paused_until).toBeNull();
    });
  });

  describe('422', () => {
    it.each(['-1', '86401', '1.5', 'x'])('rejects the duration %s', async (seconds) => {
      expect((await pause('other', `?seconds=${seconds}`)).body.detail).toMatchObject([
        { loc: ['query', 'seconds'] },
      ]);
    });
  });
});

import { startTestService, withStoredKey, type TestService } from '../../support/service';
import { putWebhook, webhookPath } from '../../support/webhook-requests';
import { sendTo } from '../../support/webhooks';

const url = 'https://hooks.acme.example/catalog';
let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await putWebhook(service.api, 'Acme', 'a', { url });
  await putWebhook(service.api, 'Birch', 'c', { url });
  await sendTo(service.db, url, { partner_name: 'Acme' });
});

describe('a webhook that is not accessible to the key', () => {
  it.each([
    ['GET', ''],
    ['DELETE', ''],
    ['POST', '/ping'],
    ['POST', '/pause'],
    ['POST', '/replay?from=2026-03-01T00:00:00Z&to=2026-03-02T00:00:00Z'],
  ])(
    'is unknown to %s %s: another name, partner or NUL, and to keys of other partners',
    async (method, below) => {
      const limited = await withStoredKey(service, 'Acme', `key for ${method} ${below}`);
      for (const path of [
        ...[webhookPath('Acme', 'x'), webhookPath('Acme', '\0')],
        ...[webhookPath('X', 'a'), webhookPath('Acme', 'null')],
      ])
        expect((await service.api.send(method, `${path}${below}`)).status).toBe(404);
      expect((await limited.send(method, `${webhookPath('Birch', 'c')}${below}`)).status).toBe(404);
      expect((await service.api.get(webhookPath('Birch', 'c'))).status).toBe(200);
    },
  );
});

import { discardDeliveries } from '../../../src/webhooks/housekeeping';
import { createLog } from '../../../src/base/log';
import { startTestService, type TestService } from '../../support/service';
import { putWebhook, webhookPath } from '../../support/webhook-requests';

const url = 'https://hooks.acme.example/catalog';
let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

describe('DELETE /partners/{partner_name}/webhooks/{webhook_name}', () => {
  it('deletes the webhook with its pending deliveries, and no other webhook', async () => {
    for (const name of ['a', 'kept']) await putWebhook(service.api, 'Leaving', name, { url });
    await service.api.uploadFeed('sku,product_name\nA,A\n', 'Leaving');
    const path = webhookPath('Leaving', 'a');
    const { body } = await service.api.get(path);

    const deleted = await service.api.send('DELETE', path);

    expect([deleted.status, deleted.body]).toEqual([200, body]);
    expect((await service.api.get(path)).status).toBe(404);
    expect((await service.api.get(webhookPath('Leaving', 'kept'))).status).toBe(200);
    await discardDeliveries({ db: service.db, log: createLog('fatal') });
    expect(await service.db('webhook_deliveries')).toHaveLength(1);
    const again = await putWebhook(service.api, 'Leaving', 'a', { url });
    expect(again.status).toBe(201);
    expect(again.body.webhook_id).not.toBe(body.webhook_id);
  });
});

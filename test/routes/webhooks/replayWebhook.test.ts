import { startTestService, type TestService } from '../../support/service';
import { putWebhook, webhookPath } from '../../support/webhook-requests';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await putWebhook(service.api, 'Acme', 'other', { url: 'https://hooks.acme.example/' });
  await putWebhook(service.api, 'Acme', 'events', { url: 'https://hooks.acme.example/' });
});
afterEach(async () => {
  for (const table of ['webhook_deliveries', 'webhook_outcomes']) await service.db(table).delete();
});

const path = webhookPath('Acme', 'events');
const replay = (from: string, to: string, more = '') =>
  service.api.post(`${path}/replay?from=${from}&to=${to}${more}`);
const day = ['2026-11-20T00:00:00Z', '2026-11-21T00:00:00Z'] as const;

async function insertOutcome(messageId: string, happenedAt: string, columns = {}): Promise<void> {
  const { webhook_id: id } = (await service.api.get(path)).body;
  await service.db('webhook_outcomes').insert({
    ...{
      webhook_endpoint_id: id,
      message_id: messageId,
      event_type: 'job.completed',
      happened_at: happenedAt,
    },
    ...{ content: '{}', attempts: 9, status: 'discarded', last_result: 'HTTP 500' },
    ...columns,
  });
}
const pending = (): Promise<string[]> =>
  service.db('webhook_deliveries').orderBy('message_id').pluck('message_id');

describe('POST /partners/{partner_name}/webhooks/{webhook_name}/replay', () => {
  describe('200', () => {
    it('makes the discarded events of a half-open period due again, once, but no pings', async () => {
      await insertOutcome('before', '2026-11-19T23:59:59.999Z');
      await insertOutcome('first', '2026-11-20T00:00:00Z');
      await insertOutcome('last', '2026-11-20T23:59:59.999Z');
      await insertOutcome('after', '2026-11-21T00:00:00Z');
      await insertOutcome('delivered', '2026-11-20T12:00:00Z', { status: 'delivered' });
      await insertOutcome('ping', '2026-11-20T12:00:00Z', { event_type: 'webhook.ping' });

      const { status, body } = await replay(...day);

      expect([status, body]).toEqual([200, { count: 2 }]);
      expect(await pending()).toEqual(['first', 'last']);
      expect((await replay(...day)).body).toEqual({ count: 0 });
      expect((await replay(...day, '&include_delivered=true')).body).toEqual({ count: 1 });
      expect(await pending()).toEqual(['delivered', 'first', 'last']);
    });

    it('repeats no event of another webhook of the partner', async () => {
      const { webhook_id: id } = (await service.api.get(webhookPath('Acme', 'other'))).body;
      await insertOutcome('other', '2026-11-20T12:00:00Z', { webhook_endpoint_id: id });

      expect((await replay(...day)).body).toEqual({ count: 0 });
    });

    it('repeats the events of a busy day within the time of a request', async () => {
      const { webhook_id: id } = (await service.api.get(path)).body;
      await service.db.raw(
        `insert into webhook_outcomes (webhook_endpoint_id, message_id, event_type, happened_at, content, attempts, status)
         select ?, 'msg_' || n, 'order.created', '2026-11-20T12:00:00Z', json_build_object('order_id', n), 9, 'discarded'
         from generate_series(1, 100000) as n`,
        [id],
      );

      expect(await replay(...day)).toMatchObject({ status: 200, body: { count: 100_000 } });
    });
  });

  describe('409', () => {
    it('rejects a disabled webhook, whose deliveries would be discarded', async () => {
      await putWebhook(service.api, 'Acme', 'disabled', { url: 'https://hooks.acme.example/' });
      await service
        .db('webhook_endpoints')
        .where('webhook_name', 'disabled')
        .update({ disabled_at: new Date() });

      const { status, body, headers } = await service.api.post(
        `${webhookPath('Acme', 'disabled')}/replay?from=${day[0]}&to=${day[1]}`,
      );

      expect([status, body.detail]).toEqual([409, 'Webhook disabled is disabled. Enable it first.']);
      expect(headers.get('x-error-code')).toBe('webhook_disabled');
    });
  });

  describe('422', () => {
    it.each([
      ['2026-11-20T00:00:00Z', '2026-11-20T00:00:00Z'],
      ['2026-11-21T00:00:00Z', '2026-11-20T00:00:00Z'],
      ['2026-11-20T00:00:00Z', '2026-11-21T00:00:00.001Z'],
    ])('rejects an empty or longer period than a day: %s to %s', async (from, to) => {
      expect((await replay(from, to)).body.detail).toEqual([
        {
          type: 'webhook_period',
          loc: ['query', 'to'],
          msg: 'Input should be later than from, by a day at most',
          input: to,
        },
      ]);
    });

    it.each([
      ['', day[1], 'from'],
      [day[0], 'x', 'to'],
      ['2026-11-20', day[1], 'from'],
    ])('rejects a time of another form: %j to %j', async (from, to, name) => {
      expect((await replay(from, to)).body.detail).toMatchObject([{ loc: ['query', name] }]);
    });
  });
});

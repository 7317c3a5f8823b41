import { aTimestamp, limitTwice, wrongLimits } from '../../support/expectations';
import { startTestService, withStoredKey, type TestService } from '../../support/service';
import { sendTo } from '../../support/webhooks';

const url = 'https://acme.example.org/events';

let service: TestService;
let id: number;
beforeAll(async () => {
  service = await startTestService();
});
beforeEach(async () => {
  id = await sendTo(service.db, url, { partner_name: 'Acme' });
});

const list = (query = '', of: number | string = id) => service.api.get(`/webhooks/${of}/deliveries${query}`);
const messagesOf = ({ body }: { body: { items: { message_id: string }[] } }) =>
  body.items.map(({ message_id }) => message_id);

const event = (messageId: string, happenedAt: string) => ({
  webhook_endpoint_id: id,
  message_id: messageId,
  event_type: 'job.completed',
  happened_at: happenedAt,
  content: '{}',
});
const insertPending = (messageId: string, happenedAt: string, columns = {}) =>
  service.db('webhook_deliveries').insert({ ...event(messageId, happenedAt), ...columns });
const insertEnded = (messageId: string, happenedAt: string, columns = {}) =>
  service.db('webhook_outcomes').insert({
    ...event(messageId, happenedAt),
    attempts: 1,
    status: 'delivered',
    last_result: 'HTTP 204',
    finished_at: '2026-11-20T11:00:00Z',
    ...columns,
  });

describe('GET /webhooks/{webhook_id}/deliveries', () => {
  describe('200', () => {
    it('is an empty list before the first event', async () => {
      const { status, body } = await list();

      expect(status).toBe(200);
      expect(body).toEqual({ count: 0, items: [] });
    });

    it('shows pending deliveries and ended ones, by the time of the event, newest first', async () => {
      await insertEnded('msg_1', '2026-11-20T10:00:00Z', {
        status: 'discarded',
        attempts: 9,
        last_result: 'HTTP 500',
      });
      await insertEnded('msg_3', '2026-11-20T10:00:02Z');
      await insertPending('msg_2', '2026-11-20T10:00:01Z', {
        attempts: 2,
        last_result: 'timeout',
        next_attempt_at: '2027-01-01T00:00:00Z',
      });
      await insertPending('msg_4', '2026-11-20T10:00:03Z', { is_being_sent: true, attempts: 1 });

      const { body } = await list();

      const shared = { event_type: 'job.completed', next_attempt_at: null, finished_at: null };
      expect(body).toEqual({
        count: 4,
        items: [
          {
            ...shared,
            message_id: 'msg_4',
            happened_at: '2026-11-20T10:00:03.000Z',
            status: 'in_progress',
            attempts: 1,
            last_result: null,
          },
          {
            ...shared,
            message_id: 'msg_3',
            happened_at: '2026-11-20T10:00:02.000Z',
            status: 'delivered',
            attempts: 1,
            last_result: 'HTTP 204',
            finished_at: '2026-11-20T11:00:00.000Z',
          },
          {
            ...shared,
            message_id: 'msg_2',
            happened_at: '2026-11-20T10:00:01.000Z',
            status: 'pending',
            attempts: 2,
            last_result: 'timeout',
            next_attempt_at: '2027-01-01T00:00:00.000Z',
          },
          {
            ...shared,
            message_id: 'msg_1',
            happened_at: '2026-11-20T10:00:00.000Z',
            status: 'discarded',
            attempts: 9,
            last_result: 'HTTP 500',
            finished_at: '2026-11-20T11:00:00.000Z',
          },
        ],
      });
    });

    it('shows the delivery of an event of the service', async () => {
      await service.api.uploadFeed('sku,product_name\nA,A\n', 'Acme');

      const { body } = await list();

      expect(body.items).toEqual([
        expect.objectContaining({
          event_type: 'feed.uploaded',
          happened_at: aTimestamp,
          status: 'pending',
          attempts: 0,
        }),
      ]);
    });

    it('returns each delivery once over all pages, also several of one instant', async () => {
      const instants = [
        '10:00:00.000001',
        '10:00:00.000002',
        '10:00:00.000002',
        '10:00:00.000002',
        '10:00:01',
      ];
      for (const [index, time] of instants.entries()) {
        const insert = index % 2 ? insertPending : insertEnded;
        await insert(`msg_${index}`, `2026-11-20T${time}Z`);
      }

      const pages = [await list('?limit=2')];
      while (pages.at(-1)!.body.next_cursor !== undefined) {
        pages.push(await list(`?limit=2&cursor=${pages.at(-1)!.body.next_cursor}`));
      }

      expect(pages.map(messagesOf)).toEqual([['msg_4', 'msg_3'], ['msg_2', 'msg_1'], ['msg_0']]);
    });

    it("shows only the deliveries of its partner's webhooks to a limited key", async () => {
      await insertEnded('msg_1', '2026-11-20T10:00:00Z');
      const limited = await withStoredKey(service, 'Acme');

      expect(messagesOf(await limited.get(`/webhooks/${id}/deliveries`))).toEqual(['msg_1']);
    });
  });

  describe('400', () => {
    it('rejects a cursor that is not a message of this webhook', async () => {
      const other = await sendTo(service.db, url);
      await insertEnded('msg_1', '2026-11-20T10:00:00Z');

      for (const query of ['?cursor=msg_2', '?cursor=%00', '?cursor=msg_1&cursor=msg_1']) {
        const { status, body } = await list(query);
        expect([query, status, body]).toEqual([query, 400, { detail: 'Invalid cursor value.' }]);
      }
      expect((await list('?cursor=msg_1', other)).status).toBe(400);
    });
  });

  describe('404', () => {
    it.each(['99', '0', '-1', 'x', '1e0', '999999999999999', '9999999999999999', '%00'])(
      'does not find the webhook %s',
      async (unknown) => {
        const { status, body } = await list('', unknown);

        expect(status).toBe(404);
        expect(body).toEqual({ detail: 'Webhook not found.' });
      },
    );

    it('does not show webhooks of another partner, or of all partners, to a limited key', async () => {
      const ofAll = await sendTo(service.db, url);
      const other = await withStoredKey(service, 'Other');

      for (const hidden of [id, ofAll]) {
        expect((await other.get(`/webhooks/${hidden}/deliveries`)).status).toBe(404);
      }
    });
  });

  describe('422', () => {
    it.each(wrongLimits)('rejects the limit %j', async (limit, entry) => {
      const { status, body } = await list(`?${new URLSearchParams({ limit }).toString()}`);

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [entry] });
    });

    it('rejects a repeated limit', async () => {
      const { status, body } = await list('?limit=5&limit=5');

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [limitTwice] });
    });
  });
});

import { aTimestamp, limitTwice, wrongLimits } from '../../support/expectations';
import { startTestService, withStoredKey, type TestService } from '../../support/service';
import { sendTo } from '../../support/webhooks';

const url = 'https://acme.example.org/events';
const list = (service: TestService, query = '') => service.api.get(`/webhooks${query}`);
const idsOf = ({ body }: { body: { items: { webhook_id: string }[] } }) =>
  body.items.map(({ webhook_id }) => Number(webhook_id));

const unused = {
  webhook_id: expect.stringMatching(/^\d+$/) as string,
  webhook_name: null,
  url,
  partner_name: null,
  event_types: null,
  previous_secret_until: null,
  created_at: aTimestamp,
  failures_in_a_row: 0,
  failed_at: null,
  failure_reason: null,
  paused_until: null,
  disabled_at: null,
  disabled_reason: null,
  discarded: 0,
};

describe('GET /webhooks', () => {
  describe('200', () => {
    it('is an empty list without webhooks', async () => {
      const { status, body } = await list(await startTestService());

      expect(status).toBe(200);
      expect(body).toEqual({ count: 0, items: [] });
    });

    it('shows the events and failures of a webhook, without its secret', async () => {
      const service = await startTestService();
      await sendTo(service.db, url);
      const failing = await sendTo(service.db, url, { partner_name: 'Acme', event_types: ['job.failed'] });
      const times = {
        failed_at: '2026-11-20T10:00:00.000Z',
        paused_until: '2099-01-01T00:00:00.000Z',
        disabled_at: '2026-11-20T10:05:00.000Z',
      };
      await service
        .db('webhook_endpoints')
        .where('webhook_endpoint_id', failing)
        .update({
          ...times,
          failures_in_a_row: 7,
          failure_reason: 'HTTP 500',
          disabled_reason: 'nothing accepted for 5 days',
          given_up: 3,
        });

      const { body } = await list(service);

      expect(body).toEqual({
        count: 2,
        items: [
          unused,
          {
            ...unused,
            ...times,
            webhook_id: String(failing),
            partner_name: 'Acme',
            event_types: ['job.failed'],
            failures_in_a_row: 7,
            failure_reason: 'HTTP 500',
            disabled_reason: 'nothing accepted for 5 days',
            discarded: 3,
          },
        ],
      });
    });

    it('returns each webhook once over all pages, the oldest first', async () => {
      const service = await startTestService();
      const ids = [];
      for (let count = 0; count < 5; count++) ids.push(await sendTo(service.db, url));

      const pages = [await list(service, '?limit=2')];
      while (pages.at(-1)!.body.next_cursor !== undefined) {
        pages.push(await list(service, `?limit=2&cursor=${pages.at(-1)!.body.next_cursor}`));
      }

      expect(pages.map(idsOf)).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);
    });

    it('returns only the own webhooks to a key that is limited to a partner', async () => {
      const service = await startTestService();
      await sendTo(service.db, url);
      const own = await sendTo(service.db, url, { partner_name: 'Acme' });
      await sendTo(service.db, url, { partner_name: 'Other' });
      const limited = await withStoredKey(service, 'Acme');

      expect(idsOf(await limited.get('/webhooks'))).toEqual([own]);
    });
  });

  describe('400', () => {
    it.each(['cursor=x', 'cursor=-1', 'cursor=1e3', 'cursor=%00', 'cursor=1&cursor=2', 'cursor=x&limit=0'])(
      'rejects a cursor that is not a number: %s',
      async (query) => {
        const { status, body } = await list(await startTestService(), `?${query}`);

        expect(status).toBe(400);
        expect(body).toEqual({ detail: 'Invalid cursor value.' });
      },
    );
  });

  describe('422', () => {
    let service: TestService;
    beforeAll(async () => {
      service = await startTestService();
    });

    it.each(wrongLimits)('rejects the limit %j', async (limit, entry) => {
      const { status, body } = await list(service, `?${new URLSearchParams({ limit }).toString()}`);

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [entry] });
    });

    it('rejects a repeated limit', async () => {
      const { status, body } = await list(service, '?limit=5&limit=5');

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [limitTwice] });
    });
  });
});

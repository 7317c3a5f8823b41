import { disableEndpoint } from '../../../src/webhooks/endpoints.repository';
import { isoTime } from '../../support/format-requests';
import { startTestService, withStoredKey, type TestService } from '../../support/service';
import { putWebhook, webhookPath } from '../../support/webhook-requests';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const url = 'https://hooks.acme.example/catalog';
const put = (definition: object, name = 'events', partnerName = 'Acme', query = '') =>
  putWebhook(service.api, partnerName, name, definition, query);
const get = async (name: string, partnerName = 'Acme') =>
  (await service.api.get(webhookPath(partnerName, name))).body;
const stored = (name: string) => service.db('webhook_endpoints').where('webhook_name', name);

const aSecret = expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) as string;

describe('PUT /partners/{partner_name}/webhooks/{webhook_name}', () => {
  describe('201', () => {
    it('creates a webhook for all events of the partner, and the partner, and shows the secret once', async () => {
      const { status, body } = await put({ url }, 'first', 'New Ltd');

      expect(status).toBe(201);
      const { secret, ...shown } = body;
      expect(secret).toEqual(aSecret);
      expect(shown).toEqual({
        webhook_id: expect.stringMatching(/^\d+$/) as string,
        webhook_name: 'first',
        url,
        partner_name: 'New Ltd',
        event_types: null,
        previous_secret_until: null,
        created_at: isoTime,
        failures_in_a_row: 0,
        failed_at: null,
        failure_reason: null,
        paused_until: null,
        disabled_at: null,
        disabled_reason: null,
        discarded: 0,
      });
      expect(await get('first', 'New Ltd')).toEqual(shown);
      expect((await service.api.get('/webhooks')).body.items).toEqual([shown]);
      expect((await service.api.get('/partners/New%20Ltd')).status).toBe(200);
    });

    it('stores the address in its normal form, without control characters', async () => {
      const sent = ` ${url}/\u001b[31m\n?a=\u0007b `;

      expect((await put({ url: sent }, 'normal')).body.url).toBe(`${url}/%1B[31m?a=%07b`);
    });

    it('stores a repeated type of events once', async () => {
      const event_types = ['job.failed', 'job.completed', 'job.failed'];

      expect((await put({ url, event_types }, 'repeated')).body.event_types).toEqual([
        'job.failed',
        'job.completed',
      ]);
    });

    it('stores the secret encrypted only', async () => {
      const { secret } = (await put({ url }, 'sealed')).body;

      const [row] = await stored('sealed');

      expect(row.secret).toBeNull();
      expect(JSON.stringify(row, (_name, value: unknown) => value)).not.toContain(secret);
      const bytes = row.sealed_secret as Buffer;
      expect(bytes.includes(secret) || bytes.includes(Buffer.from(secret.slice(6), 'base64'))).toBe(false);
    });

    it('creates at most 10 of concurrent webhooks', async () => {
      const responses = await Promise.all(
        Array.from({ length: 14 }, (_, at) => put({ url }, `concurrent-${at}`, 'Busy')),
      );

      expect(responses.filter(({ status }) => status === 201)).toHaveLength(10);
      expect(responses.filter(({ status }) => status === 409)).toHaveLength(4);
    });
  });

  describe('200', () => {
    it('replaces the definition as a whole, and keeps the secret without showing it', async () => {
      const created = (await put({ url, event_types: ['job.failed'] }, 'kept')).body;
      const [before] = await stored('kept');

      const { status, body } = await put({ url: `${url}/2` }, 'kept');

      expect(status).toBe(200);
      const { secret: _secret, ...shown } = created;
      expect(body).toEqual({ ...shown, url: `${url}/2`, event_types: null });
      expect((await stored('kept'))[0].sealed_secret).toEqual(before.sealed_secret);
    });

    it('counts failures anew, and enables a webhook that the service has disabled, but keeps a requested pause', async () => {
      await put({ url }, 'failing');
      await stored('failing').update({
        ...{ failures_in_a_row: 5, failing_since: new Date(), paused_until: '2099-01-01T00:00:00Z' },
        ...{
          disabled_at: new Date(),
          disabled_reason: 'it responded with 410',
          held_until: '2098-01-01T00:00:00Z',
        },
      });

      expect((await put({ url }, 'failing')).body).toMatchObject({
        failures_in_a_row: 0,
        paused_until: '2098-01-01T00:00:00.000Z',
        disabled_at: null,
        disabled_reason: null,
      });
    });

    it('does not enable a webhook that the operator has disabled, also after the service', async () => {
      const { body: created } = await put({ url }, 'disabled');
      await stored('disabled').update({
        disabled_at: '2026-11-20T10:00:00Z',
        disabled_reason: 'it responded with 410',
      });
      await disableEndpoint(service.db, Number(created.webhook_id));

      expect((await put({ url }, 'disabled')).body.disabled_at).toBe('2026-11-20T10:00:00.000Z');
    });

    it('shows a new secret with rotate_secret=true, and until when the previous one is valid: a day', async () => {
      const created = (await put({ url }, 'rotated')).body;

      const { body } = await put({ url }, 'rotated', 'Acme', '?rotate_secret=true');

      expect(body.secret).toEqual(aSecret);
      expect(body.secret).not.toBe(created.secret);
      const hours = (Date.parse(body.previous_secret_until) - Date.now()) / 3_600_000;
      expect(hours).toBeCloseTo(24, 1);
      await stored('rotated').update({ previous_secret_until: new Date() });
      expect((await get('rotated')).previous_secret_until).toBeNull();
    });

    it('keeps the pending deliveries of the webhook', async () => {
      await put({ url, event_types: ['feed.uploaded'] }, 'pending', 'Waiting');
      await service.api.uploadFeed('sku,product_name\nA,A\n', 'Waiting');
      const { webhook_id: id } = (await put({ url: `${url}/2` }, 'pending', 'Waiting')).body;

      const { body } = await service.api.get(`/webhooks/${id}/deliveries`);

      expect(body.items).toMatchObject([{ event_type: 'feed.uploaded', status: 'pending' }]);
    });
  });

  describe('403', () => {
    it('rejects a key of another partner, and stores nothing', async () => {
      const limited = await withStoredKey(service, 'Birch');

      const { status, body } = await putWebhook(limited, 'Acme', 'foreign', { url });

      expect([status, body.detail]).toEqual([403, 'This API key is limited to partner Birch.']);
      expect((await service.api.get(webhookPath('Acme', 'foreign'))).status).toBe(404);
    });

    it('rejects a read-only key of the partner, and stores nothing', async () => {
      const reader = await withStoredKey(service, 'Acme', 'reader', { is_read_only: true });

      const { status, body, headers } = await putWebhook(reader, 'Acme', 'read', { url });

      expect([status, body.detail]).toEqual([403, 'This API key is read-only.']);
      expect(headers.get('x-error-code')).toBe('read_only_key');
      expect((await service.api.get(webhookPath('Acme', 'read'))).status).toBe(404);
    });
  });

  describe('409', () => {
    it('rejects the 11th webhook of a partner, but accepts a replacement of one of 10', async () => {
      for (let at = 0; at < 10; at++) await put({ url }, `many-${at}`, 'Full');

      const { status, body, headers } = await put({ url }, 'one-more', 'Full');

      expect([status, body.detail]).toEqual([409, 'Partner Full has 10 webhooks already. Delete one first.']);
      expect(headers.get('x-error-code')).toBe('too_many_webhooks');
      expect((await put({ url }, 'many-0', 'Full')).status).toBe(200);
    });
  });

  describe('422', () => {
    it.each([
      [{}, '/url', 'missing'],
      [{ url: 'http://hooks.acme.example/' }, '/url', 'webhook_url'],
      [{ url: 'ftp://hooks.acme.example/' }, '/url', 'webhook_url'],
      [{ url: 'https://user:pw@hooks.acme.example/' }, '/url', 'webhook_url'],
      [{ url: 'https://hooks.acme.example/#x' }, '/url', 'webhook_url'],
      [{ url: 'https://hooks.acme.example/\0' }, '/url', 'webhook_url'],
      [{ url: 'hooks.acme.example' }, '/url', 'webhook_url'],
      [{ url: 'https://127.0.0.1/' }, '/url', 'webhook_url'],
      [{ url: 'https://0x7f.1/' }, '/url', 'webhook_url'],
      [{ url: 'https://[::1]/' }, '/url', 'webhook_url'],
      [{ url: 'https://[::ffff:169.254.169.254]/latest' }, '/url', 'webhook_url'],
      [{ url: `${url}/${'x'.repeat(2_000)}` }, '/url', 'string_too_long'],
      [{ url: `${url}/${'é'.repeat(400)}` }, '/url', 'webhook_url'],
      [{ url, event_types: [] }, '/event_types', 'too_short'],
      [{ url, event_types: ['webhook.ping'] }, '/event_types/0', 'enum'],
      [{ url, secret: 'whsec_own' }, '/secret', 'extra_forbidden'],
    ])('reports the error of %j', async (definition, pointer, type) => {
      const { status, body } = await put(definition, 'wrong');

      expect(status).toBe(422);
      expect(body.detail).toEqual([expect.objectContaining({ pointer, type })]);
      expect((await service.api.get(webhookPath('Acme', 'wrong'))).status).toBe(404);
    });

    it('reports an invalid name', async () => {
      expect((await put({ url }, 'Wrong')).body.detail[0].loc).toEqual(['path', 'webhook_name']);
      expect((await put({ url }, 'events', ' ')).body.detail[0].loc).toEqual(['path', 'partner_name']);
    });

    it('is sent without SECRETS_KEY, and creates no partner', async () => {
      const { api } = await startTestService({ secretBox: null });

      const { status, body } = await putWebhook(api, 'Acme', 'events', { url });

      expect([status, body.detail[0].type]).toEqual([422, 'secrets_key']);
      expect((await api.get('/partners/Acme')).status).toBe(404);
    });
  });
});

import { putSource, sourcePath } from '../../support/source-requests';
import { isoTime, putFormat } from '../../support/format-requests';
import { startTestService, withStoredKey, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const partner = 'Acme Outdoor';
const url = 'https://feeds.acme.example/products.csv';
const put = (definition: object, name = 'daily', partnerName = partner) =>
  putSource(service.api, partnerName, name, definition);

const defaults = {
  format: null,
  mode: 'upsert',
  collection: null,
  max_withdrawn_percent: null,
  run_after_fetch: true,
  schedule: null,
  headers: {},
  basic_auth: null,
  is_enabled: true,
  stale_after_days: null,
};

describe('PUT /partners/{partner_name}/sources/{source_name}', () => {
  describe('200', () => {
    it('creates a source with its defaults, and the partner', async () => {
      const { status, body } = await put({ url }, 'first', 'New Ltd');

      expect(status).toBe(200);
      expect(body).toEqual({
        source_name: 'first',
        partner_name: 'New Ltd',
        definition: { url, ...defaults },
        state: 'active',
        failures_in_a_row: 0,
        next_fetch_at: null,
        last_feed_id: null,
        created_at: isoTime,
        updated_at: isoTime,
      });
      expect((await service.api.get(sourcePath('New Ltd', 'first'))).body).toEqual(body);
    });

    it('replaces a source as a whole, and computes its next time', async () => {
      await put({ url, mode: 'replace', max_withdrawn_percent: 12.5, run_after_fetch: false });

      const { body } = await put({ url, schedule: { cron: '0 6 1 1 *' }, is_enabled: true });

      const next = new Date(Date.UTC(new Date().getUTCFullYear() + 1, 0, 1, 6)).toISOString();
      expect(body).toMatchObject({
        definition: { url, ...defaults, schedule: { cron: '0 6 1 1 *', time_zone: 'UTC' } },
        next_fetch_at: next,
      });
      expect((await put({ url, schedule: { cron: '0 6 1 1 *' }, is_enabled: false })).body).toMatchObject({
        state: 'disabled',
        next_fetch_at: null,
      });
    });
  });

  describe('403', () => {
    it('rejects a key of another partner, and stores nothing', async () => {
      const limited = await withStoredKey(service, 'Birch');

      const { status, body } = await putSource(limited, partner, 'foreign', { url });

      expect([status, body.detail]).toEqual([403, 'This API key is limited to partner Birch.']);
      expect((await service.api.get(sourcePath(partner, 'foreign'))).status).toBe(404);
    });
  });

  describe('409', () => {
    it('rejects the 101st source of a partner, but accepts a replacement of one of 100', async () => {
      await put({ url }, 'one', 'Full');
      await service.db.raw(
        `insert into sources (partner_id, source_name, definition)
         select partner_id, 'many-' || n, definition from sources, generate_series(1, 99) as n where source_name = 'one'`,
      );

      const { status, body } = await put({ url }, 'one-more', 'Full');

      expect([status, body.detail]).toEqual([409, 'Partner Full has 100 sources already. Delete one first.']);
      expect((await put({ url }, 'one', 'Full')).status).toBe(200);
    });
  });

  describe('422', () => {
    const scheduled = (cron: string, time_zone?: string) => ({ url, schedule: { cron, time_zone } });
    it.each([
      [{}, '/url', 'missing'],
      [{ url: 'ftp://a.example/' }, '/url', 'source_url'],
      [{ url: 'https://user:pw@a.example/' }, '/url', 'source_url'],
      [{ url: 'https://a.example/#x' }, '/url', 'source_url'],
      [{ url: 'products.csv' }, '/url', 'source_url'],
      [{ url, mode: 'append' }, '/mode', 'enum'],
      [{ url, max_withdrawn_percent: 10 }, '/max_withdrawn_percent', 'not_replace'],
      [{ url, mode: 'replace', max_withdrawn_percent: true }, '/max_withdrawn_percent', 'float_type'],
      [{ url, mode: 'replace', max_withdrawn_percent: 'a' }, '/max_withdrawn_percent', 'float_parsing'],
      [{ url, other: 1 }, '/other', 'extra_forbidden'],
      [scheduled('*/5 * * * *'), '/schedule/cron', 'schedule_too_frequent'],
      [scheduled('@hourly'), '/schedule/cron', 'schedule_cron'],
      [scheduled('0 0 30 2 *'), '/schedule/cron', 'schedule_never'],
      [scheduled('0 6 * * *', 'Mars/Olympus'), '/schedule/time_zone', 'schedule_time_zone'],
      [{ url, headers: { host: 'a' } }, '/headers/host', 'header_name'],
      [{ url, headers: { 'a b': 'a' } }, '/headers/a b', 'header_name'],
      [{ url, headers: { 'x-a': '1', 'X-A': '2' } }, '/headers/X-A', 'header_name'],
      [{ url, headers: { 'x-a': 'a\r\nb: c' } }, '/headers/x-a', 'header_value'],
      [
        { url, basic_auth: { username: 'a:b', password: 'c' } },
        '/basic_auth/username',
        'string_pattern_mismatch',
      ],
      [
        { url, basic_auth: { username: 'a', password: 'c' }, headers: { Authorization: 'Bearer d' } },
        '/headers/Authorization',
        'header_name',
      ],
      [{ url, format: 'unknown' }, '/format', 'unknown_format'],
    ])('reports the error of %j', async (definition, pointer, type) => {
      const { status, body } = await put(definition, 'wrong');

      expect(status).toBe(422);
      expect(body.detail).toEqual([expect.objectContaining({ pointer, type, input: null })]);
      expect((await service.api.get(sourcePath(partner, 'wrong'))).status).toBe(404);
    });

    it('reports a format that lacks a column', async () => {
      await putFormat(service.api, partner, 'stock', { columns: { sku: { from: ['Nr'] } } });

      expect((await put({ url, format: 'stock' }, 'stock')).body.detail[0].type).toBe(
        'format_without_column',
      );
      expect((await put({ url, format: 'stock', mode: 'update' }, 'stock')).status).toBe(200);
    });

    it('reports an invalid name', async () => {
      expect((await put({ url }, 'Wrong')).body.detail[0].loc).toEqual(['path', 'source_name']);
      expect((await put({ url }, 'daily', ' ')).body.detail[0].loc).toEqual(['path', 'partner_name']);
    });
  });
});

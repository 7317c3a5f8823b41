import type { Knex } from 'knex';
import type { ApiResponse } from '../../support/api-client';
import {
  filterTwice,
  holdsNul,
  limitTwice,
  pagesOf,
  walk as walkPages,
  wrongLimits,
} from '../../support/expectations';
import { startTestService, withStoredKey, type TestService } from '../../support/service';

const csv = 'sku,product_name,price\nTENT-2,Two-person tent,189.90\nLAMP-1,Head lamp,NA\n';
const statuses = ['uploaded', 'processing', 'validating', 'validated', 'processed', 'failed'] as const;

interface StoredFeed {
  id: string;
  partnerName: string;
  status: string;
  uploadedAt: string;
}

const list = (service: TestService, query: Record<string, string> = {}) =>
  service.api.get(`/feeds?${new URLSearchParams(query).toString()}`);

const walk = ({ api }: TestService, query: Record<string, string>, cursor?: string) =>
  walkPages(api, '/feeds', 'feed_id', query, cursor);

const idsOf = ({ body }: ApiResponse): string[] =>
  body.items.map((item: { feed_id: string }) => item.feed_id);

async function store(
  service: TestService,
  { partnerName = 'Acme Outdoor', status = 'processing', uploadedAt }: Partial<StoredFeed>,
): Promise<StoredFeed> {
  const { feedId: id } = await service.api.uploadFeed(csv, partnerName);
  const [row] = await service
    .db('feeds')
    .where('feed_id', Number(id.slice(2)))
    .update({ status, ...(uploadedAt && { uploaded_at: uploadedAt }) })
    .returning(['uploaded_at']);
  return { id, partnerName, status, uploadedAt: uploadedAt ?? row.uploaded_at.toISOString() };
}

describe('GET /feeds', () => {
  describe('200', () => {
    it('is an empty list without feeds', async () => {
      const service = await startTestService();

      const { status, body } = await list(service);

      expect(status).toBe(200);
      expect(body).toEqual({ count: 0, items: [] });
    });

    it('returns each feed as GET /feeds/{feed_id} does with the summary of its last run, newest first', async () => {
      const service = await startTestService();
      const loaded = await service.api.loadFeed(csv);
      const waiting = await service.api.uploadFeed(csv, 'Birch & Sons');
      const failed = await service.api.uploadFeed('sku,product_name\nA,"A\n');
      await service.api.post(`/jobs/${failed.jobId}/run`);
      const one = async (id: string) => (await service.api.get(`/feeds/${id}`)).body as object;

      const { status, body } = await list(service);

      expect(status).toBe(200);
      expect(body).toEqual({
        count: 3,
        items: [
          { ...(await one(failed.feedId)), summary: expect.anything() as unknown },
          { ...(await one(waiting.feedId)), summary: null },
          { ...(await one(loaded.feedId)), summary: expect.anything() as unknown },
        ],
      });
      expect(body.items).toMatchObject([
        { status: 'failed', validation_job_id: failed.jobId, validation_status: 'failed' },
        { status: 'processing', validation_status: 'queued', summary: null },
        { status: 'processed', validation_status: 'completed' },
      ]);
      expect(body.items[0].summary).toEqual({
        processed: 0,
        inserted: 0,
        updated: 0,
        unchanged: 0,
        skipped: 0,
        withdrawn: 0,
        restored: 0,
      });
      expect(body.items[2].summary).toEqual({
        processed: 2,
        inserted: 1,
        updated: 0,
        unchanged: 0,
        skipped: 1,
        withdrawn: 0,
        restored: 0,
      });
    });

    it('names the first feed of the same partner with the same bytes', async () => {
      const service = await startTestService();
      await service.api.uploadFeed(csv, 'Birch & Sons');
      const first = await service.api.uploadFeed(csv);
      await service.api.uploadFeed(csv);

      const { body } = await list(service);

      expect(body.items.map((item: { duplicate_of: unknown }) => item.duplicate_of)).toEqual([
        first.feedId,
        null,
        null,
      ]);
    });

    describe('paging and filters', () => {
      let service: TestService;
      /** Newest first: 30 feeds with few distinct times, every third one of another partner. */
      let all: StoredFeed[];
      beforeAll(async () => {
        service = await startTestService();
        all = [];
        for (let at = 0; at < 30; at++) {
          all.push(
            await store(service, {
              partnerName: at % 3 === 0 ? 'Birch & Sons' : 'Acme Outdoor',
              status: statuses[at % statuses.length],
              uploadedAt: `2026-03-0${(at % 4) + 1}T10:00:00.00000${at % 5}Z`,
            }),
          );
        }
        all
          .reverse()
          .sort((a, b) => (a.uploadedAt < b.uploadedAt ? 1 : a.uploadedAt > b.uploadedAt ? -1 : 0));
      });

      const ids = (matches: (feed: StoredFeed) => boolean = () => true) =>
        all.filter(matches).map(({ id }) => id);

      it('has 20 feeds per page by default', async () => {
        expect(await walk(service, {})).toEqual(pagesOf(ids(), 20));
      });

      // Of 30: with and without a remainder.
      it.each([1, 4, 10, 15, 29, 30, 100])(
        'returns each feed exactly once over all pages, %d at a time',
        async (limit) => {
          expect(await walk(service, { limit: String(limit) })).toEqual(pagesOf(ids(), limit));
        },
      );

      it.each([1, 3, 10, 100])(
        'returns each feed of one partner exactly once over all pages, %d at a time',
        async (limit) => {
          const query = { partner_name: 'Birch & Sons', limit: String(limit) };
          const own = ids(({ partnerName }) => partnerName === 'Birch & Sons');
          expect(await walk(service, query)).toEqual(pagesOf(own, limit));
        },
      );

      it('continues after a feed that does not match the filters', async () => {
        const cursor = all[9]!.id;
        const matches = ({ partnerName }: StoredFeed) => partnerName === 'Birch & Sons';
        const rest = all.slice(10).filter(matches);
        expect((await walk(service, { partner_name: 'Birch & Sons' }, cursor)).flat()).toEqual(
          rest.map(({ id }) => id),
        );
      });

      it('returns an empty page after the oldest feed', async () => {
        const { status, body } = await list(service, { cursor: all.at(-1)!.id });

        expect(status).toBe(200);
        expect(body).toEqual({ count: 0, items: [] });
      });

      it.each(statuses)('returns the feeds with the status %s', async (status) => {
        expect(idsOf(await list(service, { status }))).toEqual(ids((feed) => feed.status === status));
      });

      it('includes uploaded_from and excludes uploaded_to, to the millisecond', async () => {
        const from = '2026-03-02T10:00:00.000Z';
        const to = '2026-03-04T10:00:00.000Z';
        const between = ids(({ uploadedAt }) => uploadedAt >= '2026-03-02' && uploadedAt < '2026-03-04');
        const before = ids(({ uploadedAt }) => uploadedAt < '2026-03-02');
        const after = ids(({ uploadedAt }) => uploadedAt >= '2026-03-04');

        expect(between.length).toBeGreaterThan(10);
        expect(idsOf(await list(service, { uploaded_from: from, uploaded_to: to }))).toEqual(between);
        expect(idsOf(await list(service, { uploaded_to: from }))).toEqual(before);
        expect(idsOf(await list(service, { uploaded_from: to }))).toEqual(after);
        expect(idsOf(await list(service, { uploaded_from: to, uploaded_to: from }))).toEqual([]);
      });

      it.each([
        ['2026-03-02T12:00:00+02:00', '2026-03-02T10:00:00Z'],
        ['2026-03-01T23:30:00-10:30', '2026-03-02T10:00:00Z'],
        ['2026-03-02T10:00:00.0009Z', '2026-03-02T10:00:00Z'],
        ['0000-01-01T00:00:00Z', '1970-01-01T00:00:00Z'],
        ['9999-12-31T23:59:59.999999999-23:59', '2999-01-01T00:00:00Z'],
      ])('takes the time %s as %s', async (time, same) => {
        const { status, body } = await list(service, { uploaded_from: time });

        expect(status).toBe(200);
        expect(body).toEqual((await list(service, { uploaded_from: same })).body);
      });

      it('combines all filters', async () => {
        const matches = ({ partnerName, status, uploadedAt }: StoredFeed) =>
          partnerName === 'Birch & Sons' && status === 'validated' && uploadedAt >= '2026-03-03';
        const query = {
          partner_name: 'Birch & Sons',
          status: 'validated',
          uploaded_from: '2026-03-03T00:00:00Z',
          uploaded_to: '2026-03-05T00:00:00Z',
        };

        expect(ids(matches).length).toBeGreaterThan(0);
        expect(idsOf(await list(service, query))).toEqual(ids(matches));
      });

      it.each(['partner_name', 'status', 'uploaded_from', 'uploaded_to', 'cursor'])(
        'treats an empty %s as absent',
        async (name) => {
          expect(idsOf(await list(service, { limit: '100', [name]: '' }))).toEqual(ids());
        },
      );

      it.each(['birch & sons', 'Birch', 'Birch & Sons ', '%', 'Unknown'])(
        'matches the whole partner name, case-sensitively: %j',
        async (partnerName) => {
          const { status, body } = await list(service, { partner_name: partnerName });

          expect(status).toBe(200);
          expect(body).toEqual({ count: 0, items: [] });
        },
      );

      it('returns only own feeds to a key that is limited to a partner, for any filter', async () => {
        const limited = await withStoredKey(service, 'Birch & Sons');
        const own = ids(({ partnerName }) => partnerName === 'Birch & Sons');
        const foreign = all.find(({ partnerName }) => partnerName !== 'Birch & Sons')!;

        expect(idsOf(await limited.get('/feeds?limit=100'))).toEqual(own);
        expect(idsOf(await limited.get('/feeds?partner_name=Acme%20Outdoor'))).toEqual([]);
        expect(await limited.get(`/feeds?cursor=${foreign.id}`)).toMatchObject({
          status: 400,
          body: { detail: 'Invalid cursor value.' },
        });
      });
    });

    it('finds the partner by any Unicode form of its name', async () => {
      const service = await startTestService();
      const { id } = await store(service, { partnerName: 'Café Müller' });

      expect(idsOf(await list(service, { partner_name: 'Café Müller'.normalize('NFD') }))).toEqual([id]);
    });

    it('returns each feed once while new feeds are uploaded', async () => {
      const service = await startTestService();
      const old: string[] = [];
      for (let count = 0; count < 4; count++) old.push((await store(service, {})).id);
      const page = await list(service, { limit: '2' });
      await store(service, {});

      const rest = await walk(service, { limit: '2' }, page.body.next_cursor);

      expect([...idsOf(page), ...rest.flat()]).toEqual(old.reverse());
    });

    it('sorts feeds of the same time by number beyond FD99999', async () => {
      const service = await startTestService();
      await service.db.raw("select setval(pg_get_serial_sequence('feeds', 'feed_id'), 99997)");
      for (let count = 0; count < 4; count++) await store(service, { uploadedAt: '2026-03-01T10:00:00Z' });

      expect(await walk(service, { limit: '1' })).toEqual([
        ['FD100001'],
        ['FD100000'],
        ['FD99999'],
        ['FD99998'],
      ]);
    });

    it('reads a page by an index, with and without a partner', async () => {
      const service = await startTestService();
      await service.api.uploadFeed(csv, 'Birch & Sons');
      await service.api.uploadFeed(csv);
      await service.db.raw(`
        insert into partners (partner_name) select 'Partner ' || n from generate_series(1, 98) as n;
        insert into feeds
          (partner_id, filename, content_type, raw_file_bucket, raw_file_object_key, sha256, size_bytes, uploaded_at)
        select n % 100 + 1, 'a.csv', 'text/csv', 'local', 'key ' || n, sha256(cast(n as text)::bytea), 1,
          now() + n * interval '1 s'
        from generate_series(1, 20000) as n;
        insert into validation_jobs (feed_id) select feed_id from feeds where feed_id > 2;
        analyze feeds; analyze partners; analyze validation_jobs;
      `);
      const statements: { sql: string; bindings: Knex.Value[] }[] = [];
      service.pool.on('query', (statement: (typeof statements)[0]) => {
        if (statement.sql.includes('order by feeds.uploaded_at')) statements.push(statement);
      });

      expect(idsOf(await list(service, { limit: '2' }))).toEqual(['FD20002', 'FD20001']);
      await list(service, { limit: '2', partner_name: 'Acme Outdoor', cursor: 'FD10000' });
      const plans = await Promise.all(
        statements.map(async ({ sql, bindings }) => {
          const text = `explain ${sql.replaceAll(/\$\d+/g, '?')}`;
          const { rows } = await service.db.raw<{ rows: Record<string, string>[] }>(text, bindings);
          return rows.map((row) => row['QUERY PLAN']).join('\n');
        }),
      );

      expect(plans).toEqual([
        expect.stringContaining('Index Scan Backward using feeds_uploaded_at on feeds'),
        expect.stringMatching(
          /Index Scan Backward using feeds_partner_id_uploaded_at on feeds.*\n.*Index Cond.*ROW\(/,
        ),
      ]);
      expect(plans.join()).not.toMatch(/Sort|Seq Scan on (feeds|validation_jobs)|feeds_pkey/);
    });
  });

  describe('400', () => {
    let service: TestService;
    beforeAll(async () => {
      service = await startTestService();
      await service.api.uploadFeed(csv);
    });

    it.each([
      'cursor=1',
      'cursor=FD1',
      'cursor=fd00001',
      'cursor=FD000001',
      'cursor=FD99999',
      'cursor=FD00000',
      'cursor=JV00001',
      'cursor=FD00001%20',
      'cursor=FD00001%00',
      'cursor=%00',
      'cursor=FD99999999999999999999',
      'cursor=FD00001&cursor=FD00001',
      'cursor=x&limit=0',
      'status=x&cursor=x',
      'partner_name=%00&cursor=x',
    ])('rejects a cursor that is not a feed id, or an unknown one: %s', async (query) => {
      const { status, body } = await service.api.get(`/feeds?${query}`);

      expect(status).toBe(400);
      expect(body).toEqual({ detail: 'Invalid cursor value.' });
    });
  });

  describe('422', () => {
    let service: TestService;
    beforeAll(async () => {
      service = await startTestService();
    });

    it.each(wrongLimits)('rejects the limit %j', async (limit, entry) => {
      const { status, body } = await list(service, { limit });

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [entry] });
    });

    it.each([
      ['limit=5&limit=5', limitTwice],
      ['partner_name=a&partner_name=b', filterTwice('partner_name')],
      ['partner_name=%00', holdsNul('partner_name', '\0')],
      ['uploaded_from=a&uploaded_from=b', filterTwice('uploaded_from')],
    ])('names the error of %s', async (query, entry) => {
      const { status, body } = await service.api.get(`/feeds?${query}`);

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [entry] });
    });

    it.each(['Processed', 'loaded', 'processed ', '\0'])('rejects the status %j', async (input) => {
      const { status, body } = await list(service, { status: input });

      expect(status).toBe(422);
      const expected = "'uploaded', 'processing', 'validating', 'validated', 'processed' or 'failed'";
      const msg = `Input should be ${expected}`;
      expect(body).toEqual({
        detail: [{ type: 'enum', loc: ['query', 'status'], msg, input, ctx: { expected } }],
      });
    });

    const pattern = String.raw`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:[0-5]\d(\.\d+)?(Z|[+-]\d{2}:\d{2})$`;
    it.each([
      '2026-03-01',
      '2026-03-01T00:00:00',
      '2026-03-01 00:00:00Z',
      '2026-03-01t00:00:00z',
      '2026-03-01T00:00:00 01:00',
      '2026-03-01T00:00:00+01',
      '2016-12-31T23:59:60Z',
      '1772323200',
      'yesterday',
      '2026-03-01T00:00:00Z\0',
      '+10000-01-01T00:00:00Z',
    ])('rejects the time %j, which is not written as in RFC 3339', async (input) => {
      for (const name of ['uploaded_from', 'uploaded_to']) {
        const { status, body } = await list(service, { [name]: input });

        expect(status).toBe(422);
        const msg = `String should match pattern '${pattern}'`;
        expect(body).toEqual({
          detail: [{ type: 'string_pattern_mismatch', loc: ['query', name], msg, input, ctx: { pattern } }],
        });
      }
    });

    it.each([
      '2026-02-30T00:00:00Z',
      '2026-13-01T00:00:00Z',
      '2026-03-01T24:00:00Z',
      '2026-03-01T00:00:00+24:00',
    ])('rejects the time %s, which does not exist', async (input) => {
      const { status, body } = await list(service, { uploaded_to: input });

      expect(status).toBe(422);
      const msg = 'Input should be a valid date-time';
      expect(body).toEqual({
        detail: [{ type: 'datetime_parsing', loc: ['query', 'uploaded_to'], msg, input }],
      });
    });
  });
});

import { holdsNul, filterTwice, limitTwice, wrongLimits } from '../../support/expectations';
import { startTestService, withStoredKey, type TestService } from '../../support/service';

const csv = 'sku,product_name\nA,A\nB,B\n';

const list = (service: TestService, query: Record<string, string> = {}) =>
  service.api.get(`/partners?${new URLSearchParams(query).toString()}`);

const namesOf = ({ body }: { body: { items: { partner_name: string }[] } }) =>
  body.items.map(({ partner_name }) => partner_name);

describe('GET /partners', () => {
  describe('200', () => {
    it('is an empty list without partners', async () => {
      const service = await startTestService();

      const { status, body } = await list(service);

      expect(status).toBe(200);
      expect(body).toEqual({ count: 0, items: [] });
    });

    it('returns each partner as GET /partners/{partner_name} does, by name', async () => {
      const service = await startTestService();
      const { job } = await service.api.loadFeed(csv, 'Zebra');
      const waiting = await service.api.uploadFeed(csv, 'Zebra');
      const other = await service.api.uploadFeed(csv, 'Acme');

      const { status, body } = await list(service);

      expect(status).toBe(200);
      expect(body).toEqual({
        count: 2,
        items: [
          {
            partner_name: 'Acme',
            products: 0,
            feeds: 1,
            last_feed_id: other.feedId,
            last_completed_at: null,
            attention: [],
          },
          {
            partner_name: 'Zebra',
            products: 2,
            feeds: 2,
            last_feed_id: waiting.feedId,
            last_completed_at: job.finished_at,
            attention: [],
          },
        ],
      });
      for (const partner of body.items) {
        expect((await service.api.get(`/partners/${partner.partner_name}`)).body).toEqual(partner);
      }
    });

    describe('paging and prefix', () => {
      const names = [
        '10%',
        'ACME',
        'Acme Outdoor',
        'Acme_Indoor',
        'Zebra',
        'a',
        'acme',
        'b',
        'Émile',
        'éclair',
        '株式会社',
      ];
      let service: TestService;
      beforeAll(async () => {
        service = await startTestService();
        for (const name of names.toReversed()) await service.api.uploadFeed(csv, name);
      });

      it('sorts names by code point', async () => {
        expect(namesOf(await list(service))).toEqual(names);
      });

      it.each([1, 3, 10, 11, 100])(
        'returns each partner exactly once over all pages, %d at a time',
        async (limit) => {
          const seen: string[] = [];
          let cursor: string | undefined = '';
          while (cursor !== undefined) {
            const page = await list(service, { limit: String(limit), cursor });
            expect(page.body.count).toBeLessThanOrEqual(limit);
            seen.push(...namesOf(page));
            expect(page.body.next_cursor).toBe(seen.length < names.length ? seen.at(-1) : undefined);
            cursor = page.body.next_cursor;
          }
          expect(seen).toEqual(names);
        },
      );

      it('has 20 partners per page by default', async () => {
        const own = await startTestService();
        for (let count = 10; count < 31; count++) await own.api.uploadFeed(csv, `Partner ${count}`);

        const { body } = await list(own);

        expect([body.count, body.next_cursor]).toEqual([20, 'Partner 29']);
      });

      it('continues after a name that no partner has', async () => {
        expect(namesOf(await list(service, { cursor: 'Acme P' }))).toEqual(names.slice(3));
        expect(namesOf(await list(service, { cursor: '\u{10FFFF}' }))).toEqual([]);
      });

      it.each([
        ['acme', ['ACME', 'Acme Outdoor', 'Acme_Indoor', 'acme']],
        ['Acme O', ['Acme Outdoor']],
        ['É', ['Émile', 'éclair']],
        ['e\u0301', ['Émile', 'éclair']],
        ['10%', ['10%']],
        ['%', []],
        ['acme_', ['Acme_Indoor']],
        ['_', []],
        ['株', ['株式会社']],
        ['cme', []],
        ['', names],
      ])('finds the partners whose names begin with %j', async (q, found) => {
        expect(namesOf(await list(service, { q }))).toEqual(found);
      });

      it('continues among the names with a prefix', async () => {
        const first = await list(service, { q: 'ACME', limit: '2' });
        const second = await list(service, { q: 'ACME', limit: '2', cursor: first.body.next_cursor });

        expect([namesOf(first), namesOf(second), second.body.next_cursor]).toEqual([
          ['ACME', 'Acme Outdoor'],
          ['Acme_Indoor', 'acme'],
          undefined,
        ]);
      });

      it('returns only the own partner to a key that is limited to it', async () => {
        const limited = await withStoredKey(service, 'Zebra');
        const unknown = await withStoredKey(service, 'Nobody Yet', 'unknown');

        expect(namesOf(await limited.get('/partners'))).toEqual(['Zebra']);
        expect(namesOf(await limited.get('/partners?q=acme'))).toEqual([]);
        expect(namesOf(await unknown.get('/partners'))).toEqual([]);
      });
    });
  });

  describe('400', () => {
    it.each(['cursor=%00', 'cursor=a%00', 'cursor=a&cursor=b', 'cursor=%00&limit=0'])(
      'rejects a cursor that cannot be a name: %s',
      async (query) => {
        const service = await startTestService();

        const { status, body } = await service.api.get(`/partners?${query}`);

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
      const { status, body } = await list(service, { limit });

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [entry] });
    });

    it.each([
      ['limit=5&limit=5', limitTwice],
      ['q=a&q=b', filterTwice('q')],
      ['q=%00', holdsNul('q', '\0')],
    ])('names the error of %s', async (query, entry) => {
      const { status, body } = await service.api.get(`/partners?${query}`);

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [entry] });
    });
  });
});

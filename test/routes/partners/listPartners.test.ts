import type { Knex } from 'knex';
import { attentionReasons, type AttentionReason } from '../../../src/catalog/partners/attention';
import { holdsNul, filterTwice, limitTwice, wrongLimits } from '../../support/expectations';
import { startTestService, withStoredKey, type TestService } from '../../support/service';

const csv = 'sku,product_name\nA,A\nB,B\n';

/** The error of a value that is not in the list of allowed values. */
function notOneOf(parameter: string, input: string, values: readonly string[]) {
  const quoted = values.map((value) => `'${value}'`);
  const expected = `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`;
  return {
    type: 'enum',
    loc: ['query', parameter],
    msg: `Input should be ${expected}`,
    input,
    ctx: { expected },
  };
}

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

    describe('by attention', () => {
      /** In the expected order: worst reason, start time, name. */
      const reasons: [name: string, ...reasons: [reason: AttentionReason, day: number][]][] = [
        ['Zoe', ['last_run_failed', 2], ['stale', 1]],
        ['Abe', ['last_run_failed', 3]],
        ['Bob', ['last_run_failed', 3], ['many_skipped', 1]],
        ['abe', ['last_run_failed', 3]],
        ['Cyd', ['no_prices', 1]],
        ['Dan/1', ['many_skipped', 1], ['never_run', 9]],
        ['Eve', ['stale', 1]],
        ['Ada'],
        ['Ben'],
        ['Émile'],
      ];
      const names = reasons.map(([name]) => name);
      let service: TestService;
      beforeAll(async () => {
        service = await startTestService();
        for (const [name, ...its] of reasons.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
          await service.api.uploadFeed(csv, name);
          for (const [reason, day] of its)
            await service.db.raw(
              `insert into partner_attention (partner_id, reason, severity, since, count)
               select partner_id, ?, ?, cast(? as timestamptz) + interval '123456 microseconds', 1
               from partners where partner_name = ?`,
              [reason, attentionReasons.indexOf(reason) + 1, `2026-03-0${day}T00:00:00Z`, name],
            );
        }
      });

      it('lists the worst first, then the longest, then by name, and all others after them', async () => {
        const { body } = await list(service, { sort_by: 'attention' });

        expect(namesOf({ body })).toEqual(names);
        expect(body.items[0].attention).toEqual([
          { reason: 'last_run_failed', since: '2026-03-02T00:00:00.123Z', count: 1 },
          { reason: 'stale', since: '2026-03-01T00:00:00.123Z', count: 1 },
        ]);
        expect(namesOf(await list(service, { sort_by: 'name' }))).toEqual(names.toSorted());
      });

      it.each([1, 2, 3, 7, 9, 10])(
        'returns each partner exactly once over all pages, %d at a time',
        async (limit) => {
          const seen: string[] = [];
          let cursor: string | undefined = '';
          while (cursor !== undefined) {
            const page = await list(service, { sort_by: 'attention', limit: String(limit), cursor });
            seen.push(...namesOf(page));
            cursor = page.body.next_cursor;
          }
          expect(seen).toEqual(names);
        },
      );

      it('continues after a position that no partner has any more', async () => {
        const after = async (cursor: string) =>
          namesOf(await list(service, { sort_by: 'attention', cursor }));

        expect(await after('last_run_failed/2026-03-03T00:00:00.123456Z/Aby')).toEqual(names.slice(2));
        expect(await after('price_jump/2020-01-01T00:00:00.000000Z/')).toEqual(names.slice(4));
        expect(await after('many_skipped/2026-03-01T00:00:00.123456Z/Dan/1')).toEqual(names.slice(6));
        expect(await after('//Baz')).toEqual(names.slice(8));
      });

      it.each<[Record<string, string>, string[]]>([
        [{ attention: 'stale' }, ['Eve', 'Zoe']],
        [{ attention: 'stale', sort_by: 'attention' }, ['Zoe', 'Eve']],
        [{ attention: 'never_run', limit: '1' }, ['Dan/1']],
        [{ attention: 'source_failing', sort_by: 'attention' }, []],
        [{ attention: 'last_run_failed', q: 'AB' }, ['Abe', 'abe']],
        [{ attention: '', q: 'a', sort_by: 'attention' }, ['Abe', 'abe', 'Ada']],
      ])('filters by %j', async (query, found) => {
        expect(namesOf(await list(service, query))).toEqual(found);
      });

      it('shows only the reasons of its own partner to a limited key', async () => {
        const limited = await withStoredKey(service, 'Eve', 'of Eve');

        expect(namesOf(await limited.get('/partners?sort_by=attention'))).toEqual(['Eve']);
        expect(namesOf(await limited.get('/partners?attention=last_run_failed'))).toEqual([]);
      });

      it('reads a page of the worst of thousands of partners by the index', async () => {
        const own = await startTestService();
        await own.db.raw(
          `insert into partners (partner_name) select 'P' || number from generate_series(1, 20000) as number`,
        );
        await own.db.raw(
          `insert into partner_attention (partner_id, reason, severity, since, count)
           select partner_id, 'many_skipped', 7, now() - partner_id * interval '1 minute', 5 from partners`,
        );
        await own.db.raw('analyze partners, partner_attention');
        const statements: { sql: string; bindings: Knex.Value[] }[] = [];
        own.pool.on('query', (statement: (typeof statements)[0]) => {
          if (statement.sql.includes('partner_attention')) statements.push(statement);
        });

        const { body } = await list(own, { sort_by: 'attention', limit: '2' });

        expect(namesOf({ body })).toEqual(['P20000', 'P19999']);
        const [{ sql, bindings }] = statements as [(typeof statements)[0]];
        const text = `explain (analyze, timing off, format json) ${sql.replaceAll(/\$\d+/g, '?')}`;
        const plan = JSON.stringify((await own.db.raw<{ rows: object[] }>(text, bindings)).rows);
        expect(plan).toContain('partner_attention_worst');
        const rows = [...plan.matchAll(/"Actual Rows":([0-9.]+)/g)].map(([, count]) => Number(count));
        expect(Math.max(...rows)).toBeLessThan(100);
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

    it.each([
      'Acme',
      '/Acme',
      'last_run_failed/Acme',
      'last_run_failed/2026-03-03/Acme',
      'last_run_failed/2026-13-03T00:00:00.000000Z/Acme',
      'last_run_failed/2026-02-30T00:00:00.000000Z/Acme',
      'last_run_failed/0000-01-01T00:00:00.000000Z/Acme',
      'unknown/2026-03-03T00:00:00.123456Z/Acme',
      '//\0',
    ])('rejects a cursor that does not belong to the order by attention: %j', async (cursor) => {
      const service = await startTestService();

      const { status, body } = await list(service, { sort_by: 'attention', cursor });

      expect([status, body]).toEqual([400, { detail: 'Invalid cursor value.' }]);
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
      ['q=a&q=b', filterTwice('q')],
      ['q=%00', holdsNul('q', '\0')],
      ['sort_by=products', notOneOf('sort_by', 'products', ['name', 'attention'])],
      ['sort_by=', notOneOf('sort_by', '', ['name', 'attention'])],
      ['attention=sick', notOneOf('attention', 'sick', attentionReasons)],
    ])('names the error of %s', async (query, entry) => {
      const { status, body } = await service.api.get(`/partners?${query}`);

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [entry] });
    });
  });
});

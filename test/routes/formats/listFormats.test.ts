import { filterTwice, holdsNul, limitTwice, wrongLimits } from '../../support/expectations';
import { formatPath, putFormat } from '../../support/format-requests';
import { startTestService, withStoredKey, type TestService } from '../../support/service';

const builtIn = ['excel-eu', 'google-merchant', 'magento2', 'shopify', 'standard', 'woocommerce'];

const list = (service: TestService, query: Record<string, string> = {}, api = service.api) =>
  api.get(`/formats?${new URLSearchParams(query).toString()}`);

interface Listed {
  format_name: string;
  partner_name: string | null;
}

const namesOf = ({ body }: { body: { items: Listed[] } }) =>
  body.items.map(({ format_name, partner_name }) =>
    partner_name === null ? format_name : `${partner_name}: ${format_name}`,
  );

describe('GET /formats', () => {
  let service: TestService;
  const own = ['Acme: default', 'Acme: weekly', 'a/b/c: x', 'Émile: weekly'];
  beforeAll(async () => {
    service = await startTestService();
    for (const name of own.toReversed()) {
      const [partner, format] = name.split(': ') as [string, string];
      await putFormat(service.api, partner, format);
    }
  });

  describe('200', () => {
    it('has the built-in formats, then those of partners by partner and name', async () => {
      const { status, body } = await list(service);

      expect(status).toBe(200);
      expect(namesOf({ body })).toEqual([...builtIn, ...own]);
      expect(body.count).toBe(10);
      expect(body).not.toHaveProperty('next_cursor');
      expect(body.items[4]).toEqual({
        format_name: 'standard',
        partner_name: null,
        definition: expect.objectContaining({ columns: expect.anything() }),
        created_at: null,
        updated_at: null,
      });
      expect(body.items[6]).toEqual((await service.api.get(formatPath('Acme', 'default'))).body);
    });

    it.each([1, 2, 5, 8, 10, 100])(
      'returns each format exactly once over all pages, %d at a time',
      async (limit) => {
        const seen: string[] = [];
        let cursor: string | undefined = '';
        while (cursor !== undefined) {
          const page = await list(service, { limit: String(limit), cursor });
          expect(page.body.count).toBeLessThanOrEqual(limit);
          seen.push(...namesOf(page));
          cursor = page.body.next_cursor;
          expect(cursor === undefined).toBe(seen.length === 10);
        }
        expect(seen).toEqual([...builtIn, ...own]);
      },
    );

    it('continues after a name that no format has', async () => {
      expect(namesOf(await list(service, { cursor: 'shopify-2' }))).toEqual([
        'standard',
        'woocommerce',
        ...own,
      ]);
      expect(namesOf(await list(service, { cursor: 'e/Acme' }))).toEqual(own.slice(1));
      expect(namesOf(await list(service, { cursor: 'x/Zebra' }))).toEqual(own.slice(2));
      expect(namesOf(await list(service, { cursor: '/\u{10FFFF}' }))).toEqual([]);
    });

    it('has only the own formats of a partner with partner_name', async () => {
      expect(namesOf(await list(service, { partner_name: 'Acme' }))).toEqual(own.slice(0, 2));
      expect(namesOf(await list(service, { partner_name: 'E\u0301mile' }))).toEqual(own.slice(3));
      expect((await list(service, { partner_name: 'Unknown' })).body).toEqual({ count: 0, items: [] });
      expect(namesOf(await list(service, { partner_name: '' }))).toHaveLength(10);
    });

    it('has only the own formats of the partner of a key', async () => {
      const limited = await withStoredKey(service, 'a/b/c');

      expect(namesOf(await list(service, {}, limited))).toEqual([...builtIn, 'a/b/c: x']);
      expect(namesOf(await list(service, { partner_name: 'Acme' }, limited))).toEqual([]);
      expect(namesOf(await list(service, { cursor: 'default/Acme' }, limited))).toEqual(['a/b/c: x']);
    });

    it('has 20 formats per page by default', async () => {
      const other = await startTestService();
      for (let count = 10; count < 27; count++) await putFormat(other.api, 'Acme', `f${count}`);

      const { body } = await list(other);

      expect([body.count, body.next_cursor]).toEqual([20, 'f23/Acme']);
    });
  });

  describe('400', () => {
    it.each(['cursor=%00', 'cursor=a%2Fb%00', 'cursor=a&cursor=b', 'cursor=%00&limit=0'])(
      'rejects a cursor that cannot be a position: %s',
      async (query) => {
        const { status, body } = await service.api.get(`/formats?${query}`);

        expect([status, body]).toEqual([400, { detail: 'Invalid cursor value.' }]);
      },
    );
  });

  describe('422', () => {
    it.each(wrongLimits)('rejects the limit %j', async (limit, entry) => {
      const { status, body } = await list(service, { limit });

      expect([status, body]).toEqual([422, { detail: [entry] }]);
    });

    it.each([
      ['limit=5&limit=5', limitTwice],
      ['partner_name=a&partner_name=b', filterTwice('partner_name')],
      ['partner_name=%00', holdsNul('partner_name', '\0')],
    ])('names the error of %s', async (query, entry) => {
      const { status, body } = await service.api.get(`/formats?${query}`);

      expect([status, body]).toEqual([422, { detail: [entry] }]);
    });
  });
});

import { putSource } from '../../support/source-requests';
import { startTestService, withStoredKey, type TestService } from '../../support/service';

const url = 'https://feeds.acme.example/products.csv';
let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  for (const [partner, name] of [
    ['Acme', 'b'],
    ['Acme', 'a'],
    ['a/b', 'a'],
    ['Birch', 'c'],
  ] as const)
    expect((await putSource(service.api, partner, name, { url })).status).toBe(200);
});

const namesOf = (body: { items: { partner_name: string; source_name: string }[] }) =>
  body.items.map(({ partner_name, source_name }) => `${partner_name}: ${source_name}`);
const all = ['Acme: a', 'Acme: b', 'Birch: c', 'a/b: a'];

describe('GET /sources', () => {
  it('lists the sources by partner and name, in pages', async () => {
    expect(namesOf((await service.api.get('/sources')).body)).toEqual(all);
    for (const limit of [1, 2, 3]) {
      const seen: string[] = [];
      let cursor: string | undefined = '';
      while (cursor !== undefined) {
        const { body } = await service.api.get(
          `/sources?limit=${limit}&cursor=${encodeURIComponent(cursor)}`,
        );
        seen.push(...namesOf(body));
        cursor = body.next_cursor as string | undefined;
      }
      expect(seen).toEqual(all);
    }
  });

  it('returns only the sources of one partner, or of the partner of the key', async () => {
    const limited = await withStoredKey(service, 'Birch');

    expect(namesOf((await service.api.get('/sources?partner_name=Acme')).body)).toEqual(all.slice(0, 2));
    expect(namesOf((await limited.get('/sources')).body)).toEqual(['Birch: c']);
    expect((await limited.get('/sources?partner_name=Acme')).body).toEqual({ count: 0, items: [] });
  });

  it.each(['cursor=%00', 'cursor=a&cursor=b'])('rejects %s', async (query) => {
    expect(await service.api.get(`/sources?${query}`)).toMatchObject({
      status: 400,
      body: { detail: 'Invalid cursor value.' },
    });
  });
});

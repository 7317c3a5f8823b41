import { putSource, sourcePath } from '../../support/source-requests';
import { formatPath, putFormat } from '../../support/format-requests';
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

  it('has only those of a partner, or of the partner of the key', async () => {
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

describe('a source', () => {
  it.each([
    ['GET', ''],
    ['DELETE', ''],
    ['POST', '/fetch'],
    ['GET', '/fetches'],
  ])('is unknown to %s %s: another name, partner or NUL, and to keys of others', async (method, below) => {
    const limited = await withStoredKey(service, 'Acme', `key for ${method} ${below}`);
    for (const path of [sourcePath('Acme', 'x'), sourcePath('Acme', '\0'), sourcePath('X', 'a')])
      expect((await service.api.send(method, `${path}${below}`)).status).toBe(404);
    expect((await limited.send(method, `${sourcePath('Birch', 'c')}${below}`)).status).toBe(404);
    expect((await service.api.get(sourcePath('Birch', 'c'))).status).toBe(200);
  });

  it('is deleted with its fetches, and no other source', async () => {
    await putSource(service.api, 'Leaving', 'kept', { url });
    await putSource(service.api, 'Leaving', 'a', { url });
    const path = sourcePath('Leaving', 'a');
    expect((await service.api.post(`${path}/fetch`)).headers.get('location')).toBe(`${path}/fetches`);
    const { body } = await service.api.get(path);

    const deleted = await service.api.send('DELETE', path);

    expect([deleted.status, deleted.body]).toEqual([200, body]);
    expect((await service.api.get(path)).status).toBe(404);
    expect((await service.db('source_fetches')).length).toBe(0);
    expect((await service.api.get(sourcePath('Leaving', 'kept'))).status).toBe(200);
  });

  it('has one unfinished fetch, however often one is requested', async () => {
    await putSource(service.api, 'Busy', 'a', { url });
    const path = sourcePath('Busy', 'a');

    const fetches = await Promise.all([1, 2, 3, 4].map(() => service.api.post(`${path}/fetch`)));

    expect(fetches.map(({ status, body }) => [status, body.fetch])).toEqual(Array(4).fill([202, 1]));
    const { body } = await service.api.get(`${path}/fetches`);
    expect(body).toMatchObject({
      count: 1,
      items: [{ fetch: 1, status: 'queued', requested_by: 'api-keys' }],
    });
  });

  it('has fetches in pages', async () => {
    await putSource(service.api, 'Paged', 'a', { url });
    const path = sourcePath('Paged', 'a');
    for (let count = 0; count < 3; count++) {
      await service.api.post(`${path}/fetch`);
      await service
        .db('source_fetches')
        .where('status', 'queued')
        .update({ status: 'failed', finished_at: new Date() });
    }

    const first = await service.api.get(`${path}/fetches?limit=2`);
    const second = await service.api.get(`${path}/fetches?limit=2&cursor=${first.body.next_cursor}`);

    expect(first.body.items.map(({ fetch }: { fetch: number }) => fetch)).toEqual([3, 2]);
    expect(second.body.items.map(({ fetch }: { fetch: number }) => fetch)).toEqual([1]);
    expect(second.body).not.toHaveProperty('next_cursor');
    expect((await service.api.get(`${path}/fetches?cursor=x`)).status).toBe(400);
  });
});

describe('a format that a source names', () => {
  it('is not deleted', async () => {
    await putFormat(service.api, 'Formatted', 'weekly');
    await putSource(service.api, 'Formatted', 'daily', { url, format: 'weekly' });

    const refused = await service.api.send('DELETE', formatPath('Formatted', 'weekly'));
    await putSource(service.api, 'Formatted', 'daily', { url });

    expect([refused.status, refused.body.detail]).toEqual([
      409,
      'Source daily reads its feeds by this format. Change or delete the source first.',
    ]);
    expect((await service.api.send('DELETE', formatPath('Formatted', 'weekly'))).status).toBe(200);
  });
});

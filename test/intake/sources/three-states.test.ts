import { csv, putSource, sourcePath, startFeedServer, type FeedServer } from '../../support/source-requests';
import { eventually } from '../../support/harness';
import { startTestService } from '../../support/service';

const partner = 'Acme Outdoor';
const path = sourcePath(partner, 'daily-export');

it('fetches a source on its schedule while its file is new, unchanged and broken', async () => {
  const service = await startTestService({
    sources: { privateAddresses: true, spread: 0 },
    queuedRuns: 1,
  });
  const sendsFile =
    (content: string, etag: string): FeedServer['respond'] =>
    ({ headers }, response) => {
      if (headers['if-none-match'] === etag) response.writeHead(304).end();
      else response.writeHead(200, { etag }).end(content);
    };
  const feeds = await startFeedServer(sendsFile(csv, '"monday"'));
  await putSource(service.api, partner, 'daily-export', {
    url: `${feeds.url}/products.csv`,
    schedule: { cron: '30 5 * * *' },
  });
  /** Advances to the slot of a day. @returns its fetch, after the fetch and its run have ended */
  const dayComes = async (day: string) => {
    await service.db('sources').update({ next_slot_at: `${day}T05:30:00Z` });
    return eventually(`the slot of ${day} has ended`, async () => {
      const { body } = await service.api.get(`${path}/fetches?limit=1`);
      const [fetch] = body.items;
      if (!fetch?.slot_at?.startsWith(day) || fetch.finished_at === null) return false;
      if (fetch.feed_id === null) return fetch;
      const { body: feed } = await service.api.get(`/feeds/${fetch.feed_id}`);
      return feed.validation_status === 'completed' && fetch;
    });
  };
  const names = async () => {
    const { body } = await service.api.get('/products');
    return body.items.map(({ product_name }: { product_name: string }) => product_name);
  };

  expect(await dayComes('2026-03-02')).toMatchObject({ status: 'completed', feed_id: 'FD00001' });
  expect(await names()).toEqual(['Tent']);

  expect(await dayComes('2026-03-03')).toMatchObject({ status: 'unchanged', http_status: 304 });

  feeds.respond = (_request, response) => void response.end('<!doctype html><title>Log in</title>');
  const broken = await dayComes('2026-03-04');
  expect(broken).toMatchObject({ status: 'failed', feed_id: null });
  expect(broken.failure_reason).toMatch(/^not_a_table \(html\): /);
  expect(await names()).toEqual(['Tent']);
  expect((await service.api.get(path)).body).toMatchObject({ failures_in_a_row: 1, last_feed_id: 'FD00001' });

  feeds.respond = sendsFile(csv.replace('Tent', 'Large tent'), '"thursday"');
  expect(await dayComes('2026-03-05')).toMatchObject({ status: 'completed' });
  expect(await names()).toEqual(['Large tent']);
  expect((await service.api.get(path)).body).toMatchObject({ failures_in_a_row: 0, state: 'active' });
  expect((await service.api.get('/feeds')).body.count).toBe(2);
});

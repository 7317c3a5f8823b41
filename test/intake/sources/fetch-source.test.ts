import { gzipSync } from 'node:zlib';
import { createHash } from 'node:crypto';
import { openUrlLimits } from '../../../src/intake/sources/open-url';
import { eventually } from '../../support/harness';
import {
  csv,
  fetchNow,
  putSource,
  sourcePath,
  startFeedServer,
  type FeedServer,
} from '../../support/source-requests';
import { putFormat } from '../../support/format-requests';
import { startTestService, withStoredKey, type TestService } from '../../support/service';
import { filesBelow } from '../../support/stored-uploads';

const partner = 'Acme Outdoor';
let service: TestService;
let feeds: FeedServer;
beforeAll(async () => {
  service = await startTestService({
    sources: { privateAddresses: true, spread: 0 },
    uploadBytesMax: 10_000,
    queuedRuns: 2,
  });
  feeds = await startFeedServer((_request, response) => void response.end(csv));
});
beforeEach(() => {
  feeds.requests = [];
  feeds.respond = (_request, response) => void response.end(csv);
});

let count = 0;
/** Stores a source with a unique name. @returns the name */
async function store(definition: object = {}, partnerName = partner): Promise<string> {
  const name = `source-${++count}`;
  const { status, body } = await putSource(service.api, partnerName, name, {
    url: `${feeds.url}/export/products.csv?kind=all`,
    run_after_fetch: false,
    ...definition,
  });
  expect([status, body.detail]).toEqual([200, undefined]);
  return name;
}

const fetchOnce = (name: string, partnerName = partner) => fetchNow(service.api, partnerName, name);
const getFeed = async (feedId: string) => (await service.api.get(`/feeds/${feedId}`)).body;
const getSource = async (name: string) => (await service.api.get(sourcePath(partner, name))).body;

describe('a fetch', () => {
  it('creates a feed as an upload does, and runs it', async () => {
    const owner = 'Fetched Ltd';
    const name = await store({ run_after_fetch: true, mode: 'replace', collection: 'tents' }, owner);

    const fetch = await fetchOnce(name, owner);

    expect(fetch).toMatchObject({ status: 'completed', attempts: 1, http_status: 200, failure_reason: null });
    const { validation_job_id: jobId } = await getFeed(fetch.feed_id);
    await eventually(
      'the run has ended',
      async () => (await service.api.get(`/jobs/${jobId}`)).body.status === 'completed',
    );
    expect(await getFeed(fetch.feed_id)).toMatchObject({
      partner_name: owner,
      file_name: 'products.csv',
      mode: 'replace',
      collection: 'tents',
      size_bytes: csv.length,
      sha256: createHash('sha256').update(csv).digest('hex'),
    });
    expect((await service.api.get(`/products?partner_name=Fetched%20Ltd`)).body.count).toBe(1);
    const bound = await withStoredKey(service, owner, 'fetching key');
    expect((await bound.get(`/jobs/${jobId}/runs`)).body.items[0].requested_by).toBe(`source:${name}`);
    expect((await bound.get(`${sourcePath(owner, name)}/fetches`)).body.items[0].requested_by).toBe(
      'operator',
    );
    expect((await service.api.get(sourcePath(owner, name))).body.last_feed_id).toBe(fetch.feed_id);
  });

  it.each([
    [null, 'failed'],
    [30, 'failed'],
    [50, 'completed'],
  ])(
    'withdraws up to %j percent of the products, or the default part: the run has %s',
    async (percent, status) => {
      const owner = `Withdrawing ${percent}`;
      const rows = (count: number) =>
        `sku,product_name\n${Array.from({ length: count }, (_, at) => `S${at},Tent\n`).join('')}`;
      await service.api.loadFeed(rows(40), owner);
      const name = await store(
        { run_after_fetch: true, mode: 'replace', max_withdrawn_percent: percent },
        owner,
      );
      feeds.respond = (_request, response) => void response.end(rows(25));

      const fetch = await fetchOnce(name, owner);

      const ended = await eventually('the run has ended', async () => {
        const { validation_status: state } = await getFeed(fetch.feed_id);
        return ['completed', 'failed'].includes(state) && state;
      });
      expect(ended).toBe(status);
    },
  );

  it('reads the file by the format of the source', async () => {
    await putFormat(service.api, partner, 'numbered');
    const name = await store({ format: 'numbered' });
    feeds.respond = (_request, response) => void response.end('Nr,Name\n1,Tent\n');

    const fetch = await fetchOnce(name);

    expect(await getFeed(fetch.feed_id)).toMatchObject({ format_name: 'numbered' });
  });

  it('unpacks a response with a content coding', async () => {
    const name = await store();
    feeds.respond = ({ headers }, response) => {
      expect(headers['accept-encoding']).toBe('gzip');
      response.setHeader('content-encoding', 'gzip').end(gzipSync(csv));
    };

    const fetch = await fetchOnce(name);

    expect(await getFeed(fetch.feed_id)).toMatchObject({ size_bytes: csv.length, file_name: 'products.csv' });
  });

  it('creates no feed of a file that the server reports as unchanged, while the last feed is in force', async () => {
    const owner = 'Conditional Ltd';
    const name = await store({ run_after_fetch: true }, owner);
    feeds.respond = ({ headers }, response) => {
      if (headers['if-none-match'] === '"v1"') response.writeHead(304).end();
      else
        response.writeHead(200, { etag: '"v1"', 'last-modified': 'Sun, 01 Mar 2026 09:00:00 GMT' }).end(csv);
    };
    const first = await fetchOnce(name, owner);
    await eventually(
      'the feed is loaded',
      async () => (await getFeed(first.feed_id)).validation_status === 'completed',
    );

    const second = await fetchOnce(name, owner);
    await service.api.loadFeed('sku,product_name\nA,Changed\n', owner);
    const third = await fetchOnce(name, owner);

    expect(second).toMatchObject({ status: 'unchanged', http_status: 304, feed_id: first.feed_id });
    expect(feeds.requests[1]!.headers).toMatchObject({
      'if-none-match': '"v1"',
      'if-modified-since': 'Sun, 01 Mar 2026 09:00:00 GMT',
    });
    expect(third).toMatchObject({ status: 'completed', http_status: 200 });
    expect(third.feed_id).not.toBe(first.feed_id);
  });

  it('creates no feed of equal bytes, unless mode, format or a later run differ', async () => {
    const owner = 'Equal Ltd';
    const name = await store({ run_after_fetch: true }, owner);
    const loaded = async (feedId: string) =>
      eventually('the feed is loaded', async () => (await getFeed(feedId)).validation_status === 'completed');
    const first = await fetchOnce(name, owner);
    await loaded(first.feed_id);
    const before = await filesBelow(service.dataDir);

    const second = await fetchOnce(name, owner);

    expect(second).toMatchObject({ status: 'unchanged', http_status: 200, feed_id: first.feed_id });
    expect(await filesBelow(service.dataDir)).toEqual(before);
    const { validation_job_id: jobId } = await getFeed(first.feed_id);
    expect((await service.api.post(`/jobs/${jobId}/revert?run=1`)).status).toBe(200);
    const third = await fetchOnce(name, owner);
    expect(third.status).toBe('completed');
    await loaded(third.feed_id);
    await putSource(service.api, owner, name, { url: `${feeds.url}/products.csv`, mode: 'replace' });
    expect((await fetchOnce(name, owner)).status).toBe('completed');
  });

  it('creates no feed of equal bytes after a feed of another collection, but creates one after a feed without a collection', async () => {
    const owner = 'Collections Ltd';
    const name = await store({ run_after_fetch: true, collection: 'tents' }, owner);
    const first = await fetchOnce(name, owner);
    await eventually(
      'the feed is loaded',
      async () => (await getFeed(first.feed_id)).validation_status === 'completed',
    );
    const other = 'sku,product_name\nZ,Other\n';

    await service.api.loadFeed(other, owner, { collection: 'lamps' });
    expect((await fetchOnce(name, owner)).status).toBe('unchanged');
    await service.api.loadFeed(other, owner);
    expect((await fetchOnce(name, owner)).status).toBe('completed');
  });

  it('creates a feed again after one that was not loaded', async () => {
    const name = await store();

    const first = await fetchOnce(name);
    const second = await fetchOnce(name);

    expect([first.status, second.status]).toEqual(['completed', 'completed']);
    expect(second.feed_id).not.toBe(first.feed_id);
  });
});

describe('a fetch fails at once', () => {
  it.each([
    [
      'an HTML page with 200',
      '<!doctype html><title>Log in</title>',
      'not_a_table (html): This is an HTML page',
    ],
    ['JSON', '{"error":"x"}', 'not_a_table (json): This is JSON'],
    ['an empty file', '', 'empty_file: Uploaded file is empty.'],
    [
      'a file without sku',
      'a,b\n1,2\n',
      'missing_columns: Invalid CSV file: Missing required CSV headers: product_name, sku',
    ],
    [
      'a file that is too large',
      `${csv}${'x'.repeat(11_000)}`,
      'file_too_large: Uploaded file exceeds the limit of 10000 bytes.',
    ],
  ])('for %s', async (_what, content, reason) => {
    const name = await store();
    feeds.respond = (_request, response) => void response.end(content);
    const before = await filesBelow(service.dataDir);

    const fetch = await fetchOnce(name);

    expect(fetch).toMatchObject({
      status: 'failed',
      attempts: 1,
      http_status: 200,
      feed_id: null,
      next_attempt_at: null,
    });
    expect(fetch.failure_reason).toContain(reason);
    expect(await getSource(name)).toMatchObject({
      failures_in_a_row: 1,
      state: 'active',
      last_feed_id: null,
    });
    expect(await filesBelow(service.dataDir)).toEqual(before);
  });

  it('for a format that has lost a column since the source named it', async () => {
    await putFormat(service.api, partner, 'shrinking');
    const name = await store({ format: 'shrinking' });
    await putFormat(service.api, partner, 'shrinking', { columns: { sku: { from: ['Nr'] } } });
    feeds.respond = (_request, response) => void response.end('Nr,Name\n1,Tent\n');

    expect(await fetchOnce(name)).toMatchObject({
      status: 'failed',
      attempts: 1,
      http_status: 200,
      failure_reason:
        "validation_error: format: Format should have the column 'product_name', except in mode 'update'.",
    });
  });

  it('for more unpacked bytes than an upload may have', async () => {
    const name = await store();
    feeds.respond = (_request, response) =>
      void response.setHeader('content-encoding', 'gzip').end(gzipSync(csv + 'x'.repeat(5_000_000)));

    expect((await fetchOnce(name)).failure_reason).toMatch(/^file_too_large/);
  });

  it.each([
    [206, 'It must respond with 200 and the whole file.'],
    [401, 'Check the secrets of the source.'],
    [403, 'Check the secrets of the source.'],
    [404, 'Check the URL.'],
  ])('for a permanent HTTP status, with a remedy: %d', async (status, remedy) => {
    const name = await store();
    feeds.respond = (_request, response) => void response.writeHead(status).end();

    expect(await fetchOnce(name)).toMatchObject({
      status: 'failed',
      http_status: status,
      failure_reason: `http_status (${status}): The server responded with ${status}. ${remedy}`,
    });
  });
});

describe('a fetch that is repeated', () => {
  const retried = async (name: string) => {
    const fetch = await fetchOnce(name);
    expect(fetch).toMatchObject({ status: 'queued', attempts: 1, feed_id: null, finished_at: null });
    return { ...fetch, pause: (Date.parse(fetch.next_attempt_at) - Date.parse(fetch.started_at)) / 1000 };
  };

  it('waits as long as a 429 asks for', async () => {
    const name = await store();
    feeds.respond = (_request, response) => void response.writeHead(429, { 'retry-after': '7200' }).end();

    const { failure_reason, pause } = await retried(name);

    expect(failure_reason).toBe('http_status (429): The server responded with 429.');
    expect(pause).toBeGreaterThanOrEqual(7200);
    expect(pause).toBeLessThan(7300);
  });

  it.each<[string, FeedServer['respond']]>([
    [
      'half of the body',
      (_request, response) => {
        response.writeHead(200, { 'content-length': 2 * csv.length });
        response.write(csv, () => response.destroy());
      },
    ],
    [
      'half of a packed body',
      (_request, response) =>
        void response.setHeader('content-encoding', 'gzip').end(gzipSync(csv).subarray(0, -10)),
    ],
    ['a connection that breaks', (_request, response) => void response.destroy()],
    ['a server that is overloaded', (_request, response) => void response.writeHead(503).end()],
  ])('is repeated after %s, and stores nothing', async (_what, respond) => {
    const name = await store();
    feeds.respond = respond;
    const before = await filesBelow(service.dataDir);

    const { pause } = await retried(name);

    expect(pause).toBeGreaterThanOrEqual(60);
    expect(await filesBelow(service.dataDir)).toEqual(before);
    feeds.respond = (_request, response) => void response.end(csv);
    await service
      .db('source_fetches')
      .where('status', 'queued')
      .update({ next_attempt_at: new Date(0) });
    await eventually('the second attempt succeeds', async () => {
      const { body } = await service.api.get(`${sourcePath(partner, name)}/fetches`);
      return body.items[0].status === 'completed' && body.items[0].attempts === 2;
    });
    expect((await getSource(name)).failures_in_a_row).toBe(0);
  });

  it('replaces another requested fetch, which brings it forward', async () => {
    const name = await store();
    feeds.respond = (_request, response) => void response.writeHead(500).end();
    await retried(name);
    feeds.respond = (_request, response) => void response.end(csv);

    const { status, body } = await service.api.post(`${sourcePath(partner, name)}/fetch`);

    expect([status, body.fetch, body.status]).toEqual([202, 1, 'queued']);
    await eventually('it is fetched', async () => (await getSource(name)).last_feed_id !== null);
  });

  it('is aborted when a server stalls', async () => {
    expect(openUrlLimits.idleMilliseconds).toBe(30_000);
    jest.replaceProperty(openUrlLimits, 'idleMilliseconds', 500);
    const name = await store();
    feeds.respond = (_request, response) => void response.write('sku');

    const { failure_reason } = await retried(name);

    expect(failure_reason).toMatch(/^timeout: The server sent less than 1 KiB per second for/);
  });
});

describe('the fifth failed attempt in a row', () => {
  it('makes the source failing, until a fetch succeeds', async () => {
    const name = await store();
    feeds.respond = (_request, response) => void response.writeHead(500).end();
    const path = sourcePath(partner, name);
    await service.api.post(`${path}/fetch`);

    await eventually('there are no more attempts', async () => {
      await service
        .db('source_fetches')
        .where('status', 'queued')
        .update({ next_attempt_at: new Date(0) });
      const { body } = await service.api.get(`${path}/fetches`);
      return body.items[0].status === 'failed';
    });

    const { body } = await service.api.get(`${path}/fetches`);
    expect(body.items[0]).toMatchObject({
      attempts: 5,
      failure_reason: 'http_status (500): The server responded with 500.',
    });
    expect(await getSource(name)).toMatchObject({ state: 'failing', failures_in_a_row: 5 });
    feeds.respond = (_request, response) => void response.end(csv);
    expect((await fetchOnce(name)).status).toBe('completed');
    expect(await getSource(name)).toMatchObject({ state: 'active', failures_in_a_row: 0 });
  });
});

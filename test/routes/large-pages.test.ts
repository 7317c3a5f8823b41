import { attentionReasons } from '../../src/catalog/partners/attention';
import type { Client } from 'pg';
import { startTestService, type TestService } from '../support/service';

/*
 * Lists of the largest rows that the limits allow. A page ends when its items exceed 1 MiB; a response adds names and derived
 * texts. The service receives more if a page of products takes two statements: each has 1 MiB of descriptions and one more, and
 * the other columns of all rows.
 */
const responseBytesMax = 2 * 1024 * 1024;
const receivedBytesMax = 5 * 1024 * 1024;

/** Rows of each list: more than the maximum of a page. */
const rowsCount = 101;

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  const feed = await service.api.uploadFeed('sku,product_name\nA,A\n', 'Large');
  expect(feed).toEqual({ feedId: 'FD00001', submissionJobId: 'JS00001', jobId: 'JV00001' });
  await service.db.raw(largestRowsSql);
});

/** Text of this many characters of four bytes each, with the same length in JSON. */
const text = (characters: number) => `repeat('😀', ${characters})`;
/** Text of this many characters of one byte, which JSON escapes to six. */
const control = (characters: number) => `repeat(chr(1), ${characters})`;

const largestRowsSql = `
  set local partner_catalog.change = 'none';
  insert into products
    (feed_id, partner_id, sku, product_name, description, brand, category, price, currency, availability)
  select 1, 1, lpad(cast(n as text), 5, '0') || ${text(250)}, 'Tent ' || ${text(995)},
    case when n % 3 = 0 then ${control(65_535)} else ${text(65_535)} end, ${text(255)}, ${text(1_000)}, 999999999999.9999, 'EUR', 'in_stock'
  from generate_series(1, ${rowsCount}) as n;

  update catalog_versions set effective_at = now() - interval '1 year' where run_id = 0;
  insert into catalog_versions (run_id, partner_id, effective_at, job_id, run)
  select n, 1, now() - (${rowsCount} - n) * interval '1 hour', 1, n from generate_series(1, ${rowsCount} - 1) as n;
  insert into product_versions (
    partner_id, product_id, until_run_id, run_id, feed_id, sku, product_name, description, brand, category, price, currency,
    availability, created_at, collection
  )
  select partner_id, product_id, n, n - 1, feed_id, sku, product_name, n || substr(description, 6), brand, category, price - n,
    currency, availability, created_at, collection
  from products cross join generate_series(1, ${rowsCount} - 1) as n where product_id = 1;
  update products set run_id = ${rowsCount} - 1 where product_id = 1;

  with new_order as (
    insert into orders (partner_name, customer_reference, currency, total_amount)
    select 'Large', ${text(255)}, 'EUR', 1000 from generate_series(1, ${rowsCount}) returning order_id
  )
  insert into order_items (order_id, product_id, sku, product_name, quantity, unit_price, line_total)
  select order_id, 1, 'TENT-' || n, 'Two-person tent, variant ' || n, 1, 1, 1
  from new_order cross join generate_series(1, 1000) as n;

  insert into feeds (partner_id, filename, content_type, raw_file_bucket, raw_file_object_key, sha256, size_bytes)
  select 1, ${text(2_000)}, 'text/csv', 'local', 'raw/' || ${text(2_000)} || n, sha256(cast(n as text)::bytea), 1
  from generate_series(2, ${rowsCount}) as n;
  insert into validation_jobs
    (feed_id, status, started_at, finished_at, failure_reason, processed, inserted, updated, unchanged, skipped, run_count)
  select feed_id, 'failed', now(), now(), ${text(4_000)}, 1, 0, 0, 0, 1, 1 from feeds where feed_id > 1;

  insert into runs
    (job_id, run, status, mode, requested_by, requested_at, started_at, finished_at, failure_reason, processed, inserted,
     updated, unchanged, skipped)
  select 1, n, 'failed', 'upsert', 'api-keys', now(), now(), now(), ${text(4_000)}, 1, 0, 0, 0, 1
  from generate_series(1, ${rowsCount}) as n;
  insert into row_issues
    (job_id, issue_number, line, last_line, row_number, sku, field, column_number, code, severity, message, value)
  select 1, n, n, n, n, ${text(255)}, 'price', 1, 'invalid_price', 'error', ${text(300)}, ${text(200)}
  from generate_series(1, 10 * ${rowsCount}) as n;

  insert into partner_formats (partner_id, format_name, definition)
  select 1, 'format-' || n, json_build_object(
    'null_values', array(select lpad(cast(m as text), 255, '😀') from generate_series(1, 60) as m),
    'columns', json_build_object('sku', json_build_object('from', array['sku']), 'product_name', json_build_object('from', array['name']))
  )
  from generate_series(1, 100) as n;

  insert into sources (partner_id, source_name, definition)
  select 1, 'source-' || n, json_build_object(
    'url', 'https://example.org/' || repeat('a', 1900), 'format', null, 'mode', 'upsert', 'collection', null,
    'max_withdrawn_percent', null, 'run_after_fetch', true, 'schedule', null, 'headers', (
      select json_object_agg('x-' || m || repeat('h', 90), '********') from generate_series(1, 20) as m
    ), 'basic_auth', null, 'is_enabled', true
  )
  from generate_series(1, 100) as n;
  insert into source_fetches (source_id, fetch_number, status, started_at, finished_at, attempts, failure_reason)
  select source_id, n, 'failed', now(), now(), 1, ${text(1_000)}
  from sources cross join generate_series(1, ${rowsCount}) as n where source_name = 'source-1';

  insert into webhook_endpoints (url, partner_name, secret, failure_reason, failures_in_a_row)
  select 'https://example.org/' || repeat('a', 1980), 'Large', 'secret', ${text(1_000)}, 1
  from generate_series(1, ${rowsCount});
  insert into webhook_outcomes (webhook_endpoint_id, message_id, event_type, happened_at, content, attempts, status, last_result)
  select 1, 'msg_' || md5(cast(n as text)), 'job.completed', now(), json_build_object('x', ${text(10_000)}), 1, 'discarded', ${text(1_000)}
  from generate_series(1, ${rowsCount}) as n;

  insert into partners (partner_name) select lpad(cast(n as text), 200, '😀') from generate_series(1, ${rowsCount}) as n;

  insert into partner_attention (partner_id, reason, severity, since, count)
  select partner_id, reason, severity, now(), 1000000
  from partners, unnest(array['${attentionReasons.join("', '")}']) with ordinality as known (reason, severity)
  where partner_id % 2 = 0;
`;

interface Received {
  body: { items: Record<string, unknown>[]; count: number; next_cursor?: string };
  responseBytes: number;
  receivedBytes: number;
}

/** The number of bytes that the connections of the pool have received. */
function bytesRead(): number {
  type Pool = Record<'used' | 'free', { resource: Client }[]>;
  const { used, free } = (service.pool.client as { pool: Pool }).pool;
  const streams = [...used, ...free].map(
    ({ resource }) =>
      (resource as unknown as { connection: { stream: { bytesRead: number } } }).connection.stream,
  );
  return streams.reduce((sum, stream) => sum + stream.bytesRead, 0);
}

async function receive(path: string): Promise<Received> {
  const before = bytesRead();
  const response = await fetch(service.url + path, { headers: { 'x-api-key': service.api.key! } });
  const content = await response.text();
  expect([path, response.status]).toEqual([path, 200]);
  const receivedBytes = bytesRead() - before;
  return {
    body: JSON.parse(content) as Received['body'],
    responseBytes: Buffer.byteLength(content),
    receivedBytes,
  };
}

/** Each list, with the largest limit, the number of its items, and the identifier of an item. */
const lists: [operation: string, path: string, items: number, id: string][] = [
  ['listProducts', '/products?limit=100&sort_by=product_id&', rowsCount, 'product_id'],
  ['listProducts with the default limit', '/products?sort_by=product_id&', rowsCount, 'product_id'],
  ['listProducts by time', '/products?limit=100&', rowsCount, 'product_id'],
  [
    'listProducts with filters',
    '/products?limit=100&sort_by=product_id&availability=in_stock&',
    rowsCount,
    'product_id',
  ],
  ['listProducts as of a time', '/products?limit=100&partner_name=Large&as_of=NOW&', rowsCount, 'product_id'],
  ['listProductsByFeed', '/products/by-feed/FD00001?limit=100&', rowsCount, 'product_id'],
  ['listProductHistory', '/products/PR00001/history?limit=100&', rowsCount, 'valid_from'],
  ['listOrders', '/orders?limit=100&', rowsCount, 'order_id'],
  ['listFeeds', '/feeds?limit=100&', rowsCount, 'feed_id'],
  ['listJobRuns', '/jobs/JV00001/runs?limit=100&', rowsCount, 'run'],
  ['listJobIssues', '/jobs/JV00001/issues?limit=1000&', 10 * rowsCount, 'line'],
  ['listFormats', '/formats?limit=100&partner_name=Large&', 100, 'format_name'],
  ['listSources', '/sources?limit=100&', 100, 'source_name'],
  ['listSourceFetches', '/partners/Large/sources/source-1/fetches?limit=100&', rowsCount, 'fetch'],
  ['listWebhooks', '/webhooks?limit=100&', rowsCount, 'webhook_id'],
  ['listWebhookDeliveries', '/webhooks/1/deliveries?limit=100&', rowsCount, 'message_id'],
  ['listPartners', '/partners?limit=100&', rowsCount + 1, 'partner_name'],
  ['listPartners by attention', '/partners?limit=100&sort_by=attention&', rowsCount + 1, 'partner_name'],
];

describe('lists of the largest rows', () => {
  it.each(lists)(
    '%s has pages of bounded size, and each item exactly once',
    async (_operation, path, items, id) => {
      const now = new Date().toISOString();
      const seen: unknown[] = [];
      const largest = { responseBytes: 0, receivedBytes: 0 };
      let cursor: string | undefined;
      do {
        const next = cursor === undefined ? '' : `cursor=${encodeURIComponent(cursor)}`;
        const { body, responseBytes, receivedBytes } = await receive(path.replace('NOW', now) + next);
        expect(body.count).toBe(body.items.length);
        // A cursor that repeats fails here.
        expect(body.count).toBeGreaterThan(0);
        seen.push(...body.items.map((item) => item[id]));
        expect(seen.length).toBeLessThanOrEqual(items);
        largest.responseBytes = Math.max(largest.responseBytes, responseBytes);
        largest.receivedBytes = Math.max(largest.receivedBytes, receivedBytes);
        cursor = body.next_cursor;
      } while (cursor !== undefined);
      if (process.env.SHOW_PAGES) process.stdout.write(`${_operation} ${JSON.stringify(largest)}\n`);
      expect(new Set(seen).size).toBe(items);
      expect(largest.responseBytes).toBeLessThan(responseBytesMax);
      expect(largest.receivedBytes).toBeLessThan(receivedBytesMax);
    },
  );

  it.each([
    '/products/facets?field=category',
    '/products/PR00001/prices?days=365',
    '/products/PR00001',
    '/jobs/JV00001',
    '/queue',
  ])('%s is of bounded size', async (path) => {
    const { responseBytes, receivedBytes } = await receive(path);

    if (process.env.SHOW_PAGES) process.stdout.write(`${path} ${responseBytes} ${receivedBytes}\n`);
    expect(responseBytes).toBeLessThan(responseBytesMax);
    expect(receivedBytes).toBeLessThan(receivedBytesMax);
  });

  it('downloadPartnerProducts reads its products in batches of bounded size', async () => {
    let statements = 0;
    const count = ({ sql }: { sql: string }) => (statements += sql.includes('trim_scale(price)') ? 1 : 0);
    service.pool.on('query', count);
    const response = await fetch(`${service.url}/partners/Large/products.csv`, {
      headers: { 'x-api-key': service.api.key! },
    });
    const length = (await response.arrayBuffer()).byteLength;
    service.pool.off('query', count);

    expect(response.status).toBe(200);
    expect(statements).toBeGreaterThan(length / receivedBytesMax);
  });
});

/** Actions of the clients of the load test, and the accepted responses. */
import { randomUUID } from 'node:crypto';

/** One client's state, and the shared tally. */
export interface Load {
  url: string;
  key: string;
  tally: Tally;
}

/** Responses and violations of all clients, and the expected content of the database. */
export class Tally {
  /** By operation and status. */
  readonly answers = new Map<string, number>();
  readonly violations: string[] = [];
  productIds: string[] = [];
  jobIds: string[] = [];
  feedsAccepted = 0;
  ordersCreated = 0;

  count(operation: string, status: number | string): void {
    const name = `${operation} ${status}`;
    this.answers.set(name, (this.answers.get(name) ?? 0) + 1);
  }

  violate(text: string): void {
    this.violations.push(text);
  }
}

interface Answer {
  status: number;
  text: string;
  /** Whether the response is marked as a replay. */
  isReplay: boolean;
}

const busy = [503];

async function send(
  load: Load,
  operation: string,
  path: string,
  expected: number[],
  init: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> } = {},
): Promise<Answer> {
  const headers = { 'x-api-key': load.key, ...init.headers };
  const response = await fetch(load.url + path, { ...init, headers });
  const text = await response.text();
  load.tally.count(operation, response.status);
  if (![...expected, ...busy].includes(response.status)) {
    load.tally.violate(`${operation} ${path}: ${response.status} ${text.slice(0, 200)}`);
  }
  if (busy.includes(response.status) && !response.headers.has('retry-after')) {
    load.tally.violate(`${operation}: ${response.status} without Retry-After`);
  }
  const isReplay = response.headers.get('idempotent-replayed') === 'true';
  return { status: response.status, text, isReplay };
}

const pick = <T>(from: readonly T[]): T | undefined => from[Math.floor(Math.random() * from.length)];
const below = (end: number) => Math.floor(Math.random() * end);

const partners = Array.from({ length: 20 }, (_, number) => `Partner ${number + 1}`);

function feedOf(rows: number): string {
  const lines = ['sku,product_name,description,brand,category,price,currency,availability'];
  for (let row = 0; row < rows; row++) {
    const price = row % 50 === 0 ? 'NA' : `${1 + below(1000)}.90`;
    lines.push(
      `SKU-${row},Product ${row},"Steel, oak",Brand ${row % 9},Category ${row % 7},${price},EUR,in stock`,
    );
  }
  return `${lines.join('\n')}\n`;
}

/** A feed of about 23 MB whose rows have 40 unknown columns and a long description. */
function wideFeedOf(rows: number): string {
  const own = Array.from({ length: 40 }, (_, column) => `own_${column}`);
  const values = own.map((name) => `${name} of this product`.repeat(8));
  const lines = [`sku,product_name,price,currency,description,${own.join(',')}`];
  const description = 'Oak, oiled. '.repeat(400);
  for (let row = 0; row < rows; row++) {
    const price = row % 50 === 0 ? 'NA' : `${1 + below(1000)}.90`;
    lines.push(`WIDE-${row},Product ${row},${price},EUR,"${description}",${values.join(',')}`);
  }
  return `${lines.join('\n')}\n`;
}

function formOf(csv: string): FormData {
  const form = new FormData();
  form.set('partner_name', pick(partners)!);
  form.set('file', new Blob([csv], { type: 'text/csv' }), 'feed.csv');
  return form;
}

async function loadFeed(load: Load, rows: number, csv = feedOf(rows)): Promise<void> {
  const { tally } = load;
  const body = formOf(csv);
  // 408: evicted in favor of a partner without an upload in progress.
  const upload = await send(load, 'uploadFeed', '/feeds/upload', [201, 408], { method: 'POST', body });
  if (upload.status !== 201) return;
  tally.feedsAccepted++;
  const { validation_job_id: jobId } = JSON.parse(upload.text) as { validation_job_id: string };
  const run = await send(load, 'runJob', `/jobs/${jobId}/run`, [200], { method: 'POST' });
  if (run.status !== 200) return;
  const { status, summary } = JSON.parse(run.text) as { status: string; summary: Record<string, number> };
  const bad = Math.ceil(rows / 50);
  if (status !== 'completed' || summary.processed !== rows || summary.skipped !== bad) {
    tally.violate(`runJob ${jobId} of ${rows} rows: ${run.text}`);
  }
  tally.jobIds = [...tally.jobIds.slice(-200), jobId];
}

async function order(load: Load): Promise<void> {
  const productId = pick(load.tally.productIds);
  if (productId === undefined) return;
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': randomUUID() },
    body: JSON.stringify({
      partner_name: pick(partners),
      items: [{ product_id: productId, quantity: 1 + below(5) }],
    }),
  };
  const first = await send(load, 'createOrder', '/orders', [201], init);
  if (first.status !== 201) return;
  load.tally.ordersCreated++;
  if (below(4) > 0) return;
  const again = await send(load, 'createOrder again', '/orders', [201], init);
  const isReplay = again.isReplay && again.text === first.text;
  if (again.status === 201 && !isReplay)
    load.tally.violate(`a repeated order was not replayed: ${again.text}`);
}

async function listProducts(load: Load): Promise<void> {
  const query = pick([
    `?limit=${1 + below(100)}`,
    `?partner_name=${encodeURIComponent(pick(partners)!)}`,
    '?sort_by=product_id&order=asc&limit=50',
    '?sort_by=price&order=desc',
    `?brand=Brand%20${below(9)}&availability=in_stock`,
    `?sku=SKU-${below(500)}`,
  ])!;
  const answer = await send(load, 'listProducts', `/products${query}`, [200]);
  if (answer.status !== 200) return;
  const ids = (JSON.parse(answer.text) as { items: { product_id: string; price?: number }[] }).items
    .filter(({ price }) => price !== undefined)
    .map(({ product_id }) => product_id);
  load.tally.productIds = [...load.tally.productIds.slice(-1000), ...ids];
}

async function disconnectDuringUpload(load: Load): Promise<void> {
  const leaving = new AbortController();
  async function* body(): AsyncGenerator<Buffer> {
    yield Buffer.from(
      '--b\r\ncontent-disposition: form-data; name="partner_name"\r\n\r\nLeaver\r\n--b\r\n' +
        'content-disposition: form-data; name="file"; filename="feed.csv"\r\n\r\nsku,product_name\n',
    );
    for (let chunk = 0; chunk < 1 + below(5); chunk++) yield Buffer.from('A,A\n'.repeat(10_000));
    await new Promise((resolve) => setTimeout(resolve, below(50)));
    leaving.abort();
  }
  try {
    await fetch(`${load.url}/feeds/upload`, {
      method: 'POST',
      headers: { 'x-api-key': load.key, 'content-type': 'multipart/form-data; boundary=b' },
      body: body(),
      duplex: 'half',
      signal: leaving.signal,
    });
  } catch {
    load.tally.count('uploadFeed', 'left');
  }
}

const jobAction =
  (operation: string, suffix: string, method = 'GET') =>
  async (load: Load): Promise<void> => {
    const jobId = pick(load.tally.jobIds);
    if (jobId !== undefined) await send(load, operation, `/jobs/${jobId}${suffix}`, [200, 409], { method });
  };

/** Requests that an open console repeats, and views that a person opens meanwhile. */
async function pollAsConsole(load: Load): Promise<void> {
  await send(load, 'getQueue', '/queue', [200]);
  await send(load, 'listFeeds', '/feeds?limit=20', [200]);
  await send(load, 'listPartners', '/partners?limit=20', [200]);
  const jobId = pick(load.tally.jobIds);
  if (jobId !== undefined) {
    await send(load, 'listJobRuns', `/jobs/${jobId}/runs`, [200]);
    await send(load, 'listRunChanges', `/jobs/${jobId}/changes?run=1&limit=50`, [200]);
  }
  const productId = pick(load.tally.productIds);
  if (productId !== undefined) {
    await send(load, 'listProductHistory', `/products/${productId}/history`, [200]);
    await send(load, 'getProductPrices', `/products/${productId}/prices`, [200]);
  }
}

const read = (operation: string, path: string, expected: number[], headers: Record<string, string> = {}) => {
  return async (load: Load): Promise<unknown> => send(load, operation, path, expected, { headers });
};

/** Actions with their relative frequency. */
export const actions: [weight: number, action: (load: Load) => Promise<unknown>][] = [
  [30, listProducts],
  [
    10,
    async (load) =>
      read('getProduct', `/products/${pick(load.tally.productIds) ?? 'PR99999'}`, [200, 404])(load),
  ],
  [20, order],
  [5, read('listOrders', '/orders?limit=20', [200])],
  [2, read('getSalesByPartner', '/analytics/sales-by-partner', [200])],
  [1, read('getSalesOverTime', '/analytics/sales-over-time?grain=monthly', [200])],
  [1, read('getRevenueShare', '/analytics/revenue-share', [200])],
  [1, read('getSalesByProduct', '/analytics/sales-by-product', [200])],
  [4, (load) => loadFeed(load, 50 + below(450))],
  [0.1, (load) => loadFeed(load, 20_000)],
  [0.1, (load) => loadFeed(load, 2_000, wideFeedOf(2_000))],
  [5, pollAsConsole],
  [
    2,
    (load) =>
      send(load, 'inspectFeed', '/feeds/inspect', [200], {
        method: 'POST',
        body: formOf(feedOf(100)),
      }),
  ],
  [1, jobAction('planJob', '/plan', 'POST')],
  // A job whose run is in progress has no download.
  [2, jobAction('runJob again', '/run', 'POST')],
  [3, jobAction('getJob', '')],
  [3, jobAction('listJobIssues', '/issues?limit=10')],
  [2, jobAction('downloadJobRejects', '/rejects.csv')],
  [3, disconnectDuringUpload],
  [5, read('getHealth', '/health', [200])],
  [2, read('listProducts', '/products', [401], { 'x-api-key': 'wrong' })],
  [1, read('unknown route', '/nowhere', [404])],
  [1, read('listProducts', '/products?limit=0', [422])],
  [
    1,
    (load) =>
      send(load, 'createOrder', '/orders', [400], {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{',
      }),
  ],
];

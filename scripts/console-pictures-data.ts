import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { styled, workbookFile } from '../test/support/workbooks';
import { connectTo } from './service-process';

export const key = 'key-of-the-pictures';

const nouns = ['Two-person tent', 'Head lamp', 'Gas stove', 'Sleeping mat', 'Backpack 40 l', 'Sleeping bag'];
const titles = 'sku,product_name,brand,category,price,currency,availability';

/** A feed of a partner. */
interface Feed {
  rows: number;
  /** Rows whose price is not a number. */
  broken?: number;
  /** Factor of the prices. */
  factor?: number;
}

function contentOf(partner: string, { rows, broken = 0, factor = 1 }: Feed): string {
  const lines = Array.from({ length: rows }, (_, at) => {
    const noun = nouns[at % nouns.length]!;
    const price = at < broken ? 'on request' : ((20 + at * 1.1) * factor).toFixed(at % 3 ? 2 : 1);
    const brand = ['Northwind', 'Southpeak'][at % 2];
    const availability = at % 5 === 0 ? 'out of stock' : 'in stock';
    return `${partner.slice(0, 3).toUpperCase()}-${100 + at},${noun} ${at},${brand},Camping/${noun},${price},EUR,${availability}`;
  });
  return [titles, ...lines].join('\n');
}

/** The feeds of each partner, oldest first: some partners need attention after the last one. */
const partners: [name: string, file: string, feeds: Feed[]][] = [
  [
    'Acme Outdoor',
    'products.csv',
    [{ rows: 40 }, { rows: 50, broken: 3 }, { rows: 60, broken: 1 }, { rows: 70, factor: 1.07 }],
  ],
  [
    'Birch & Sons',
    'birch-export.csv',
    [
      { rows: 60, broken: 2 },
      { rows: 60, broken: 6 },
      { rows: 70, broken: 22 },
    ],
  ],
  ['Cedar Supplies', 'cedar.csv', [{ rows: 40 }, { rows: 40 }, { rows: 41, factor: 0.98 }]],
  ['Dune Trading', 'dune-daily.csv', [{ rows: 80 }, { rows: 80, factor: 100 }]],
  ['Elm Sports', 'elm.csv', [{ rows: 40 }, { rows: 9 }]],
  ['Fjord Gear', 'fjord.csv', [{ rows: 50, broken: 1 }, { rows: 52 }]],
];

/** Loads feeds of several partners over weeks, with orders, webhooks and sources. */
export async function fill(url: string, dataDir: string): Promise<void> {
  for (const [partner, file, feeds] of partners)
    for (const feed of feeds) await run(url, await upload(url, partner, file, contentOf(partner, feed)));
  await upload(url, 'Gale Boats', 'gale.csv', contentOf('Gale Boats', { rows: 12 }));
  await addSources(url);
  const database = await connectTo(dataDir);
  try {
    for (const statement of [earlierSql, ordersSql, webhooksSql]) await database.query(statement);
  } finally {
    await database.end();
  }
}

/** Requests runs, which stay queued without a worker. */
export async function leaveWaiting(url: string, dataDir: string): Promise<void> {
  for (const partner of ['Birch & Sons', 'Birch & Sons', 'Cedar Supplies'])
    await run(url, await upload(url, partner, 'tuesday.csv', contentOf(partner, { rows: 30 })), {
      prefer: 'respond-async',
    });
  const database = await connectTo(dataDir);
  await database.query(
    "update runs set requested_at = now() - interval '4 minutes' where status in ('queued', 'running')",
  );
  await database.end();
}

async function upload(url: string, partner: string, file: string, content: string): Promise<string> {
  const form = new FormData();
  form.append('partner_name', partner);
  form.append('file', new Blob([content], { type: 'text/csv' }), file);
  return (await send<{ validation_job_id: string }>(url, 'POST', '/feeds/upload', form)).validation_job_id;
}

const run = (url: string, job: string, headers?: Record<string, string>) =>
  send(url, 'POST', `/jobs/${job}/run`, undefined, headers);

/** Sends a request to the service. @throws Error for a refusal */
export async function send<Body>(
  url: string,
  method: string,
  path: string,
  body?: FormData | string,
  headers: Record<string, string> = {},
): Promise<Body> {
  const isJson = typeof body === 'string';
  const response = await fetch(url + path, {
    method,
    body,
    headers: { 'x-api-key': key, ...(isJson && { 'content-type': 'application/json' }), ...headers },
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
  return (await response.json()) as Body;
}

/** Adds a source that works and one that fails, and fetches both. */
async function addSources(url: string): Promise<void> {
  const server = createServer((request, response) => {
    response.statusCode = request.url === '/export.csv' ? 200 : 404;
    response.end(contentOf('Cedar Supplies', { rows: 42, broken: 2 }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const schedule = { cron: '30 5 * * mon-fri', time_zone: 'Europe/Berlin' };
  for (const [partner, source, file] of [
    ['Cedar Supplies', 'shop-export', 'export.csv'],
    ['Fjord Gear', 'nightly', 'gone.csv'],
  ] as const) {
    const path = `/partners/${encodeURIComponent(partner)}/sources/${source}`;
    const definition = { url: `http://127.0.0.1:${port}/${file}`, run_after_fetch: false, schedule };
    await send(url, 'PUT', path, JSON.stringify(definition));
    await send(url, 'POST', `${path}/fetch`);
    await untilFetched(url, path);
  }
  server.closeAllConnections();
  server.close();
}

async function untilFetched(url: string, path: string): Promise<void> {
  for (let attempt = 0; attempt < 60; attempt++) {
    const { items } = await send<{ items: { attempts: number; status: string }[] }>(
      url,
      'GET',
      `${path}/fetches?limit=1`,
    );
    if (items[0] && items[0].attempts > 0 && items[0].status !== 'running') return;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

/** Moves the earlier feeds of a partner to the weeks before. */
const earlierSql = `
  create temporary table moved as
    select feed_id, (row_number() over (partition by partner_id order by feed_id desc) - 1) * interval '5 days 3 hours' as ago from feeds;
  update feeds set uploaded_at = uploaded_at - ago, last_completed_at = last_completed_at - ago from moved where moved.feed_id = feeds.feed_id;
  update runs set requested_at = runs.requested_at - ago, started_at = runs.started_at - ago, finished_at = runs.finished_at - ago
    from validation_jobs join moved using (feed_id) where validation_jobs.job_id = runs.job_id;
`;

const ordersSql = `
  with orderable as (
    select row_number() over (order by product_id) - 1 as at, count(*) over () as products, product_id, partner_name, sku, product_name, price, currency
    from products join partners using (partner_id)
    where price < 500 and currency is not null and withdrawn_at is null and availability is distinct from 'out_of_stock'),
  placed as (
    insert into orders (partner_name, customer_reference, currency, total_amount, created_at)
    select partner_name, 'Order ' || 1000 + n, currency, price * (1 + n % 3), now() - (400 - n) * interval '3 hours 40 minutes'
    from generate_series(1, 400) as n join orderable on at = n * n % products order by n
    returning order_id, substring(customer_reference from 7)::integer - 1000 as n)
  insert into order_items (order_id, product_id, sku, product_name, quantity, unit_price, line_total)
  select order_id, product_id, sku, product_name, 1 + n % 3, price, price * (1 + n % 3) from placed join orderable on at = n * n % products;
`;

const webhooksSql = `
  insert into webhook_endpoints (url, partner_name, webhook_name, event_types, secret, sealed_secret, failures_in_a_row, failed_at, failure_reason, paused_until, disabled_at, disabled_reason, given_up) values
    ('https://acme.example.org/events', 'Acme Outdoor', 'job-events', array['job.completed', 'job.failed'], null, '\\x00', 0, now() - interval '3 hours', 'HTTP 500', null, null, null, 2),
    ('https://birch.example.org/hooks/catalog', 'Birch & Sons', 'shop', null, null, '\\x00', 0, null, null, now() + interval '3 hours', null, null, 0),
    ('https://shop.example.org/orders', null, null, array['order.created'], 'none', null, 3, now(), 'HTTP 503', null, null, null, 0),
    ('https://old.example.org/events', 'Fjord Gear', 'old', null, null, '\\x00', 9, now() - interval '6 days', 'HTTP 410', null, now() - interval '5 days', 'The receiver has responded with 410', 14);
  insert into webhook_outcomes (webhook_endpoint_id, message_id, event_type, happened_at, content, attempts, status, last_result, finished_at)
  select 1, 'msg_' || md5(n::text), (array['job.completed', 'job.failed'])[1 + n % 2], now() - n * interval '5 hours', '{}',
    1 + n % 3, (array['delivered', 'delivered', 'delivered', 'discarded'])[1 + n % 4], (array['HTTP 204', 'HTTP 200', 'HTTP 204', 'HTTP 500'])[1 + n % 4],
    now() - n * interval '5 hours'
  from generate_series(1, 12) as n;
`;

const header = 'Artikelnr;Bezeichnung;Marke;Kategorie;UVP;Preis;Währung;Bestand\n';

/** Makes a feed of a shop for outdoor goods. @param price - of its first product @param broken - rows with a mistake */
export function feedOf(price: string, broken: number): string {
  const names = [
    'Zweimannzelt',
    'Stirnlampe',
    'Gaskocher',
    'Isomatte',
    'Rucksack 40 l',
    'Schlafsack',
    'Trinkflasche',
  ];
  const row = (name: string, at: number) =>
    `NW-${100 + at};${name};Nordwind;Camping;${99 + at},00;${at === 0 ? price : `${49 + at},90`};EUR;auf Lager`;
  const wrong = [
    'NW-201;Kartenhülle;Nordwind;Camping;12,00;auf Anfrage;EUR;auf Lager',
    'NW-202;;Nordwind;Camping;9,00;7,50;EUR;auf Lager',
  ];
  return header + [...names.map(row), ...wrong.slice(0, broken)].join('\n');
}

/** Makes a price list with titles, skus with leading zeros, and prices with a sign. */
export function priceList(): Buffer {
  const names = ['Zweimannzelt', 'Stirnlampe', 'Gaskocher', 'Isomatte', 'Rucksack 40 l', 'Schlafsack'];
  const row = (name: string, at: number) => [
    styled(1, 123 + at),
    name,
    'Bergwind',
    'Camping',
    styled(2, 189.9 - 20 * at),
    'auf Lager',
  ];
  return workbookFile({
    formats: ['00000', '#,##0.00 [$€-407]'],
    sheets: [
      {
        name: 'Artikel',
        rows: [
          ['Preisliste 2026'],
          ['gültig ab 1. November'],
          ['Artikelnr', 'Bezeichnung', 'Marke', 'Kategorie', 'Preis', 'Verfügbarkeit'],
          ...names.map(row),
        ],
      },
      { name: 'Hinweise', rows: [['Preise ohne Versand']] },
      { name: 'Alt', rows: [['Artikelnr'], ['00123']], state: 'hidden' },
    ],
  });
}

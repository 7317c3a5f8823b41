/**
 * Takes the pictures of docs/how-to/use-the-console.md: the steps of a partner, and of the operator of all partners. Starts its own
 * service, data and browser. With a folder as argument, writes every view in three widths there.
 */
import { mkdtempSync, rmSync, chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { launchChromium } from './chromium';
import { styled, workbookFile } from '../test/support/workbooks';
import { connectTo, startServiceProcess } from './service-process';

const key = 'key-of-the-pictures';
const reviewFolder = process.argv[2];
const isForReview = reviewFolder !== undefined;
const folder = reviewFolder ?? join(__dirname, '..', 'docs', 'pictures');
const header = 'Artikelnr;Bezeichnung;Marke;Kategorie;UVP;Preis;Währung;Bestand\n';

/** Makes a feed of a shop for outdoor goods. @param price - of its first product @param broken - rows with a mistake */
function feedOf(price: string, broken: number): string {
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
function priceList(): Buffer {
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

async function main(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'console-pictures-'));
  chmodSync(dataDir, 0o755);
  const browser = await launchChromium();
  try {
    await withService(dataDir, {}, async (url) => {
      await fill(url);
      await inEachWidth(browser, async (page, take) => {
        await partnersWalk(page, url, take);
        await excelWalk(page, url, take);
      });
    });
    // Without a worker, requested runs stay queued.
    await withService(dataDir, { QUEUE_WORKER: 'off' }, async (url) => {
      await leaveWaiting(url, dataDir);
      await inEachWidth(browser, (page, take) => operatorsWalk(page, url, take));
    });
  } finally {
    await browser.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function withService(
  dataDir: string,
  settings: Record<string, string>,
  work: (url: string) => Promise<void>,
): Promise<void> {
  const service = await startServiceProcess(dataDir, { API_KEYS: key, ...settings });
  try {
    await work(service.url);
  } finally {
    await service.stop();
  }
}

async function inEachWidth(browser: Browser, walk: (page: Page, take: Take) => Promise<void>): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const width of isForReview ? [1440, 1024, 390] : [1280]) {
    const context = await browser.newContext({ viewport: { width, height: width < 500 ? 844 : 800 } });
    const page = await context.newPage();
    await page.addInitScript(`sessionStorage.setItem('api-key', '${key}')`);
    await walk(page, (name) =>
      takePicture(page, join(folder, isForReview ? `${name}-${width}.png` : `${name}.webp`)),
    );
    await context.close();
  }
}

type Take = (name: string) => Promise<void>;

/** From a file to zero issues. */
async function partnersWalk(page: Page, url: string, take: Take): Promise<void> {
  await page.goto(`${url}/console/send`);
  await page
    .getByLabel('Partner', { exact: true })
    .fill(isForReview ? `Nordwind ${page.viewportSize()!.width}` : 'Nordwind');
  await take('partner-1-send');
  const buffer = Buffer.from(feedOf('189,90', 2));
  await page.setInputFiles('input[type=file]', { name: 'artikel.csv', mimeType: 'text/csv', buffer });
  await page.getByRole('combobox', { name: 'Price' }).selectOption('UVP');
  await page.getByRole('region', { name: 'First rows as products' }).getByText('99.00').first().waitFor();
  await page.getByRole('combobox', { name: 'Price' }).selectOption('Preis');
  await page.getByRole('region', { name: 'First rows as products' }).getByText('189.90').waitFor();
  await take('partner-2-check');
  await page.getByRole('button', { name: 'Store the file and preview' }).click();
  await page.getByRole('region', { name: 'Preview of the run' }).waitFor();
  await take('partner-3-preview');
  await page.getByRole('button', { name: 'Run now' }).click();
  await page.getByText('The run is complete').waitFor();
  await take('partner-4-run');
  await page.getByRole('link', { name: 'See why, and mend them' }).click();
  await page.locator('.cell.marked').first().waitFor();
  await take('partner-5-issues');
}

/** From a workbook to its products. */
async function excelWalk(page: Page, url: string, take: Take): Promise<void> {
  await page.goto(`${url}/console/send`);
  await page
    .getByLabel('Partner', { exact: true })
    .fill(isForReview ? `Bergwind ${page.viewportSize()!.width}` : 'Bergwind');
  const file = { name: 'Preisliste 2026.xlsx', mimeType: '', buffer: priceList() };
  await page.setInputFiles('input[type=file]', file);
  await page.getByRole('button', { name: /^Artikel/ }).click();
  await page.getByRole('region', { name: 'First rows of the sheet' }).waitFor();
  await take('excel-1-sheet');
  await page.getByRole('button', { name: 'Check this sheet' }).click();
  await page.getByRole('region', { name: 'First rows as products' }).getByText('189.9').first().waitFor();
  await take('excel-2-check');
  await page.getByRole('button', { name: 'Store the file and preview' }).click();
  await page.getByRole('region', { name: 'Preview of the run' }).waitFor();
  await take('excel-3-preview');
  await page.getByRole('button', { name: 'Run now' }).click();
  await page.getByText('The run is complete').waitFor();
  await take('excel-4-run');
}

/** Partners at a glance, and the views of the operator. */
async function operatorsWalk(page: Page, url: string, take: Take): Promise<void> {
  const views: [name: string, path: string, shown: string][] = [
    ['operator-1-overview', '/', 'tbody tr'],
    ['operator-2-partner', '/partners/Acme%20Outdoor', '.chart canvas'],
    ['operator-3-catalog', '/catalog', '.facet'],
    ['operator-4-queue', '/queue', 'tbody tr'],
    ['operator-5-webhook', '/webhooks/1', '.badge'],
  ];
  const others: typeof views = [
    ['webhooks', '/webhooks', 'tbody tr'],
    ['sales', '/sales', 'main .card'],
    ['orders', '/orders', 'main .card p'],
    ['feeds', '/feeds', 'tbody tr'],
    ['partners', '/partners', 'tbody tr'],
    ['product', '/products/PR00001', '.time-line li'],
  ];
  for (const [name, path, shown] of isForReview ? [...views, ...others] : views) {
    await page.goto(`${url}/console${path}`);
    await page.locator(shown).first().waitFor();
    await page.getByText('Loading…').first().waitFor({ state: 'detached' });
    await take(name);
  }
}

/** Writes the visible part of the page; for a review, the whole page. */
async function takePicture(page: Page, file: string): Promise<void> {
  await page.waitForLoadState('networkidle');
  if (isForReview) {
    await page.screenshot({ path: file, fullPage: true });
    return;
  }
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 80 });
  writeFileSync(file, Buffer.from(data, 'base64'));
  await session.detach();
}

/** Loads feeds of some partners, each with mistakes in some rows. */
async function fill(url: string): Promise<void> {
  for (const [partner, broken] of [
    ['Acme Outdoor', [0, 3, 1, 0]],
    ['Birch & Sons', [2, 2, 6, 9]],
    ['Cedar Supplies', [0, 0, 0, 0]],
  ] as const)
    for (const [round, count] of broken.entries())
      await post(url, `/jobs/${await upload(url, partner, round, count)}/run`);
}

/** Requests runs that stay queued, and creates webhooks with deliveries. */
async function leaveWaiting(url: string, dataDir: string): Promise<void> {
  for (const partner of ['Birch & Sons', 'Birch & Sons', 'Cedar Supplies'])
    await post(url, `/jobs/${await upload(url, partner, 4, 0)}/run`, undefined, { prefer: 'respond-async' });
  const database = await connectTo(dataDir);
  await database.query(
    "update runs set requested_at = now() - interval '4 minutes' where status in ('queued', 'running')",
  );
  await database.query(webhooksSql);
  await database.end();
}

async function upload(url: string, partner: string, round: number, broken: number): Promise<string> {
  const names = ['Tent', 'Lamp', 'Stove', 'Mat'];
  const row = (at: number) =>
    `${partner.slice(0, 2)}-${at},${names[at % 4]} ${at},${['North', 'South'][at % 2]},Camping,${at < broken ? 'x' : 20 + round + at},EUR,in stock`;
  const rows = Array.from({ length: 40 + 10 * round }, (_, at) => row(at));
  const form = new FormData();
  form.append('partner_name', partner);
  const csv = ['sku,product_name,brand,category,price,currency,availability', ...rows].join('\n');
  form.append('file', new Blob([csv], { type: 'text/csv' }), 'products.csv');
  return (await post(url, '/feeds/upload', form)).validation_job_id;
}

async function post(url: string, path: string, body?: FormData, headers: Record<string, string> = {}) {
  const response = await fetch(url + path, {
    method: 'POST',
    body,
    headers: { 'x-api-key': key, ...headers },
  });
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  return (await response.json()) as { validation_job_id: string };
}

const webhooksSql = `
  insert into webhook_endpoints (url, partner_name, event_types, secret, failures_in_a_row, failed_at, failure_reason) values
    ('https://acme.example.org/events', 'Acme Outdoor', null, 'none', 0, null, null),
    ('https://shop.example.org/orders', null, array['order.created'], 'none', 3, now(), 'HTTP 503');
  insert into webhook_outcomes (webhook_endpoint_id, message_id, event_type, happened_at, content, attempts, status, last_result)
  select 1, 'msg_' || md5(n::text), (array['job.completed', 'job.failed'])[1 + n % 2], now() - n * interval '1 hour', '{}',
    1 + n % 3, (array['delivered', 'delivered', 'delivered', 'discarded'])[1 + n % 4], (array['HTTP 204', 'HTTP 200', 'HTTP 204', 'HTTP 500'])[1 + n % 4]
  from generate_series(1, 12) as n;
`;

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});

import type { Browser, Page } from 'playwright-core';
import { launchChromium } from '../chromium';
import { median } from '../service-process';
import { fillCatalog } from './catalog-data';
import { feedForm, runExpecting, uploadFeed } from './feed-requests';
import { quantile, timeGet } from './measure';
import { untilIndexed } from './neighbors';
import type { BenchContext, Measurement } from './report';
import { apiKey, withService, type Service } from './servers';

const leastRounds = 5;
/** Debounce of the search field of the console. */
const pauseMilliseconds = 250;
const scrolledRows = 200;

/** Limits of a person's patience: a view appears at once, or within a second. */
const within = (value: number) => ({ target: { kind: 'at most', value } as const });

const patienceMilliseconds = 30_000;

/** Conditions, as expressions evaluated in a page. */
const shown = {
  rows: (least: number) => `document.querySelectorAll('tbody tr').length >= ${least}`,
  /** Rows of a table that is newer than the marked one. */
  newRows: `document.querySelector('tbody:not([data-old]) tr') !== null`,
};

/** Waits for a condition, checked each frame. @returns milliseconds since the navigation of the page */
const untilShown = (page: Page, fact: string) =>
  page.evaluate<number>(`new Promise((resolve, reject) => {
    const look = () => {
      if (${fact}) resolve(performance.now());
      else if (performance.now() > ${patienceMilliseconds}) reject(new Error('not shown: ' + ${JSON.stringify(fact)}));
      else requestAnimationFrame(look);
    };
    look();
  })`);

/** Measures the console in Chromium: bytes of the first view, time until the rows are visible, and scrolling. */
export async function measureConsole(context: BenchContext): Promise<Measurement[]> {
  const { quick, folder, log } = context;
  const rounds = Math.max(context.rounds, leastRounds);
  const products = context.products ?? (quick ? 100_000 : 1_000_000);
  const browser = await launchChromium();
  const measure = async ({ url, database }: Service) => {
    await fillCatalog(products, (sql) => database.query(sql));
    await untilIndexed(database);
    // The overview lists partners that need attention, here for skipped rows.
    const csv = `sku,product_name\nA-1,Tent\n${'A-2,\n'.repeat(9)}`;
    const form = feedForm('One product', new Blob([csv], { type: 'text/csv' }));
    await runExpecting(url, (await uploadFeed(url, form)).jobId);
    log(`${products.toLocaleString('en')} products`);
    const brotli = await receivedBy(browser, url, 'br');
    const gzip = await receivedBy(browser, url, 'gzip');
    const values: Record<string, number[]> = {};
    for (let round = 0; round < rounds; round++) {
      const measured = await measureRound(browser, url, round);
      for (const [name, value] of Object.entries(measured)) (values[name] ??= []).push(value);
    }
    for (const [name, each] of Object.entries(values)) log(`${name}: ${median(each).toFixed(1)}`);
    return [
      ...describe(values, `${products.toLocaleString('en')} products`),
      measurement(
        'first view: page, scripts and styles, as sent, Brotli',
        'kB',
        [brotli.bytes / 1000],
        within(200),
      ),
      measurement(
        'first view: page, scripts and styles, as sent, gzip',
        'kB',
        [gzip.bytes / 1000],
        within(200),
      ),
      measurement('first view: requests', 'requests', [brotli.requests]),
    ];
  };
  try {
    return await withService(folder, measure);
  } finally {
    await browser.close();
  }
}

async function measureRound(browser: Browser, url: string, round: number): Promise<Record<string, number>> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  const emptyFrames = await framesOf(page, 60, '');
  await page.addInitScript(`sessionStorage.setItem('api-key', '${apiKey}')`);
  const open = async (path: string, fact: string) => {
    await page.goto(`${url}/console${path}`, { waitUntil: 'commit' });
    return untilShown(page, fact);
  };
  const first = await open('', shown.rows(1));
  const paint = await page.evaluate<number>(
    `performance.getEntriesByName('first-contentful-paint')[0].startTime`,
  );
  const again = await open('', shown.rows(1));
  const catalog = await open('/catalog', shown.rows(50));
  const search = async (text: string) => {
    const typed = await page.evaluate<number>(
      `document.querySelector('tbody').dataset.old = 'yes', performance.now()`,
    );
    const found = untilShown(page, shown.newRows);
    await page.getByLabel('Name, brand or SKU').fill(text);
    return (await found) - typed;
  };
  const brand = ['brand', 'luxury', 'product', 'large feed', 'same name'][round % 5]!;
  const sku = `SKU-${String(1_000 + 2 * round).padStart(8, '0')}`;
  const frequent = await search(brand);
  const rare = await search(sku);
  await open('/catalog', shown.rows(50));
  while ((await page.locator('tbody tr').count()) < scrolledRows) await showMore(page);
  const frames = await framesOf(page, 120, 'scrollBy(0, innerHeight / 8)');
  await context.close();
  return {
    paint,
    first,
    again,
    catalog,
    frequent,
    frequentAlone: pauseMilliseconds + (await timeOf(url, brand)),
    rare,
    rareAlone: pauseMilliseconds + (await timeOf(url, sku)),
    frames: quantile(frames, 0.95),
    emptyFrames: quantile(emptyFrames, 0.95),
  };
}

async function showMore(page: Page): Promise<void> {
  const rows = await page.locator('tbody tr').count();
  await page.getByRole('button', { name: 'Show more' }).click();
  await untilShown(page, shown.rows(rows + 1));
}

/** Milliseconds between frames. @param step - called in each frame */
const framesOf = (page: Page, count: number, step: string) =>
  page.evaluate<number[]>(`new Promise((resolve) => {
    const times = [];
    const next = (at) => {
      times.push(at);
      ${step};
      if (times.length <= ${count}) requestAnimationFrame(next);
      else resolve(times.slice(1).map((time, before) => time - times[before]));
    };
    requestAnimationFrame(next);
  })`);

/** Milliseconds of the search itself, without a browser. */
async function timeOf(url: string, text: string): Promise<number> {
  return timeGet(`${url}/products?${new URLSearchParams({ q: text, limit: '50' }).toString()}`);
}

/** What a browser receives for the first view. */
interface Received {
  /** Bytes of page, styles and scripts as sent, with their headers. */
  bytes: number;
  /** All requests, also those of the API. */
  requests: number;
}

/** Returns what a browser without a cache receives until the overview is shown. @param encoding - that it accepts */
async function receivedBy(browser: Browser, url: string, encoding: 'br' | 'gzip'): Promise<Received> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.addInitScript(`sessionStorage.setItem('api-key', '${apiKey}')`);
  const session = await context.newCDPSession(page);
  await session.send('Network.enable');
  // Playwright's types do not have it.
  await session.send('Network.setAcceptedEncodings' as 'Network.enable', { encodings: [encoding] } as object);
  const types = new Map<string, string>();
  let bytes = 0;
  session.on('Network.responseReceived', ({ requestId, type }) => types.set(requestId, type));
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (['Document', 'Stylesheet', 'Script'].includes(types.get(requestId)!)) bytes += encodedDataLength;
  });
  await page.goto(`${url}/console`, { waitUntil: 'commit' });
  await untilShown(page, shown.rows(1));
  await page.waitForLoadState('networkidle');
  await context.close();
  return { bytes, requests: types.size };
}

const measurement = (
  name: string,
  unit: string,
  values: number[],
  more: Pick<Measurement, 'limit' | 'target'> = {},
): Measurement => ({ part: 'console', name, unit, values, ...more });

function describe(of: Record<string, number[]>, products: string): Measurement[] {
  const limit = (name: string, values: number[] | undefined) => ({ limit: { name, values: values! } });
  const alone = `the pause of ${pauseMilliseconds} ms, and the request without a browser`;
  return [
    measurement('first view: first contentful paint', 'ms', of.paint!, within(1_000)),
    measurement('first view: rows of the overview', 'ms', of.first!, within(1_000)),
    measurement('the same with files from the cache', 'ms', of.again!, within(500)),
    measurement(`catalog of ${products}: 50 rows`, 'ms', of.catalog!, within(500)),
    measurement(`search with many results, ${products}`, 'ms', of.frequent!, {
      ...limit(alone, of.frequentAlone),
      ...within(1.5),
    }),
    measurement(`search with one result, ${products}`, 'ms', of.rare!, {
      ...limit(alone, of.rareAlone),
      ...within(1.5),
    }),
    measurement(`frame while ${scrolledRows} rows are scrolled, p95`, 'ms', of.frames!, {
      ...limit('an empty page', of.emptyFrames),
      ...within(1.5),
    }),
  ];
}

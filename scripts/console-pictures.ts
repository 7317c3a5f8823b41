/**
 * Takes the pictures of docs/how-to/use-the-console.md: the steps of a partner, and of the operator of all partners. Starts its own
 * service, data and browser. With a folder as argument, writes every view in three widths there, in light and dark colors; views that
 * fail are reported at the end.
 */
import { mkdtempSync, rmSync, chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { launchChromium } from './chromium';
import { feedOf, fill, key, leaveWaiting, priceList } from './console-pictures-data';
import { emptyViews, otherViews, type View } from './console-pictures-views';
import { startServiceProcess } from './service-process';

const reviewFolder = process.argv[2];
const isForReview = reviewFolder !== undefined;
const folder = reviewFolder ?? join(__dirname, '..', 'docs', 'pictures');
const patienceMilliseconds = 30_000;

const broken: string[] = [];

async function main(): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const dataDir = mkdtempSync(join(tmpdir(), 'console-pictures-'));
  chmodSync(dataDir, 0o755);
  const browser = await launchChromium();
  try {
    // Without a worker, requested runs stay queued.
    for (const [settings, work] of [
      [{ PRIVATE_ADDRESSES: 'on' }, takeWalks],
      [{ QUEUE_WORKER: 'off' }, takeViews],
    ] as const) {
      const service = await startServiceProcess(dataDir, { API_KEYS: key, ...settings });
      try {
        await work(browser, service.url, dataDir);
      } finally {
        await service.stop();
      }
    }
  } finally {
    await browser.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
  for (const each of broken) console.error(`BROKEN: ${each}`);
  if (broken.length > 0) process.exitCode = 1;
}

async function takeWalks(browser: Browser, url: string, dataDir: string): Promise<void> {
  if (isForReview) await inTab(browser, (page) => takeEach(page, url, emptyViews));
  await fill(url, dataDir);
  await inTab(browser, async (page) => {
    await attempt('steps of a partner', () => partnersWalk(page, url));
    await attempt('steps with a workbook', () => excelWalk(page, url));
  });
}

async function takeViews(browser: Browser, url: string, dataDir: string): Promise<void> {
  await leaveWaiting(url, dataDir);
  await inTab(browser, (page) => takeEach(page, url, operatorsViews));
  if (!isForReview) return;
  const views = await otherViews(url);
  await inTab(browser, (page) => takeEach(page, url, views));
}

/** Reports a failure for a review, so that the other pictures are taken; a picture of the documentation must not fail. */
async function attempt(name: string, work: () => Promise<void>): Promise<void> {
  if (!isForReview) return work();
  await work().catch((error: unknown) => broken.push(`${name}: ${String(error).split('\n')[0]}`));
}

async function inTab(browser: Browser, work: (page: Page) => Promise<void>): Promise<void> {
  const context = await browser.newContext({ viewport: ordinary });
  const page = await context.newPage();
  page.setDefaultTimeout(patienceMilliseconds);
  page.on('pageerror', (error) => broken.push(`${page.url()}: ${error.message}`));
  await page.addInitScript(`sessionStorage.setItem('api-key', '${key}')`);
  await work(page);
  await context.close();
}

async function takeEach(page: Page, url: string, views: readonly View[]): Promise<void> {
  for (const { name, path, open } of views)
    await attempt(name, async () => {
      await page.goto(`${url}${path}`);
      await page.getByRole('heading', { level: 1 }).first().waitFor();
      await open?.(page);
      await take(page, name);
    });
}

const operatorsViews: View[] = [
  { name: 'operator-1-overview', path: '/console' },
  { name: 'operator-2-partner', path: '/console/partners/Acme%20Outdoor' },
  { name: 'operator-3-catalog', path: '/console/catalog' },
  { name: 'operator-4-queue', path: '/console/queue' },
  { name: 'operator-5-webhook', path: '/console/webhooks/1' },
];

/** From a file to zero issues. */
async function partnersWalk(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/console/send`);
  await page.getByLabel('Partner', { exact: true }).fill('Nordwind');
  await take(page, 'partner-1-send');
  const buffer = Buffer.from(feedOf('189,90', 2));
  await page.setInputFiles('input[type=file]', { name: 'artikel.csv', mimeType: 'text/csv', buffer });
  await page.getByRole('combobox', { name: 'Price', exact: true }).selectOption('Preis');
  await page.getByRole('region', { name: 'First rows as products' }).getByText('189.90').waitFor();
  await take(page, 'partner-2-check');
  await page.getByRole('button', { name: 'Store the file and preview' }).click();
  await page.getByRole('button', { name: 'Run now' }).waitFor();
  await take(page, 'partner-3-preview');
  await page.getByRole('button', { name: 'Run now' }).click();
  await page.getByText('The run is complete').waitFor();
  await take(page, 'partner-4-run');
  await page.getByRole('link', { name: 'See why, and mend them' }).click();
  await page.locator('.cell.error').first().waitFor();
  await take(page, 'partner-5-issues');
}

/** From a workbook to its products. */
async function excelWalk(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/console/send`);
  await page.getByLabel('Partner', { exact: true }).fill('Bergwind');
  const file = { name: 'Preisliste 2026.xlsx', mimeType: '', buffer: priceList() };
  await page.setInputFiles('input[type=file]', file);
  await page.getByRole('button', { name: /^Artikel/ }).click();
  await page.getByRole('region', { name: 'First rows of the sheet' }).waitFor();
  await take(page, 'excel-1-sheet');
  await page.getByRole('button', { name: 'Check this sheet' }).click();
  await page.getByRole('region', { name: 'First rows as products' }).getByText('189.9').first().waitFor();
  await take(page, 'excel-2-check');
  await page.getByRole('button', { name: 'Store the file and preview' }).click();
  await page.getByRole('button', { name: 'Run now' }).waitFor();
  await take(page, 'excel-3-preview');
  await page.getByRole('button', { name: 'Run now' }).click();
  await page.getByText('The run is complete').waitFor();
  await take(page, 'excel-4-run');
}

const ordinary = { width: 1280, height: 800 };
const widths = [1440, 1024, 390];

/** Writes the visible part of the page; for a review, the whole page in each width and both colors. */
async function take(page: Page, name: string): Promise<void> {
  await page.getByText('Loading…').first().waitFor({ state: 'detached' });
  await page.waitForLoadState('networkidle');
  if (isForReview) return takeInEachLook(page, name);
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 80 });
  writeFileSync(join(folder, `${name}.webp`), Buffer.from(data, 'base64'));
  await session.detach();
}

async function takeInEachLook(page: Page, name: string): Promise<void> {
  if (await page.getByRole('heading', { name: 'This view cannot be shown' }).isVisible())
    broken.push(`${name}: cannot be shown`);
  for (const width of widths) {
    await page.setViewportSize({ width, height: width < 500 ? 844 : 800 });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      // Until charts are drawn again, and colors have changed.
      await page.waitForTimeout(200);
      await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`), fullPage: true });
    }
    const needed = await page.evaluate<number>('document.documentElement.scrollWidth');
    if (needed > width) broken.push(`${name}: ${needed} pixels wide at ${width}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize(ordinary);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});

import type { BrowserContext } from 'playwright-core';
import { findUnreadable, startBrowser } from '../../support/browser';
import { goToView, openConsole } from '../../support/console';
import { startTestService, testKey, type TestService } from '../../support/service';

const header = 'sku,product_name,price,currency\n';
/** Ten rows; the first ones have an invalid price. */
const feed = (faulty: number) =>
  header +
  Array.from({ length: 10 }, (_, at) => `S-${at},Product ${at},${at < faulty ? 'x' : '5'},EUR\n`).join('');

let service: TestService;
let browser: BrowserContext;
beforeAll(async () => {
  browser = await startBrowser();
  service = await startTestService();
  await service.api.loadFeed(feed(0), 'Alder');
  await service.api.loadFeed(feed(6), 'Birch');
  await service.api.loadFeed(feed(0), 'Cedar');
  await service.api.loadFeed(feed(6), 'Cedar', { max_skipped_percent: '10' });
  await service.api.loadFeed(feed(7), 'Cedar', { max_skipped_percent: '10' });
});

const open = (path: string) => openConsole(browser, { url: service.url, key: testKey }, path);
const isApi = (address: string) => !/^\/(console|assets)\b/.test(new URL(address).pathname);

describe('the overview', () => {
  it('shows why partners need attention, worst first, with one request', async () => {
    await open('/');
    const { page, requested } = await open('/');
    await page.getByText('All is well').waitFor();

    const rows = await page.locator('tbody tr').allInnerTexts();
    expect(rows.map((row) => row.split('\n')[0]!.split('\t').slice(0, 1))).toEqual([
      ['Cedar'],
      ['Birch'],
      ['Alder'],
    ]);
    expect(rows[0]).toContain('The last runs of 2 feeds failed');
    expect(rows[1]).toContain('Many rows skipped: 6');
    expect(requested.filter(isApi).map((address) => new URL(address).pathname)).toEqual(['/partners']);
  });

  it('links each reason to its cause', async () => {
    const { page } = await open('/');
    await page.getByRole('link', { name: 'The last runs of 2 feeds failed' }).click();

    await page.getByRole('heading', { name: 'Feeds', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Cedar' }).first().waitFor();
    expect(await page.getByRole('link', { name: /^FD/ }).count()).toBe(2);
  });

  it('follows the rules of accessibility, as does a partner who needs attention', async () => {
    const { page } = await open('/');
    await page.getByText('All is well').waitFor();
    expect(await findUnreadable(page)).toEqual([]);

    await goToView(page, '/partners/Birch');
    await page.getByText('Many rows skipped: 6').waitFor();
    expect(await findUnreadable(page)).toEqual([]);
  });
});

describe('the partners', () => {
  it('are filtered by a reason, and ordered by attention', async () => {
    const { page } = await open('/partners/');
    await page.getByRole('link', { name: 'Alder' }).waitFor();
    const names = () => page.locator('tbody th').allInnerTexts();
    expect(await names()).toEqual(['Alder', 'Birch', 'Cedar']);

    await page.getByLabel('Order').selectOption('The most urgent first');
    await page.locator('tbody th').first().filter({ hasText: 'Cedar' }).waitFor();
    await page.getByLabel('Needs attention because').selectOption('Many rows skipped');
    await page.getByRole('link', { name: 'Cedar' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Birch' }).waitFor();
    expect(await names()).toEqual(['Birch']);
  });
});

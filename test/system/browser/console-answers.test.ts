import type { BrowserContext, Page } from 'playwright-core';
import { findUnreadable, startBrowser } from '../../support/browser';
import { goToView, openConsole } from '../../support/console';
import { startTestService, testKey, withStoredKey, type TestService } from '../../support/service';

const header = 'sku,product_name,price,currency,availability\n';
const alder = 'A-1,Tent,189.90,EUR,in stock\nA-2,Lamp,24.50,EUR,in stock\nA-3,Mat,59,EUR,out of stock\n';

let service: TestService;
let browser: BrowserContext;
beforeAll(async () => {
  browser = await startBrowser();
  service = await startTestService();
  await service.api.loadFeed(header + alder.replace('189.90', '199.90'), 'Alder');
  await service.api.loadFeed(header + alder, 'Alder');
  const many = Array.from({ length: 120 }, (_, at) => `B-${at},Boat ${at},${1 + ((at * 7) % 120)},EUR,\n`);
  await service.api.loadFeed(header + many.join(''), 'Birch');
  await service.api.loadFeed(`${header}C-1,Cup,1200,JPY,\n`, 'Cedar');
  await placeOrder('Alder', ['A-1', 2], ['A-2', 3]);
  await placeOrder('Alder', ['A-2', 1]);
  await placeOrder('Birch', ['B-5', 1]);
  await placeOrder('Cedar', ['C-1', 1]);
});

async function productOf(partner: string, sku: string): Promise<string> {
  const { body } = await service.api.get(`/products?partner_name=${partner}&sku=${sku}`);
  return body.items[0].product_id;
}

async function placeOrder(partner: string, ...lines: [sku: string, quantity: number][]): Promise<void> {
  const items = lines.map(async ([sku, quantity]) => ({
    product_id: await productOf(partner, sku),
    quantity,
  }));
  await service.api.post('/orders', { partner_name: partner, items: await Promise.all(items) });
}

const openView = async (path: string): Promise<Page> =>
  (await openConsole(browser, { url: service.url, key: testKey }, path)).page;

const link = (page: Page, name: string) => page.locator('main').getByRole('link', { name, exact: true });
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const rows = (page: Page, label: string) => page.getByRole('region', { name: label }).locator('tbody tr');

describe('the sales', () => {
  it('show the best sellers of a partner in a period three clicks from the overview', async () => {
    const page = await openView('/');
    // Of the last order's currency.
    await page.getByRole('link', { name: 'Sales: ¥1,200', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Sales', exact: true }).click();
    const best = rows(page, 'Best sellers');
    await best.nth(2).waitFor();
    expect((await best.allInnerTexts()).map((row) => row.split('\n')[0])).toEqual(['Tent', 'Lamp', 'Boat 5']);
    expect(await findUnreadable(page)).toEqual([]);

    await link(page, 'Alder').click();
    await button(page, '7 days').click();
    await best.nth(2).waitFor({ state: 'detached' });
    expect((await best.first().innerText()).split(/\s+/)).toEqual(['Tent', 'A-1', '2', '€379.80']);
    await page.getByText('€477.80').first().waitFor();
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({ partner: 'Alder', period: '7' });

    await page.reload();
    expect(await button(page, '7 days').getAttribute('aria-pressed')).toBe('true');
    await link(page, 'Tent').click();
    await page.getByRole('heading', { name: 'Tent', level: 1 }).waitFor();
  });

  it('show amounts with the decimals of their currency, and own dates', async () => {
    const page = await openView('/sales?currency=JPY');
    await page.getByText('¥1,200').first().waitFor();
    expect(await page.getByText('¥1,200.00').count()).toBe(0);

    await button(page, 'Own dates').click();
    await page.getByLabel('First day (UTC)').fill('2020-01-01');
    await page.getByLabel('Last day (UTC)').fill('2020-01-31');
    const none = page.getByText('Nothing was sold in JPY in this period');
    await none.waitFor();
    for (const title of ['Best sellers', 'Revenue by partner'])
      await page.getByRole('heading', { name: title }).waitFor({ state: 'detached' });
    expect(await none.count()).toBe(1);
  });
});

describe('an order', () => {
  it('has a page with its lines, and the source of each price', async () => {
    const page = await openView('/orders');
    await rows(page, 'Orders').nth(3).waitFor();
    expect(await findUnreadable(page)).toEqual([]);
    await rows(page, 'Orders').last().getByRole('link').click();
    await rows(page, 'Products').nth(1).waitFor();
    expect((await rows(page, 'Products').first().innerText()).split(/\s+/)).toEqual(
      expect.arrayContaining(['Tent', '2', '€189.90', '€379.80']),
    );
    expect(await findUnreadable(page)).toEqual([]);

    await button(page, 'Show where the price of Tent came from').click();
    const dialog = page.getByRole('dialog', { name: 'Where this price came from' });
    await dialog.getByText('A-1,Tent,189.90,EUR,in stock').waitFor();
    await dialog.getByRole('link').waitFor();
    expect(await findUnreadable(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    const focused = await page.evaluate<string>("document.activeElement.getAttribute('aria-label')");
    expect(focused).toBe('Show where the price of Tent came from');
  });

  it('is found by partner and days', async () => {
    const page = await openView('/orders');
    await page.getByLabel('Partner', { exact: true }).fill('Birch');
    await rows(page, 'Orders').nth(1).waitFor({ state: 'detached' });
    await rows(page, 'Orders').getByText('Boat 5').waitFor();

    await goToView(page, '/orders?period=own&from=2020-01-01&to=2020-01-31');
    await page.getByText('No order of this partner in this period').waitFor();
    await button(page, 'Remove all filters').click();
    await rows(page, 'Orders').nth(3).waitFor();
  });
});

describe('a product', () => {
  it('shows in words what changed and when, and is withdrawn after a confirmation', async () => {
    const page = await openView(`/products/${await productOf('Alder', 'A-3')}`);
    await page.getByText('Out of stock', { exact: true }).waitFor();
    await rows(page, 'History').getByText('Created: €59.00').waitFor();
    await goToView(page, `/products/${await productOf('Alder', 'A-1')}`);
    await rows(page, 'History').getByText('Price: €199.90 → €189.90').waitFor();
    await page.locator('.chart canvas').waitFor();
    expect(await findUnreadable(page)).toEqual([]);

    await button(page, 'Withdraw').click();
    const dialog = page.getByRole('dialog', { name: 'Withdraw Tent?' });
    await dialog.getByText('It comes back with the next feed of Alder').waitFor();
    expect(await findUnreadable(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Withdraw the product' }).click();
    await page.getByText('Withdrawn: it is in no list').waitFor();
    await rows(page, 'History').getByText('Withdrawn alone, without a feed').waitFor();
    expect(await button(page, 'Withdraw').count()).toBe(0);
    expect((await service.api.get('/products?partner_name=Alder&sku=A-1')).body.count).toBe(0);
  });

  it('is not withdrawn with a read-only key, which the dialog explains', async () => {
    const { key } = await withStoredKey(service, null, 'reader', { is_read_only: true });
    const path = `/products/${await productOf('Alder', 'A-2')}`;
    const { page } = await openConsole(browser, { url: service.url, key: key! }, path);
    await button(page, 'Withdraw').click();
    await button(page, 'Withdraw the product').click();
    await page.getByRole('alert').getByText('Your key is read-only').waitFor();
    expect(await findUnreadable(page)).toEqual([]);
  });
});

describe('the catalog', () => {
  it('loads more in the order of creation, and is sorted by the titles of its table', async () => {
    const page = await openView('/catalog?partner=Birch');
    const shown = rows(page, 'Catalog');
    const first = (name: string) => shown.first().getByRole('link', { name, exact: true }).waitFor();
    const more = button(page, 'Show more');
    await first('Boat 119');
    await more.click();
    await shown.nth(99).waitFor();
    await more.click();
    await shown.nth(119).waitFor();
    await more.waitFor({ state: 'detached' });

    await button(page, 'Price').click();
    await first('Boat 0');
    await page.getByText('Only the first 100 are shown in this order').waitFor();
    expect([await shown.count(), await more.count()]).toEqual([100, 0]);
    await button(page, 'Price').click();
    await first('Boat 17');
    expect(await page.getByRole('columnheader', { name: 'Price' }).getAttribute('aria-sort')).toBe(
      'descending',
    );
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('folds its facets on a narrow screen, and names the chosen one', async () => {
    const page = await openView('/catalog?partner=Alder');
    await page.setViewportSize({ width: 390, height: 800 });
    await page.getByText('Filter by brand, category or availability').click();
    await page.getByRole('button', { name: /^Out of stock/ }).click();
    const chosen = page.getByRole('button', { name: 'Remove the filter: Availability Out of stock' });
    await chosen.waitFor();
    await rows(page, 'Catalog').nth(1).waitFor({ state: 'detached' });
    expect(await findUnreadable(page)).toEqual([]);

    await page.setViewportSize({ width: 390, height: 800 });
    await page.getByLabel('Order').selectOption('Price, high first');
    await chosen.click();
    await rows(page, 'Catalog').nth(1).waitFor();
    expect((await rows(page, 'Catalog').first().innerText()).split('\n')[0]).toMatch(/Tent|Mat/);
  });
});

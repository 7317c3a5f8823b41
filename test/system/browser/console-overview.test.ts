import type { BrowserContext } from 'playwright-core';
import { findUnreadable, startBrowser } from '../../support/browser';
import { goToView, openConsole } from '../../support/console';
import { startTestService, testKey, withStoredKey, type TestService } from '../../support/service';

/** Rows of a feed; the first `bad` ones have an invalid price. */
const feed = (rows: number, { bad = 0, price = '5' } = {}) =>
  'sku,product_name,price,currency\n' +
  Array.from({ length: rows }, (_, at) => `S-${at},Product ${at},${at < bad ? 'x' : price},EUR\n`).join('');

/** Partners with each reason, the action that it wants, and where the action leads. */
const sick = [
  ['Cedar', 'The last runs of 2 feeds failed', 'See why it failed', /\/feeds\/FD\d+\/run$/],
  ['Blocked', 'Stopped: it would withdraw 37 products', 'Preview, then decide', /\/feeds\/FD\d+\/plan$/],
  ['Jump', 'Prices of 20 products jumped', 'Compare the prices', /\/feeds\/FD\d+\/runs\/1$/],
  ['Unpriced', 'The last feed has no prices', 'Check its columns', /\/send\?partner=Unpriced$/],
  ['Source', 'A source fails', 'See its sources', /\/sources\?partner=Source$/],
  ['Small', 'The last feed has 25 rows fewer', 'See the last run', /\/feeds\/FD\d+\/run$/],
  ['Birch', 'Many rows skipped: 6', 'Mend the rows', /\/feeds\/FD\d+\/issues$/],
  ['Rising', 'More rows skipped each time: 4', 'See why', /\/feeds\/FD\d+\/issues$/],
  ['Stale', 'No load for 3 days', 'Send a feed', /\/send\?partner=Stale$/],
  ['Waiting', '2 feeds wait to be run', 'Preview, then run', /\/feeds\/FD\d+\/plan$/],
] as const;

let service: TestService;
let browser: BrowserContext;
beforeAll(async () => {
  browser = await startBrowser();
  service = await startTestService();
  const load = service.api.loadFeed.bind(service.api);
  await load(feed(10), 'Alder');
  await load(feed(10, { bad: 6 }), 'Birch');
  for (const bad of [0, 6, 7]) await load(feed(10, { bad }), 'Cedar', { max_skipped_percent: '10' });
  for (const rows of [40, 3]) await load(feed(rows), 'Blocked', { mode: 'replace' });
  for (const price of ['5', '500']) await load(feed(20, { price }), 'Jump');
  await load(feed(10, { price: '' }), 'Unpriced');
  for (const rows of [40, 15]) await load(feed(rows), 'Small');
  for (const bad of [1, 2, 4]) await load(feed(50, { bad }), 'Rising');
  for (const partner of ['Source', 'Stale']) await load(feed(2), partner);
  for (const rows of [1, 2]) await service.api.uploadFeed(feed(rows), 'Waiting');
  await plant('Source', 'source_failing', 5, 1);
  await plant('Stale', 'stale', 9, 3);
  await plant('Waiting', 'never_run', 10, 2);
});

/** Adds a reason that only time brings. */
const plant = (partner: string, reason: string, severity: number, count: number) =>
  service.db.raw(
    `insert into partner_attention (partner_id, reason, severity, since, count)
     select partner_id, ?, ?, now() - interval '2 days', ? from partners where partner_name = ?`,
    [reason, severity, count, partner],
  );

const open = (path: string, key = testKey) => openConsole(browser, { url: service.url, key }, path);
const isApi = (address: string) => !/^\/(console|assets)\b/.test(new URL(address).pathname);

describe('the overview', () => {
  it('shows every partner in need, worst first, with what, since when and the action, and the others as one line', async () => {
    const first = await open('/');
    await first.page.getByRole('link', { name: 'Rows skipped: 13' }).waitFor();
    const { page, requested, complaints } = await open('/');
    await page.getByRole('heading', { name: `Needs attention: ${sick.length} partners` }).waitFor();
    await page.getByText('The other partner is well.').waitFor();

    const rows = await page.locator('tbody tr').evaluateAll((all) => all.map((row) => row.textContent));
    expect(rows).toEqual(
      sick.map(([partner, reason, way]) =>
        expect.stringMatching(new RegExp(`^${partner}${reason}.*${way.replace('?', '\\?')}$`)),
      ),
    );
    expect(rows.at(-1)).toContain('2 days ago');
    await page.getByRole('link', { name: 'Rows skipped: 13' }).waitFor();
    const paths = requested.filter(isApi).map((address) => new URL(address).pathname);
    expect(paths.toSorted()).toEqual([
      '/analytics/skipped-rows',
      '/analytics/skipped-rows',
      '/orders',
      '/partners',
    ]);
    expect(await findUnreadable(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('leads with each action to the place where it is done, and back', async () => {
    const { page } = await open('/');
    for (const [partner, , way, place] of sick) {
      await page.getByRole('link', { name: `${way}: ${partner}`, exact: true }).click();
      await page.waitForURL(place);
      await page.goBack();
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
    }

    await page.getByRole('link', { name: 'Preview, then decide: Blocked' }).click();
    await page.getByRole('button', { name: 'Preview a run that withdraws 37 products' }).waitFor();
  });

  it('compares the last 7 days with the 7 days before, each figure with its view', async () => {
    await service.db.raw(`
      update runs set finished_at = finished_at - interval '8 days' where job_id in (
        select job_id from validation_jobs join feeds using (feed_id) join partners using (partner_id)
        where partner_name = 'Small')`);
    const { page } = await open('/');
    const figure = page.locator('.count').filter({ hasText: 'Rows skipped' });
    await figure.getByText('of the rows').waitFor();

    const before = await page.locator('.count').filter({ hasText: 'Feeds loaded' }).innerText();
    expect(before).toContain('from 2');
    await figure.getByRole('link').click();
    await page.getByRole('heading', { name: 'Skipped rows' }).waitFor();
  });

  it('of a key of a partner is about this partner', async () => {
    const { key } = await withStoredKey(service, 'Birch', 'overview');
    const { page } = await open('/', key);
    await page.getByRole('heading', { name: 'Last feeds' }).waitFor();
    await page.getByRole('link', { name: 'Mend the rows: Birch' }).waitFor();

    await page.getByRole('link', { name: 'Feeds loaded: 1' }).waitFor();
    await page.getByRole('link', { name: 'feed.csv' }).waitFor();
    expect(await page.getByText('Cedar').count()).toBe(0);
  });
});

describe('skipped rows', () => {
  it('are shown by partner and reason in words, filtered by partner and days, and lead to the issues', async () => {
    const { page, complaints } = await open('/feeds');
    await page.getByRole('navigation', { name: 'Views of the feeds' }).getByText('Skipped rows').click();
    await page.getByRole('heading', { name: 'Skipped rows', level: 1 }).waitFor();
    const row = (text: string) => page.locator('tbody tr').filter({ hasText: text });
    await row('Rising').waitFor();
    expect(await page.locator('tbody').innerText()).not.toMatch(/[a-z]_[a-z]/);
    expect(await row('Rising').innerText()).toMatch(/\s7\s+3\s/);
    expect(await findUnreadable(page)).toEqual([]);

    await page.getByLabel('Partner', { exact: true }).fill('Birch');
    await row('Rising').waitFor({ state: 'detached' });
    await row('Birch')
      .getByRole('link', { name: /^Issues of FD/ })
      .click();
    await page.waitForURL(/\/feeds\/FD\d+\/issues\?code=invalid_price$/);
    await page.goBack();
    await page.getByLabel('Last day').fill('2020-01-31');
    await page.getByLabel('First day').fill('2020-01-01');
    await page.getByText('No feed was loaded in this time').waitFor();
    expect(complaints).toEqual([]);
  });
});

describe('the feeds', () => {
  it('are named by their files, and filtered by partner, status and day', async () => {
    const { page } = await open('/feeds?partner=Cedar');
    await page.getByText('Cedar').first().waitFor();
    await page.locator('tbody').getByText('Acme').waitFor({ state: 'detached' });
    const names = page.locator('tbody').getByRole('link', { name: 'feed.csv' });
    await names.nth(2).waitFor();
    expect(await names.count()).toBe(3);

    await page.getByLabel('Status').selectOption('Failed');
    await names.nth(2).waitFor({ state: 'detached' });
    await names.nth(1).waitFor();
    expect(await names.count()).toBe(2);
    await page.getByLabel('Last day').fill('2020-01-31');
    await page.getByText('No feed matches').waitFor();
    expect(new URL(page.url()).searchParams.get('to')).toBe('2020-01-31');
    expect(await findUnreadable(page)).toEqual([]);
  });
});

describe('the partners', () => {
  it('are searched by the beginning of their names, filtered by a reason, and ordered by attention', async () => {
    const { page } = await open('/partners/');
    await page.getByRole('link', { name: 'Alder' }).waitFor();
    const names = () => page.locator('tbody th').allInnerTexts();
    expect(await names()).toEqual([...sick.map(([name]) => name as string), 'Alder'].toSorted());

    await page.getByRole('button', { name: 'Needs attention' }).click();
    await page.locator('tbody th').first().filter({ hasText: 'Cedar' }).waitFor();
    await page.getByLabel('Name begins with').fill('s');
    await page.getByRole('link', { name: 'Cedar' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Source', exact: true }).waitFor();
    expect(await names()).toEqual(['Source', 'Small', 'Stale']);
    await page.getByLabel('Needs attention because').selectOption('Many rows skipped');
    await page.getByText('No partner matches').waitFor();
    await page.getByLabel('Name begins with').fill('');
    await page.getByRole('link', { name: 'Birch' }).waitFor();
    expect(await names()).toEqual(['Birch']);
  });

  it('each show their reasons with actions, their figures, and what their last run changed', async () => {
    const { page, complaints } = await open('/');
    await goToView(page, '/partners/Jump');
    await page.getByRole('link', { name: 'Compare the prices: Jump' }).waitFor();
    await page.getByRole('link', { name: 'Rows: 40' }).waitFor();
    expect(await findUnreadable(page)).toEqual([]);

    await page.getByRole('link', { name: 'What changed in the last run' }).click();
    await page.waitForURL(/\/feeds\/FD\d+\/runs\/1$/);
    await page.goBack();
    await page.getByRole('link', { name: 'See what sells best' }).click();
    await page.waitForURL(/\/sales\?partner=Jump$/);
    expect(complaints).toEqual([]);
  });
});

import type { BrowserContext, Page } from 'playwright-core';
import { findFaults, findUnreadable, startBrowser, type OpenPage } from '../../support/browser';
import { openConsole } from '../../support/console';
import { startUsedService, type ServiceProcess } from '../../support/process';

let service: ServiceProcess;
let browser: BrowserContext;
beforeAll(async () => {
  browser = await startBrowser();
  service = await startUsedService();
});

const header = 'sku,product_name,price,currency\n';
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true });

/** Opens a view. `refused`: rejections that the page gets from then on. */
async function open(path: string): Promise<OpenPage & { refused: string[] }> {
  const opened = await openConsole(browser, { url: service.url!, key: service.key! }, path);
  const refused: string[] = [];
  opened.page.on('response', (response) => {
    const path = new URL(response.url()).pathname;
    if (response.status() >= 400) refused.push(`${response.status()} ${response.request().method()} ${path}`);
  });
  return { ...opened, refused };
}

/** Prices of a partner's products by sku, from the API. */
async function pricesOf(partner: string): Promise<Record<string, number>> {
  const { body } = await service.api.get(`/products?partner_name=${encodeURIComponent(partner)}`);
  return Object.fromEntries(body.items.map(({ sku, price }: { sku: string; price: number }) => [sku, price]));
}

const focused = (page: Page) =>
  page.evaluate<string>(
    '(({ tagName, textContent }) => tagName + (tagName === "BODY" ? "" : ": " + textContent))(document.activeElement)',
  );

describe('a feed that was run before', () => {
  it('is run again only after a preview and a confirmation', async () => {
    const older = await service.api.loadFeed(`${header}A-1,Tent,10,EUR\n`, 'Again');
    await service.api.loadFeed(`${header}A-1,Tent,12,EUR\n`, 'Again');
    const { page, refused } = await open(`/feeds/${older.feedId}/run`);

    await link(page, 'Preview, then run again').click();
    const row = page.getByRole('region', { name: 'Preview of the run' }).locator('tbody tr').first();
    await row.waitFor();
    expect(await row.innerText()).toMatch(/Tent\s+A-1\s+Changed\s+€12\.00 → €10\.00\s+-16\.7%/);
    await button(page, 'Run again').click();
    const dialog = page.getByRole('dialog', { name: 'Run this feed again?' });
    await dialog.getByText('The file is of').waitFor();
    expect(await findUnreadable(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await focused(page)).toBe('BUTTON: Run again');
    expect(await pricesOf('Again')).toEqual({ 'A-1': 12 });

    await button(page, 'Run again').click();
    await dialog.getByRole('button', { name: 'Run again' }).click();
    await page.getByText('The run is complete').waitFor();
    expect(await pricesOf('Again')).toEqual({ 'A-1': 10 });
    expect(refused).toEqual([]);
  });

  it('that is older than a complete one is run only after the preview has shown the changes', async () => {
    const replace = { mode: 'replace' };
    const older = await service.api.loadFeed(`${header}A-1,Tent,10,EUR\n`, 'Older', replace);
    const newer = await service.api.loadFeed(`${header}A-1,Tent,12,EUR\nB-1,Lamp,5,EUR\n`, 'Older', replace);
    const { page } = await open(`/feeds/${older.feedId}/plan`);

    await page.getByText(`A complete feed that was sent later (${newer.feedId}) is loaded.`).waitFor();
    expect(await button(page, 'Run again').count()).toBe(0);
    expect(await findFaults(page)).toEqual([]);
    const confirm = button(page, 'Preview a run although a newer feed was loaded');
    await confirm.click();
    await confirm.waitFor({ state: 'detached' });
    await page.goBack();
    await confirm.click();
    const plan = page.getByRole('region', { name: 'Preview of the run' });
    await plan.getByText('B-1').waitFor();
    expect(await pricesOf('Older')).toEqual({ 'A-1': 12, 'B-1': 5 });
    await button(page, 'Run again').click();
    await page.getByRole('dialog').getByText('A newer complete feed was loaded since').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Run again' }).click();

    await page.getByText('The run is complete').waitFor();
    expect(await pricesOf('Older')).toEqual({ 'A-1': 10 });
  });
});

describe('a feed that was not run before', () => {
  const feedOf = async (partner: string, price: number) =>
    service.api.uploadFeed(`${header}A-1,Tent,${price},EUR\n`, partner);
  const load = (partner: string, price: number) =>
    service.api.loadFeed(`${header}A-1,Tent,${price},EUR\n`, partner);

  it('is run without a confirmation only while nothing newer is loaded and no other person has run it', async () => {
    const feed = await feedOf('Raced', 10);
    const { page, refused } = await open(`/feeds/${feed.feedId}/plan`);
    const plan = page.getByRole('region', { name: 'Preview of the run' });
    await plan.locator('tbody tr', { hasText: 'New' }).waitFor();
    await service.api.post(`/jobs/${feed.jobId}/run`);
    await load('Raced', 12);

    await button(page, 'Run now').click();
    const dialog = page.getByRole('dialog', { name: 'Run this feed again?' });
    await dialog.getByText('A newer feed of this partner was loaded since').waitFor();
    expect((await dialog.locator('.count').allInnerTexts()).map((text) => text.split('\n'))).toContainEqual([
      'Changed',
      '1',
    ]);
    expect(await pricesOf('Raced')).toEqual({ 'A-1': 12 });
    await load('Raced', 13);
    await dialog.getByRole('button', { name: 'Run again' }).click();
    await plan.getByText('€13.00', { exact: true }).waitFor({ state: 'attached' });
    expect(await pricesOf('Raced')).toEqual({ 'A-1': 13 });
    await dialog.getByRole('button', { name: 'Run again' }).click();
    await page.getByText('The run is complete').waitFor();
    expect(await pricesOf('Raced')).toEqual({ 'A-1': 10 });
    expect(refused).toEqual([]);
  });

  it('is previewed first if a newer one is loaded, also since the view was opened', async () => {
    const known = await feedOf('Overtaken', 9);
    const feed = await feedOf('Overtaken', 10);
    const { page, refused } = await open(`/feeds/${feed.feedId}/run`);
    await button(page, 'Run now').waitFor();
    await load('Overtaken', 12);
    await button(page, 'Run now').click();
    await page.getByRole('heading', { name: 'Preview of the run' }).waitFor();
    expect(await pricesOf('Overtaken')).toEqual({ 'A-1': 12 });
    await button(page, 'Run now').click();
    const dialog = page.getByRole('dialog', { name: 'Run this older feed?' });
    await dialog.getByText('A newer feed of this partner was loaded since').waitFor();
    expect(await findUnreadable(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Run now' }).click();
    await page.getByText('The run is complete').waitFor();
    expect(await pricesOf('Overtaken')).toEqual({ 'A-1': 10 });

    await page.goto(`${service.url!}/console/feeds/${known.feedId}/run`);
    await link(page, 'Preview, then run').click();
    await page.locator('tbody tr').first().waitFor();
    expect(await pricesOf('Overtaken')).toEqual({ 'A-1': 10 });
    expect(refused).toEqual([]);
  });

  it('is previewed first if a newer one is loaded whose last run has failed, but not if it was reverted', async () => {
    const others = Array.from({ length: 30 }, (_, at) => `O-${at},Other,1,EUR\n`).join('');
    const first = await service.api.uploadFeed(header + others, 'Guarded');
    const feed = await feedOf('Guarded', 10);
    const csv = `${header}A-1,Tent,12,EUR\n`;
    const newer = await service.api.loadFeed(csv, 'Guarded', { mode: 'replace' });
    await service.api.post(`/jobs/${first.jobId}/run`);
    const { body: job } = await service.api.post(`/jobs/${newer.jobId}/run`);
    expect(job.status).toBe('failed');
    const { page } = await open(`/feeds/${feed.feedId}/run`);
    await link(page, 'Preview, then run').click();
    await page.locator('tbody tr').first().waitFor();
    const { body } = await service.api.get('/products?partner_name=Guarded&sku=A-1');
    expect(body.items).toMatchObject([{ price: 12 }]);

    const waiting = await feedOf('Undone newer', 10);
    const undone = await load('Undone newer', 12);
    await service.api.post(`/jobs/${undone.jobId}/revert?run=1`);
    await page.goto(`${service.url!}/console/feeds/${waiting.feedId}/run`);
    await button(page, 'Run now').click();
    await page.getByText('The run is complete').waitFor();
    expect(await pricesOf('Undone newer')).toEqual({ 'A-1': 10 });
  });

  it('withdraws as many products as confirmed, independent of the number in the address', async () => {
    const replace = { mode: 'replace' };
    await service.api.loadFeed(`${header}A-1,Tent,1,EUR\nB-1,Lamp,2,EUR\n`, 'Counting', replace);
    const feed = await service.api.uploadFeed(`${header}A-1,Tent,1,EUR\n`, 'Counting', replace);
    for (const none of ['abc', '-1', '1.5', '99999999999']) {
      const { page } = await open(`/feeds/${feed.feedId}/plan?withdraw=${none}`);
      await button(page, 'Run now').waitFor();
    }
    const { page, refused } = await open(`/feeds/${feed.feedId}/plan?older=yes&withdraw=1000000`);

    await button(page, 'Run now').click();
    const dialog = page.getByRole('dialog', { name: 'Withdraw 1 product?' });
    const sent = page.waitForRequest((request) => request.url().includes(`/jobs/${feed.jobId}/run?`));
    await dialog.getByRole('button', { name: 'Run now' }).click();
    expect(new URL((await sent).url()).searchParams.get('max_withdrawn')).toBe('1');
    await page.getByText('The run is complete').waitFor();
    expect(await pricesOf('Counting')).toEqual({ 'A-1': 1 });

    const other = await feedOf('Counting', 3);
    await page.goto(`${service.url!}/console/feeds/${other.feedId}/plan?withdraw=5&older=yes`);
    await button(page, 'Run now').click();
    await page.getByText('The run is complete').waitFor();
    expect(refused).toEqual([]);
  });
});

describe('the preview of many changes', () => {
  const rowsOf = (count: number, priceOf: (row: number) => string) =>
    Array.from({ length: count }, (_, row) => `M-${row},Product ${row},${priceOf(row)},EUR\n`).join('');
  const rows = (page: Page, name: string) => page.getByRole('region', { name }).locator('tbody tr');

  it('shows the largest change of price first, and filters all changes, also those of the run', async () => {
    const last = 299;
    const before = header + rowsOf(last + 1, () => '10.00') + 'GONE-1,Old lamp,5,EUR\n';
    await service.api.loadFeed(before, 'Many', { mode: 'replace' });
    const after = rowsOf(last + 1, (row) => (row === last ? '15.00' : '10.10'));
    const { feedId } = await service.api.uploadFeed(`${header}${after}NEW-1,New mat,7,EUR\n`, 'Many', {
      mode: 'replace',
    });
    const { page, complaints } = await open(`/feeds/${feedId}/plan`);
    const plan = rows(page, 'Preview of the run');
    await plan.first().waitFor();
    expect(await plan.first().innerText()).toMatch(
      /Product 299\s+M-299\s+Changed\s+€10\.00 → €15\.00\s+\+50%/,
    );
    expect(await plan.count()).toBe(100);
    expect(await page.locator('.tab').allInnerTexts()).toEqual([
      'All 302',
      'Changed 300',
      'New 1',
      'Withdrawn 1',
    ]);

    await button(page, 'Withdrawn 1').click();
    await plan.getByText('Old lamp').waitFor();
    expect(await plan.count()).toBe(1);
    await button(page, 'New 1').click();
    await plan.getByText('New mat').waitFor();
    expect(await plan.innerText()).toMatch(/New mat\s+NEW-1\s+€7\.00/);
    expect(await findFaults(page)).toEqual([]);
    await page.reload();
    await plan.getByText('New mat').waitFor();
    await button(page, 'Changed 300').click();
    await page.getByLabel('Order').selectOption('As in the file');
    await plan.first().getByText('M-0', { exact: true }).waitFor();

    await button(page, 'Run now').click();
    await page.getByText('The run is complete').waitFor();
    expect(await findFaults(page)).toEqual([]);
    const counted = (name: string) => page.locator('.count', { hasText: name }).getByRole('link');
    await counted('Withdrawn').click();
    await rows(page, 'Changes of run 1').getByText('Old lamp').waitFor();
    await button(page, 'All 302').click();
    const first = rows(page, 'Changes of run 1').first();
    await first.getByText('+50%').waitFor();
    expect(complaints).toEqual([]);
  });

  it('says that it is being made, and can be cancelled', async () => {
    const { feedId, jobId } = await service.api.uploadFeed(`${header}S-1,Slow,1,EUR\n`, 'Slow preview');
    const { page } = await open('/feeds');
    await page.route(`**/jobs/${jobId}/plan?*`, () => undefined);
    const failed = page.waitForEvent('requestfailed', (request) => request.url().includes('/plan?'));
    await page.goto(`${service.url!}/console/feeds/${feedId}/plan`);
    await page.getByRole('progressbar', { name: /^Comparing .+ with the catalog/ }).waitFor();
    await page.getByText('1 second so far').waitFor();
    expect(await findFaults(page)).toEqual([]);
    await button(page, 'Cancel the preview').focus();
    await page.keyboard.press('Enter');
    await failed;
    await page.getByText('The preview was cancelled').waitFor();
    expect(await focused(page)).not.toBe('BODY');
    expect(await findFaults(page)).toEqual([]);

    await page.unrouteAll();
    await button(page, 'Preview').click();
    await rows(page, 'Preview of the run').first().waitFor();
  });
});

describe('a reverted run', () => {
  it('is marked everywhere, sends no request that is rejected, and is not reverted twice', async () => {
    await service.api.loadFeed(`${header}A-1,Tent,10,EUR\nB-1,Lamp,5,EUR\n`, 'Undoing');
    const { feedId, jobId } = await service.api.loadFeed(
      `${header}A-1,Tent,12,EUR\nC-1,Mat,7,EUR\n`,
      'Undoing',
    );
    const { page, refused } = await open(`/feeds/${feedId}/runs/1`);
    await button(page, 'Undo this run').click();
    await page.getByRole('dialog').getByText('C-1').waitFor();
    await button(page, 'Undo the run').click();

    await page.getByText('Undone by run 2').waitFor();
    expect(await focused(page)).not.toBe('BODY');
    expect(await pricesOf('Undoing')).toEqual({ 'A-1': 10, 'B-1': 5 });
    const { body: job } = await service.api.get(`/jobs/${jobId}`);
    expect(job).toMatchObject({ status: 'completed', reverted_by: 2 });
    const badges = page.locator('.badge');
    expect(await badges.allInnerTexts()).toEqual(['Undone', 'Completed', 'Undone']);
    await link(page, 'Run').click();
    await page.getByText('Run 2 has undone this run').waitFor();
    await page.getByText(/Undone on .+ by /).waitFor();
    expect(await page.getByText('The run is complete').count()).toBe(0);
    await link(page, 'See its changes').click();
    await page.getByRole('heading', { name: 'Changes of run 1' }).waitFor();
    await page.getByText('Run 2 has undone this run').waitFor();
    expect(await button(page, 'Undo this run').count()).toBe(0);
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Feeds' }).click();
    const row = page.locator('tbody tr', { hasText: feedId });
    await row.waitFor();
    expect(await row.locator('.badge').innerText()).toBe('Undone');
    await page.waitForLoadState('networkidle');
    expect(refused).toEqual([]);
  });

  it('has counts that add up to its rows, with each product in one of them', async () => {
    const numbers = Array.from({ length: 30 }, (_, at) => at);
    const feed = (from: number, price: string) =>
      header +
      numbers
        .slice(from)
        .map((at) => `A-${at},Tent,${price},EUR\n`)
        .join('');
    await service.api.loadFeed(feed(0, '10'), 'Counted');
    const { feedId, jobId } = await service.api.loadFeed(feed(5, '9'), 'Counted', { mode: 'replace' });
    const { body: undone } = await service.api.post(`/jobs/${jobId}/revert?run=1`);
    // The restored ones are among the updated ones.
    expect(undone.summary).toMatchObject({ processed: 30, updated: 30, restored: 5 });
    const { page } = await open(`/feeds/${feedId}/runs/2`);
    await page.locator('.counts').waitFor();

    const counts = (await page.locator('.count').allInnerTexts()).map((text) => text.split('\n'));
    expect(Object.fromEntries(counts.map(([name, count]) => [name, Number(count)]))).toEqual({
      Rows: 30,
      New: 0,
      Changed: 25,
      Unchanged: 0,
      Skipped: 0,
      Restored: 5,
    });
    expect(await page.locator('tbody .badge.restore').count()).toBe(5);
    expect(await page.locator('tbody .badge.update').count()).toBe(25);
  });
});

describe('a run without skipped rows', () => {
  it.each([
    ['', 'Every row was loaded. There is nothing to mend.', 0],
    ['ask us', 'Every row was loaded, some with a warning.', 1],
  ])(
    'with the availability "%s" reports whether rows have a warning',
    async (availability, result, links) => {
      const csv = `sku,product_name,availability\nA-1,Tent,${availability}\n`;
      const { feedId } = await service.api.loadFeed(csv, 'Warned');
      const { page } = await open(`/feeds/${feedId}/run`);
      await page.getByText(result).waitFor();

      expect(await link(page, 'See why, and mend them').count()).toBe(0);
      expect(await link(page, 'See the warnings').count()).toBe(links);
    },
  );
});

describe('the focus', () => {
  it('does not move to the body when its element disappears', async () => {
    const { feedId } = await service.api.uploadFeed(`${header}A-1,Tent,x,EUR\nA-2,Lamp,1,EUR\n`, 'Focused');
    await service.api.put('/partners/Focused/formats/own', { columns: { sku: { from: ['Nr'] } } });
    const { page } = await open(`/feeds/${feedId}/plan`);
    const press = async (name: string, role: 'button' | 'link' = 'button') => {
      await page.getByRole(role, { name, exact: true }).last().focus();
      await page.keyboard.press('Enter');
    };

    await button(page, 'Run now').waitFor();
    await press('Run now');
    await page.getByText('The run is complete').waitFor();
    expect(await focused(page)).toBe('H1: feed.csv');
    await press('See why, and mend them', 'link');
    await page.getByRole('grid').waitFor();
    expect(await focused(page)).toBe('H1: feed.csv');
    // The rows of another reason.
    await page.locator('.reasons button').first().focus();
    await page.keyboard.press('Enter');
    expect(await focused(page)).toMatch(/^BUTTON: /);

    await page.goto(`${service.url!}/console/partners/Focused`);
    await press('Delete the format own');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('This partner has no format').or(page.locator('.empty')).last().waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await focused(page)).toBe('H2: Formats');
  });

  it('moves to the content that replaces a failure', async () => {
    const { page } = await open('/');
    await page.route('**/orders?*', (route) => route.fulfill({ status: 400, json: { detail: 'Broken' } }));
    await link(page, 'Orders').click();
    await button(page, 'Try again').waitFor();
    await page.unrouteAll();
    await button(page, 'Try again').focus();
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor({ state: 'detached' });
    expect(await focused(page)).toBe('H1: Orders');
  });
});

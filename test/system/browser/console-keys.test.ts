import type { BrowserContext } from 'playwright-core';
import { openPage, startBrowser } from '../../support/browser';
import { enterKey, openConsole } from '../../support/console';
import { putSource } from '../../support/source-requests';
import { startTestService, withStoredKey, type TestService } from '../../support/service';

let service: TestService;
let browser: BrowserContext;
beforeAll(async () => {
  browser = await startBrowser();
  service = await startTestService();
  await service.api.loadFeed('sku,product_name\nA-1,Mine\n', 'Bound');
  await service.api.loadFeed('sku,product_name\nB-1,Theirs\n', 'Other');
  for (const partner of ['Bound', 'Other'])
    await putSource(service.api, partner, 'export', {
      url: 'https://feeds.example/a.csv',
      is_enabled: false,
    });
});

const openWith = async (key: string, path: string) =>
  (await openConsole(browser, { url: service.url, key }, path)).page;

describe('the console with the key of a partner', () => {
  it('shows this partner only, and enters its name', async () => {
    const { key } = await withStoredKey(service, 'Bound');
    const page = await openWith(key!, '/catalog');
    await page.getByRole('link', { name: 'Mine' }).waitFor();
    expect(await page.locator('tbody tr').count()).toBe(1);

    await page.getByRole('link', { name: 'Partners' }).click();
    await page.getByRole('link', { name: 'Bound' }).waitFor();
    expect(await page.locator('tbody tr').count()).toBe(1);

    await page.getByRole('main').getByRole('link', { name: 'Send a feed' }).click();
    const field = page.getByLabel('Partner', { exact: true });
    await page.locator('.field input[value=Bound]').waitFor();
    expect(await field.inputValue()).toBe('Bound');
  });

  it('keeps what is being entered when its name becomes known later', async () => {
    const { key } = await withStoredKey(service, 'Bound', 'late');
    const page = await openWith(key!, '/send');
    let answer = () => {};
    const asked = new Promise<void>((resolve) => (answer = resolve));
    await page.route(/\/partners(\?|$)/, async (route) => {
      await asked;
      await route.continue();
    });
    await page.reload();
    const field = page.getByLabel('Partner', { exact: true });
    await field.focus();
    answer();
    await page.waitForLoadState('networkidle');
    await page.keyboard.type('Bo');
    expect(await field.inputValue()).toBe('Bo');
  });

  it('shows the sources of this partner only, and enters its name into a new source', async () => {
    const { key } = await withStoredKey(service, 'Bound', 'sources');
    const page = await openWith(key!, '/sources');
    await page.getByRole('link', { name: 'export' }).waitFor();
    expect(await page.locator('tbody tr').count()).toBe(1);

    await page.getByRole('link', { name: 'Add a source' }).click();
    await page.getByLabel('Name of the source').waitFor();
    expect(await page.getByLabel('Partner', { exact: true }).inputValue()).toBe('Bound');
  });
});

describe('the sign-in', () => {
  it.each(['wrong', 'schlüssel–'])('reports an unknown key: %s', async (key) => {
    const { page } = await openPage(browser);
    await page.goto(`${service.url}/console/partners`);
    await enterKey(page, key);
    await page.getByText('This key is missing or unknown.').waitFor();
    expect(await page.getByText('cannot be reached').count()).toBe(0);
  });
});

describe('the console with a read-only key', () => {
  it('previews a run, and explains why it does not start', async () => {
    const { key } = await withStoredKey(service, null, 'reader', { is_read_only: true });
    const { feedId } = await service.api.uploadFeed('sku,product_name\nA-2,New\n', 'Bound');
    const page = await openWith(key!, `/feeds/${feedId}/plan`);
    await page.getByRole('cell', { name: 'New', exact: true }).last().waitFor();
    await page.getByRole('button', { name: 'Run now' }).click();

    const alert = page.getByRole('alert');
    await alert.getByText('This API key is read-only.').waitFor();
    await alert.getByText('Your key is read-only').waitFor();
  });

  it('shows a source, and explains why it is neither fetched nor deleted', async () => {
    const { key } = await withStoredKey(service, null, 'looker', { is_read_only: true });
    const page = await openWith(key!, '/partners/Other/sources/export');
    await page.getByText('This source has not been fetched.').waitFor();
    await page.getByRole('button', { name: 'Fetch now' }).click();
    await page.getByRole('alert').getByText('This API key is read-only.').waitFor();

    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('alert').getByText('Your key is read-only').waitFor();
  });
});

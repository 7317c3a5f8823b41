import type { BrowserContext, Page } from 'playwright-core';
import { findFaults, startBrowser } from '../../support/browser';
import { goToView, openConsole } from '../../support/console';
import { startTestService, testKey, type TestService } from '../../support/service';

let service: TestService;
let browser: BrowserContext;
beforeAll(async () => {
  browser = await startBrowser();
  service = await startTestService();
});

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const open = (path: string) => openConsole(browser, { url: service.url, key: testKey }, path);
const partnerField = (page: Page) => page.getByLabel('Partner', { exact: true });

describe('the field of a partner', () => {
  beforeAll(async () => {
    for (let at = 10; at < 35; at++)
      await service.api.uploadFeed('sku,product_name\nA-1,Tent\n', `Partner ${at}`);
    await service.api.uploadFeed('sku,product_name\nA-1,Tent\n', 'Zeltladen');
  });

  it('suggests partners by what is typed, in each view that has it', async () => {
    const { page, complaints } = await open('/send');
    for (const path of ['/send', '/sources/new', '/sources', '/feeds', '/catalog', '/orders']) {
      await goToView(page, path);
      await partnerField(page).fill('zelt');
      // A list of suggestions is not visible to Playwright: the control of the platform shows it.
      await page.locator('datalist option[value=Zeltladen]').waitFor({ state: 'attached' });
      expect(await page.locator('datalist option[value^=Partner]').count()).toBe(0);
      await partnerField(page).fill('');
    }
    expect(complaints).toEqual([]);
  });
});

describe('a file that is chosen before its partner', () => {
  const feed = {
    name: 'feed.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from('sku,product_name\nA-1,Tent\n'),
  };

  it('is kept until the partner is entered, also by a reload', async () => {
    const { page } = await open('/send');
    await page.setInputFiles('input[type=file]', feed);
    await page.getByText('Enter the name of the partner first.').waitFor();
    await page.getByText('feed.csv').waitFor();
    expect(await findFaults(page)).toEqual([]);
    await page.reload();
    await page.getByText('feed.csv').waitFor();

    await partnerField(page).fill('Latecomer');
    await button(page, 'Check this file').click();
    await page.getByRole('heading', { name: 'What this file is' }).waitFor();
    await button(page, 'Store the file and preview').click();
    await page.getByRole('region', { name: 'What a run would change' }).getByText('Tent').waitFor();
    expect((await service.api.get('/feeds?partner_name=Latecomer')).body.items).toMatchObject([
      { file_name: 'feed.csv' },
    ]);
  });

  it('is kept when it was pasted, and when the service refuses the name of the partner', async () => {
    const { page } = await open('/send');
    await page.getByLabel('Or paste rows').fill('sku,product_name\nA-1,Tent\n');
    await button(page, 'Check the rows').click();
    await page.getByText('Enter the name of the partner first.').waitFor();
    await partnerField(page).fill('x'.repeat(256));
    await button(page, 'Check this file').click();
    await page.getByRole('alert').waitFor();
    await page.getByRole('link', { name: 'Back' }).click();

    await page.getByText('pasted.csv').waitFor();
    await partnerField(page).fill('Pasted late');
    await button(page, 'Check this file').click();
    await page.getByRole('region', { name: 'First rows' }).getByText('Tent').waitFor();
  });
});

import type { BrowserContext, Page } from 'playwright-core';
import document from '../../../generated/openapi.json';
import { openPage, startBrowser, type OpenPage } from '../../support/browser';
import { operations } from '../../support/contract';
import { startUsedService, type ServiceProcess } from '../../support/process';

let service: ServiceProcess;
let browser: BrowserContext;
beforeAll(async () => {
  browser = await startBrowser();
  service = await startUsedService();
  await service.api.loadFeed('sku,product_name,price,currency\nTENT-2,Two-person tent,189.90,EUR\n');
});

async function openDocs(): Promise<OpenPage> {
  const opened = await openPage(browser);
  await opened.page.goto(`${service.url!}/docs`);
  await opened.page.locator('.opblock').first().waitFor();
  return opened;
}

/** Enters the key like a reader. */
async function authorize(page: Page, key: string): Promise<void> {
  await page.locator('.auth-wrapper button.authorize').click();
  await page.locator('.auth-container input').fill(key);
  await page.locator('.auth-btn-wrapper button.authorize').click();
  await page.locator('.auth-btn-wrapper button.btn-done').click();
}

/** Opens an operation and executes it unchanged. @returns the displayed status and body */
async function execute(page: Page, id: string): Promise<{ url: string; status: string; body: string }> {
  const operation = page.locator(`#operations-${id}`);
  await operation.locator('.opblock-summary-control').click();
  await operation.locator('button.execute').click();
  const answer = operation.locator('.live-responses-table .response');
  await answer.waitFor();
  return {
    url: await operation.locator('.request-url pre').innerText(),
    status: (await answer.locator('.response-col_status').innerText()).trim(),
    body: await answer.locator('.highlight-code').first().innerText(),
  };
}

describe('GET /docs in a browser', () => {
  it('shows every operation and event, and sends requests with the entered key, to this service only', async () => {
    const { page, requested, complaints } = await openDocs();

    const shown = await page.locator('.opblock-summary').evaluateAll((rows) =>
      rows.map((row) => {
        const text = (part: string) => row.querySelector(part)?.textContent?.replaceAll('\u200b', '');
        return `${text('.opblock-summary-method')} ${text('.opblock-summary-path')}`;
      }),
    );
    const events = Object.keys(document['x-webhooks']);
    expect(shown.sort()).toEqual(
      [...operations.map(({ title }) => title), ...events.map((event) => `POST ${event}`)].sort(),
    );
    const event = page.locator('.opblock', { hasText: 'feed.uploaded' });
    await event.locator('.opblock-summary-control').click();
    expect(await event.locator('.body-param__example, .highlight-code').first().innerText()).toContain(
      '"FD00001"',
    );
    expect(await event.locator('button.execute').count()).toBe(0);
    // Each operation is executed once: its response stays on the page.
    expect(await execute(page, 'Partners-listPartners')).toMatchObject({
      status: '401',
      body: expect.stringContaining('Invalid or missing API key'),
    });
    expect(complaints.splice(0)).toEqual([expect.stringContaining('401')]);
    await authorize(page, service.key!);

    const health = await execute(page, 'Health-getHealth');
    const products = await execute(page, 'Products-listProducts');

    expect(health).toMatchObject({ status: '200', body: expect.stringContaining('connected') });
    expect(products).toMatchObject({ status: '200', body: expect.stringContaining('TENT-2') });
    // The fields of filters are empty.
    expect(new URL(products.url).searchParams.has('partner_name')).toBe(false);
    expect(new URL(products.url).searchParams.has('cursor')).toBe(false);
    expect(requested.length).toBeGreaterThan(5);
    expect(requested.filter((url) => !url.startsWith(`${service.url!}/`) && url !== 'data:,')).toEqual([]);
    expect(complaints).toEqual([]);
  });
});

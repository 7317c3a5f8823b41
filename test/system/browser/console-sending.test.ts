import type { BrowserContext, Page } from 'playwright-core';
import { findFaults, startBrowser } from '../../support/browser';
import { chooseFile, enterKey, openConsole } from '../../support/console';
import { lineTo } from '../../support/network';
import { startTestService, testKey, type TestService } from '../../support/service';

const mebibyte = 1024 * 1024;

let service: TestService;
let browser: BrowserContext;
beforeAll(async () => {
  browser = await startBrowser();
  service = await startTestService({ uploadBytesMax: 3 * mebibyte });
});

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const open = (options = {}, url = service.url) =>
  openConsole(browser, { url, key: testKey }, '/send', options);

/** A feed of at least this size. */
function feedOf(bytes: number): string {
  const row = (at: number) => `S-${at},Product ${at} of a feed that takes its time\n`;
  const rows = Math.ceil(bytes / row(10_000).length);
  return `sku,product_name\n${Array.from({ length: rows }, (_, at) => row(at)).join('')}`;
}

/** Throttles the upload of the page to two minutes for two MiB: checks of a loaded machine end before it. @returns a function that ends that */
async function sendSlowly(page: Page): Promise<() => Promise<void>> {
  const session = await page.context().newCDPSession(page);
  const unlimited = { offline: false, latency: 0, downloadThroughput: -1 };
  await session.send('Network.emulateNetworkConditions', { ...unlimited, uploadThroughput: 16 * 1024 });
  return () => session.detach();
}

const feedsOf = async (partner: string) =>
  (await service.api.get(`/feeds?partner_name=${partner}`)).body.count;

describe('a slow upload', () => {
  it.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)(
    'shows how much has been sent in %s colors, %i pixels wide, and is cancelled',
    async (colorScheme, width) => {
      const { page, complaints } = await open({ colorScheme, viewport: { width, height: 900 } });
      const partner = `Cancelled-${width}`;
      await chooseFile(page, partner, 'slow.csv', feedOf(2 * mebibyte));
      await sendSlowly(page);
      await button(page, 'Store the file and preview').click();

      const bar = page.getByRole('progressbar', { name: 'Sending' });
      await bar.waitFor();
      await page.getByText(/^[\d.]+ MB of 2\.\d MB$/).waitFor();
      expect(await findFaults(page)).toEqual([]);
      expect(Number(await bar.getAttribute('aria-valuenow'))).toBeLessThan(100);
      await button(page, 'Cancel').click();

      await page.getByText('Sending was cancelled.').waitFor();
      await button(page, 'Try again').waitFor();
      expect(await feedsOf(partner)).toBe(0);
      expect(complaints).toEqual([]);
    },
  );

  it('reports a lost connection, and is stored once when it is sent again', async () => {
    const line = await lineTo(Number(new URL(service.url).port));
    const { page } = await open({}, `http://127.0.0.1:${line.port}`);
    await chooseFile(page, 'Lost', 'slow.csv', feedOf(2 * mebibyte));
    const keys: (string | undefined)[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/feeds/upload')) keys.push(request.headers()['idempotency-key']);
    });
    const sendFast = await sendSlowly(page);
    await button(page, 'Store the file and preview').click();
    await page.getByText(/^[\d.]+ MB of/).waitFor();
    line.cut();

    const alert = page.getByRole('alert');
    await alert.getByText(/^The connection was lost after [\d.]+ MB of 2\.\d MB/).waitFor();
    expect(await findFaults(page)).toEqual([]);
    line.mend();
    await sendFast();
    await button(page, 'Try again').click();

    await page.getByRole('region', { name: 'Preview of the run' }).waitFor();
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(keys).toEqual([keys[0], keys[0]]);
    expect(await feedsOf('Lost')).toBe(1);
  });
});

describe('a rejected file', () => {
  it('shows that it is too large, and instructions, and saves no format', async () => {
    const { page } = await open();
    const renamed = feedOf(5 * mebibyte).replace('sku,product_name', 'Artikelnr,Bezeichnung');
    await chooseFile(page, 'Large', 'large.csv', renamed);
    await page.getByLabel('Save as format').waitFor();
    await button(page, 'Store the file and preview').click();

    const alert = page.getByRole('alert');
    await alert.getByText('Uploaded file exceeds the limit of 3145728 bytes.').waitFor();
    await alert.getByText('Split the file').waitFor();
    expect(await feedsOf('Large')).toBe(0);
    expect((await service.api.get('/formats?partner_name=Large')).body.items).toEqual([]);
  });

  it('shows that the service is busy', async () => {
    const { page } = await open();
    await chooseFile(page, 'Busy', 'feed.csv', 'sku,product_name\nA-1,Tent\n');
    await page.route('**/feeds/upload', (route) => route.fulfill({ status: 503, body: '' }));
    await button(page, 'Store the file and preview').click();

    await page.getByRole('alert').getByText('The service is busy.').waitFor();
  });

  it('leads back to the sign-in when the key is rejected, and keeps the file', async () => {
    const { page } = await open();
    await chooseFile(page, 'Refused', 'feed.csv', 'sku,product_name\nA-1,Tent\n');
    const refusal = { detail: 'Missing or unknown API key.' };
    await page.route('**/feeds/upload', (route) => route.fulfill({ status: 401, json: refusal }));
    await button(page, 'Store the file and preview').click();
    await page.getByText('This key is missing or unknown').waitFor();

    await enterKey(page, testKey);
    await page.getByText('feed.csv').waitFor();
  });
});

describe('a mapping with unsaved changes', () => {
  const feed =
    'Artikelnr;Bezeichnung;Marke;UVP;Preis;Währung\nZ-1;Zelt;Nordwind;"1.299,00";"1.189,90";EUR\nL-1;Lampe;Nordwind;"29,00";"24,50";EUR\n';
  const sample = (page: Page, name: string) => page.getByRole('region', { name });

  it('shows five rows as the service cleans them, and stores nothing', async () => {
    const { page, requested } = await open();
    await chooseFile(page, 'Unsaved', 'artikel.csv', feed);
    await page.getByRole('combobox', { name: 'Price' }).selectOption('UVP');

    const first = sample(page, 'First rows as products').getByRole('row').nth(1);
    await first.getByText('1299.00').waitFor();
    await page.getByRole('combobox', { name: 'Brand' }).selectOption('The same for all rows…');
    await page.getByLabel('Brand of all rows').fill('  Südwind ');
    await first.getByText('Südwind', { exact: true }).waitFor();
    expect(requested.filter((url) => url.includes('/partners/Unsaved'))).toEqual([]);
    expect((await service.api.get('/formats?partner_name=Unsaved')).body.items).toEqual([]);
  });

  it('shows no products without a sku, and names the missing column', async () => {
    const { page } = await open();
    await chooseFile(page, 'Unsaved', 'artikel.csv', feed);
    await page.getByRole('combobox', { name: 'SKU' }).selectOption('Not in the file');

    await page.getByText('No row would be loaded.').waitFor();
    await page.getByText('Choose the column with the SKU, and the one with the name.').waitFor();
    expect(await findFaults(page)).toEqual([]);
  });
});

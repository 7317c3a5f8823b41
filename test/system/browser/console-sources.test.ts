import type { BrowserContext, Page } from 'playwright-core';
import { findFaults, startBrowser } from '../../support/browser';
import { openConsole } from '../../support/console';
import { fetchNow, putSource, startFeedServer, type FeedServer } from '../../support/source-requests';
import { startUsedService, type ServiceProcess } from '../../support/process';

const partner = 'Nordwind & Söhne';
const feed = 'Artikelnr;Bezeichnung;Preis\nZELT-2;Zweimannzelt;189,90\nLAMPE-1;Stirnlampe;kostenlos\n';
const format = {
  delimiter: ';',
  decimal_separator: ',',
  columns: {
    sku: { from: ['Artikelnr'] },
    product_name: { from: ['Bezeichnung'] },
    price: { from: ['Preis'] },
    currency: { value: 'EUR' },
  },
};

let service: ServiceProcess;
let browser: BrowserContext;
let server: FeedServer;
beforeAll(async () => {
  browser = await startBrowser();
  service = await startUsedService({ PRIVATE_ADDRESSES: 'on' });
  const path = `/partners/${encodeURIComponent(partner)}/formats/artikel`;
  expect((await service.api.put(path, format)).status).toBe(200);
});
beforeEach(async () => {
  server = await startFeedServer((_, response) => response.end(feed));
});

const open = (path: string) => openConsole(browser, { url: service.url!, key: service.key! }, path);

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true });
const field = (page: Page, name: string) => page.getByLabel(name, { exact: true });
const choice = (page: Page, name: string) => page.getByRole('combobox', { name, exact: true });
const historyOf = (page: Page) =>
  page.getByRole('region', { name: 'History of fetches' }).locator('tbody tr');

/** Fills in the form of a source, except its secrets. */
async function describeSource(page: Page, name: string, url: string): Promise<void> {
  await field(page, 'Partner').fill(partner);
  await field(page, 'Name of the source').fill(name);
  await field(page, 'Address of the file').fill(url);
  await page.locator('option[value=artikel]').waitFor({ state: 'attached' });
  await choice(page, 'Format').selectOption('artikel');
}

describe('a source', () => {
  it('is added, tested without loading, enabled, fetched, and explains a failure', async () => {
    const { page, complaints } = await open('/sources');
    await page.getByText('A source is an address from which').waitFor();
    await page.getByRole('link', { name: 'Add a source' }).first().click();

    // The schedule is described, with its next times in the reader's time zone.
    await describeSource(page, 'daily-export', `${server.url}/export.csv`);
    await choice(page, 'How often').selectOption('Monday to Friday');
    await page.getByText('Monday through Friday').waitFor();
    expect(await page.locator('.times li').count()).toBe(5);
    await field(page, 'Minute, hour, day, month, day of the week').fill('every day');
    await page.getByText('This is not a schedule').waitFor();
    await field(page, 'Minute, hour, day, month, day of the week').fill('15 4 * * *');
    await field(page, 'User name').fill('acme');
    await field(page, 'Password').fill('battery staple');
    await button(page, 'Add a header').click();
    await field(page, 'Header 1').fill('x-feed-token');
    await field(page, 'Value of header 1').fill('3a7bd3e2360a');
    expect(await findFaults(page)).toEqual([]);
    await button(page, 'Save and test').click();

    // The fetched file, before anything is loaded.
    await heading(page, 'About this file').waitFor();
    await page.getByRole('region', { name: 'First rows as products' }).getByText('Zweimannzelt').waitFor();
    await page.getByText('The price cannot be read').waitFor();
    expect(server.requests[0]!.headers).toMatchObject({
      'x-feed-token': '3a7bd3e2360a',
      authorization: `Basic ${Buffer.from('acme:battery staple').toString('base64')}`,
    });
    const products = `/products?partner_name=${encodeURIComponent(partner)}`;
    expect((await service.api.get(products)).body.count).toBe(0);
    expect(await findFaults(page)).toEqual([]);
    await page.reload();
    await button(page, 'Switch on').click();

    // Enabled: its secrets are masked, and a fetch is loaded.
    await page.getByText('Run at once').waitFor();
    await page.getByText('x-feed-token, password of acme').waitFor();
    expect(await page.locator('.times li').count()).toBe(5);
    await historyOf(page).first().waitFor();
    expect(await historyOf(page).count()).toBe(1);
    await button(page, 'Fetch now').click();
    await historyOf(page).nth(1).waitFor();
    await historyOf(page).first().getByText('New feed').waitFor();
    await historyOf(page).first().getByRole('link', { name: 'Open the feed' }).waitFor();

    server.respond = (_, response) => {
      response.statusCode = 404;
      response.end();
    };
    await button(page, 'Fetch now').click();
    await historyOf(page).nth(2).waitFor();
    await historyOf(page).first().getByText('The server responded with 404. Check the URL.').waitFor();
    await historyOf(page).first().getByText('This fetch failed').waitFor();
    expect(await historyOf(page).first().getByText('http_status').count()).toBe(0);
    expect(await findFaults(page)).toEqual([]);

    await page.getByRole('link', { name: 'Sources' }).first().click();
    const row = page.getByRole('region', { name: 'Sources' }).locator('tbody tr');
    await row.getByText('Failed').waitFor();
    await row.getByText('At 04:15 AM').waitFor();
    expect(complaints).toEqual([]);
  });

  it('that cannot be fetched in its test lists solutions, and keeps the values of its form', async () => {
    server.respond = (_, response) => response.end('<!doctype html><title>Sign in</title>');
    const { page } = await open(`/sources/new?partner=${encodeURIComponent(partner)}`);
    await describeSource(page, 'behind-a-login', `${server.url}/export.csv`);
    await button(page, 'Save and test').click();

    const alert = page.getByRole('alert');
    await alert.getByText('This is an HTML page').waitFor();
    expect(await alert.getByText('not_a_table').count()).toBe(0);
    expect(await findFaults(page)).toEqual([]);
    server.respond = (_, response) => response.end(feed);
    await alert.getByRole('link', { name: 'Change the source' }).click();
    expect(await field(page, 'Address of the file').inputValue()).toBe(`${server.url}/export.csv`);
    expect(await page.getByLabel('Run each feed at once').isChecked()).toBe(true);
    await button(page, 'Save and test').click();

    await button(page, 'Switch on').click();
    await page.getByText('Run at once').waitFor();
  });

  it('for updates shows the fetched file as an update reads it', async () => {
    server.respond = (_, response) => response.end('sku,price,currency\nZELT-2,189.90,EUR\n');
    const prices = { url: `${server.url}/prices.csv`, mode: 'update', is_enabled: false };
    await putSource(service.api, partner, 'prices', prices);
    await fetchNow(service.api, partner, 'prices');
    const { page } = await open(`/partners/${encodeURIComponent(partner)}/sources/prices/test`);

    await page.getByRole('region', { name: 'First rows as products' }).getByText('189.90').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('keeps stored secrets, and warns when a new address loses them', async () => {
    const headers = { 'x-feed-token': 'secret' };
    await putSource(service.api, partner, 'secret', {
      url: `${server.url}/a.csv`,
      format: 'artikel',
      headers,
    });
    const address = `/partners/${encodeURIComponent(partner)}/sources/secret/edit`;
    const { page } = await open(address);
    await page.getByText('Stored. It stays unless you enter another.').waitFor();
    expect(await field(page, 'Value of header 1').inputValue()).toBe('********');
    await field(page, 'Address of the file').fill('https://feeds.example/b.csv');
    await page.getByText('stored secrets are dropped').waitFor();

    await field(page, 'Address of the file').fill(`${server.url}/b.csv`);
    await page.getByText('stored secrets are dropped').waitFor({ state: 'detached' });
    await button(page, 'Save').click();
    await button(page, 'Fetch now').click();
    await historyOf(page).first().getByText('New feed').waitFor();
    expect(server.requests[0]!.headers['x-feed-token']).toBe('secret');
    expect(server.requests[0]!.url).toBe('/b.csv');
  });

  it('shows each error at its field', async () => {
    const { page } = await open('/sources/new');
    await describeSource(page, 'wrong', 'ftp://feeds.example/a.csv');
    await field(page, 'Time zone of these times').fill('Europe/Nowhere');
    await button(page, 'Save').click();

    await page.getByRole('alert').getByText('url: Input should be').waitFor();
    const address = field(page, 'Address of the file');
    expect(await address.getAttribute('aria-invalid')).toBe('true');
    expect(await field(page, 'Time zone of these times').getAttribute('aria-invalid')).toBe('true');
    expect(await findFaults(page)).toEqual([]);
  });

  it('is not replaced by a new one of its name, and has a numeric limit', async () => {
    await putSource(service.api, partner, 'taken', { url: `${server.url}/a.csv` });
    const { page } = await open('/sources/new');
    await describeSource(page, 'taken', `${server.url}/b.csv`);
    await page.getByText('This partner has a source of this name.').waitFor();
    expect(await button(page, 'Save').isDisabled()).toBe(true);

    await field(page, 'Name of the source').fill('free');
    await page.getByRole('radio', { name: 'Replace the catalog' }).check();
    await field(page, 'Products that a run may withdraw, in percent').fill('many');
    await page.getByText('Enter a number from 0 to 100.').waitFor();
    expect(await findFaults(page)).toEqual([]);
    expect(await button(page, 'Save').isDisabled()).toBe(true);
    await field(page, 'Products that a run may withdraw, in percent').fill('35');
    await button(page, 'Save').click();
    await page.getByText('35%').waitFor();
  });

  it('is deleted after a confirmation, by the keyboard', async () => {
    await putSource(service.api, partner, 'unused', { url: `${server.url}/a.csv` });
    const { page } = await open(`/partners/${encodeURIComponent(partner)}/sources/unused`);
    await button(page, 'Delete').focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Delete the source unused?' });
    await dialog.waitFor();
    expect(await findFaults(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Delete' }).focus();
    await page.keyboard.press('Enter');

    await heading(page, 'Sources').waitFor();
    const path = `/partners/${encodeURIComponent(partner)}/sources/unused`;
    expect((await service.api.get(path)).status).toBe(404);
  });
});

describe("a partner's formats", () => {
  const ofPartner = `/partners/${encodeURIComponent(partner)}`;

  it('are listed, changed without a file, and deleted unless a source uses them', async () => {
    await service.api.put(`${ofPartner}/formats/default`, { ...format, null_values: ['-'] });
    await putSource(service.api, partner, 'formatted', { url: `${server.url}/a.csv`, format: 'artikel' });
    const { page, complaints } = await open(ofPartner);
    const rows = page.getByRole('region', { name: 'Formats' }).locator('tbody tr');
    await rows.nth(1).waitFor();
    expect(await rows.nth(0).innerText()).toMatch(/artikel\s+Semicolon\s+UTF-8\s+Comma\s+4/);
    await rows.nth(1).getByText('Used for every file that is sent without a format').waitFor();

    // In use by a source.
    await button(page, 'Delete the format artikel').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('alert').getByText('source').first().waitFor();
    expect(await findFaults(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Close' }).click();

    await rows.nth(1).getByRole('link', { name: 'default' }).click();
    await field(page, 'Name in the file: SKU').fill('Artikelnr | Nummer');
    await choice(page, 'Encoding').selectOption('windows-1252');
    await choice(page, 'Brand').selectOption('Several columns, joined');
    await button(page, 'Save the format').click();
    await page.getByRole('alert').waitFor();
    await field(page, 'Names in the file, joined: Brand').fill('Marke|Linie');
    await field(page, 'Put between them: Brand').fill(' / ');
    await button(page, 'Save the format').click();
    await page.getByText('The format is saved.').waitFor();
    expect(await findFaults(page)).toEqual([]);
    expect((await service.api.get(`${ofPartner}/formats/default`)).body.definition).toEqual({
      ...format,
      encoding: 'windows-1252',
      null_values: ['-'],
      columns: {
        ...format.columns,
        sku: { from: ['Artikelnr', 'Nummer'] },
        brand: { join: ['Marke', 'Linie'], with: ' / ' },
      },
    });

    await page.getByRole('link', { name: partner }).click();
    await button(page, 'Delete the format default').click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.waitFor({ state: 'detached' });
    await rows.nth(1).waitFor({ state: 'detached' });
    expect(complaints.filter((text) => !text.includes('status of 4'))).toEqual([]);
  });
});

import { readFileSync } from 'node:fs';
import type { BrowserContext, Page } from 'playwright-core';
import { findUnreadable, startBrowser } from '../../support/browser';
import { chooseFile, dropFile, goToView, openConsole } from '../../support/console';
import { startUsedService, type ServiceProcess } from '../../support/process';
import { styled, workbookFile } from '../../support/workbooks';

let service: ServiceProcess;
let browser: BrowserContext;
beforeAll(async () => {
  browser = await startBrowser();
  service = await startUsedService();
});

const open = () => openConsole(browser, { url: service.url!, key: service.key! }, '/send');
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
const preview = (page: Page) => page.getByRole('region', { name: 'First rows of the sheet' });
const headerRow = (page: Page, row: number) =>
  page.getByRole('radio', { name: `Row ${row} has the names of the columns` });
const productsOf = async (partner: string) =>
  (await service.api.get(`/products?partner_name=${partner}&sort_by=price&order=asc`)).body.items as Record<
    string,
    unknown
  >[];

const sku = (value: number) => styled(1, value);
const euro = (value: number) => styled(2, value);

/** A price list below a title, with a hidden column; a sheet of notes; a hidden sheet. */
const priceList = () =>
  workbookFile({
    formats: ['00000', '#,##0.00 [$€-407]'],
    sheets: [
      {
        name: 'Preise',
        before: '<cols><col min="3" max="3" width="9" hidden="1"/></cols>',
        rows: [
          ['Preisliste 2026'],
          null,
          ['sku', 'product_name', 'cost', 'price'],
          [sku(123), 'Zweimannzelt', 90, euro(189.9)],
          [sku(124), 'Stirnlampe', 9, euro(24.5)],
          [sku(125), 'Gaskocher', 20, euro(49)],
        ],
      },
      { name: 'Hinweise', rows: [['Gültig ab 1. November']] },
      {
        name: 'Alt',
        rows: [
          ['sku', 'product_name'],
          ['X-1', 'Alt'],
        ],
        state: 'hidden',
      },
    ],
  });

/** Ends the file with the way back, and finds nothing left of it. */
async function expectNothingLeft(page: Page): Promise<void> {
  await page.getByRole('heading', { name: 'Send a feed' }).waitFor();
  expect(await page.getByLabel('Partner', { exact: true }).inputValue()).toBe('Nordwind');
  await Promise.all(page.workers().map((worker) => worker.waitForEvent('close')));
  await page.reload();
  await page.locator('.drop').waitFor();
  expect(await page.getByText('Chosen:').count()).toBe(0);
}

describe('a dropped workbook', () => {
  it('leads from the sheet to the products, with skus as displayed and the currency of the prices', async () => {
    const { page, requested, complaints } = await open();
    const name = 'Preisliste_der_Saison_2026_mit_allen_Artikeln_und_Varianten';
    await dropFile(page, 'Excel', `${name}.xlsx`, priceList());
    expect(await button(page, /^Alt/).innerText()).toContain('Hidden');
    await button(page, /^Preise/).click();

    await preview(page).getByText('00123', { exact: true }).waitFor();
    expect(await headerRow(page, 3).isChecked()).toBe(true);
    expect(await findUnreadable(page)).toEqual([]);
    await page.reload();
    await preview(page).getByText('00123', { exact: true }).waitFor();
    await button(page, 'Check this sheet').click();

    await page.getByText(`${name} - Preise.csv`).waitFor();
    const sample = page.getByRole('region', { name: 'First rows as products' });
    await sample.getByText('189.9').waitFor();
    expect(await findUnreadable(page)).toEqual([]);
    await button(page, 'Store the file and preview').click();
    await button(page, 'Run now').click();
    await page.getByText('Every row was loaded, some with a warning.').waitFor();

    expect(await productsOf('Excel')).toMatchObject([
      { sku: '00124', product_name: 'Stirnlampe', price: 24.5, currency: 'EUR' },
      { sku: '00125', product_name: 'Gaskocher', price: 49, currency: 'EUR' },
      { sku: '00123', product_name: 'Zweimannzelt', price: 189.9, currency: 'EUR' },
    ]);
    expect(complaints).toEqual([]);
    expect(requested.filter((url) => !url.startsWith(`${service.url!}/`) && url !== 'data:,')).toEqual([]);
  });

  it('is saved as the CSV file that is stored and kept', async () => {
    const { page } = await open();
    await dropFile(page, 'Kept', 'book.xlsx', priceList());
    await button(page, /^Preise/).click();
    const [saved] = await Promise.all([page.waitForEvent('download'), button(page, 'Save the CSV').click()]);
    const csv = readFileSync(await saved.path(), 'utf8');
    expect(saved.suggestedFilename()).toBe('book - Preise.csv');
    expect(csv.split(/\r?\n/).slice(0, 2)).toEqual([
      'sku,product_name,cost,price,currency',
      '00123,Zweimannzelt,90,189.9,EUR',
    ]);

    await button(page, 'Check this sheet').click();
    await button(page, 'Store the file and preview').click();
    await page.waitForURL(/\/feeds\/FD\d+\/plan$/);
    const [, feedId] = /feeds\/(FD\d+)\/plan$/.exec(page.url())!;
    expect((await service.api.get(`/feeds/${feedId}/raw`)).body).toBe(csv);
    expect((await service.api.get(`/feeds/${feedId}`)).body.file_name).toBe('book - Preise.csv');
  });

  it('is read with another header row, without hidden columns and without a currency, and after a look at the check', async () => {
    const { page, complaints } = await open();
    await dropFile(page, 'Other', 'book.xlsx', priceList());
    await button(page, /^Preise/).click();
    await page.getByLabel('Take hidden rows and columns').uncheck();
    await page.getByLabel('Add a column currency (EUR)').uncheck();
    await headerRow(page, 3).focus();
    await page.keyboard.press('ArrowDown');
    await page.getByText('Reading the sheet…').waitFor({ state: 'detached' });
    expect(await headerRow(page, 4).isChecked()).toBe(true);
    await button(page, 'Check this sheet').click();
    await page.getByRole('link', { name: 'Choose another sheet' }).click();

    expect(await headerRow(page, 4).isChecked()).toBe(true);
    expect(await page.getByLabel('Take hidden rows and columns').isChecked()).toBe(false);
    await headerRow(page, 3).check();
    const [saved] = await Promise.all([page.waitForEvent('download'), button(page, 'Save the CSV').click()]);
    expect(readFileSync(await saved.path(), 'utf8')).toMatch(/^sku,product_name,price\r?\n/);
    expect(complaints).toEqual([]);
  });

  it('says that a header row has no rows below it until another one is chosen', async () => {
    const { page } = await open();
    await dropFile(page, 'Last', 'book.xlsx', priceList());
    await button(page, /^Preise/).click();
    await headerRow(page, 6).check();
    await page.getByText('Reading the sheet…').waitFor({ state: 'detached' });
    await button(page, 'Check this sheet').click();
    await page.getByRole('alert').getByText('has no rows below row 6').waitFor();
    await headerRow(page, 3).check();
    await page.getByRole('alert').waitFor({ state: 'detached', timeout: 5000 });
  });

  it('with one sheet shows it at once', async () => {
    const { page } = await open();
    const rows = [
      ['sku', 'product_name'],
      ['A-1', 'Tent'],
    ];
    await dropFile(
      page,
      'Single',
      'one.xlsx',
      workbookFile({ sheets: [{ name: 'Sheet1', rows }, { name: 'Sheet2' }] }),
    );
    await preview(page).getByText('Tent').waitFor();
    expect(await button(page, /^Sheet1/).getAttribute('aria-pressed')).toBe('true');
  });

  it('asks for the partner first, and keeps the workbook', async () => {
    const { page } = await open();
    await dropFile(page, '', 'book.xlsx', priceList());
    await page.getByText('Enter the name of the partner first. The file is kept.').waitFor();
    await page.getByLabel('Partner', { exact: true }).fill('Later');
    await button(page, 'Check this file').click();
    await page.getByRole('heading', { name: 'Choose a sheet' }).waitFor();
  });

  it('is the first file that loads the worker', async () => {
    const { page, requested } = await open();
    const workers = () => requested.filter((url) => url.includes('workbook-worker'));
    await chooseFile(page, 'Nordwind', 'products.csv', 'sku,product_name\nA-1,Tent\n');
    expect(workers()).toEqual([]);
    await goToView(page, '/send');
    await dropFile(page, 'Nordwind', 'book.xlsx', priceList());
    await button(page, /^Preise/).waitFor();
    expect(workers()).toHaveLength(1);
  });
});

describe('a workbook that cannot be read', () => {
  const encrypted = () =>
    Buffer.concat([
      Buffer.from('d0cf11e0a1b11ae1', 'hex'),
      Buffer.alloc(504),
      Buffer.from('EncryptedPackage', 'utf16le'),
    ]);

  it.each([
    ['has a password', 'book.xlsx', encrypted, /password/],
    ['is cut off', 'book.xlsx', () => priceList().subarray(0, 900), /damaged or incomplete/],
    ['is a CSV file by its content', 'book.xlsx', () => Buffer.from('sku,product_name\n'), /\.csv/],
    ['has another name', 'book.csv', () => encrypted(), /password/],
    ['is of Excel 97', 'book.xls', () => encrypted().subarray(0, 512), /File > Save As.*Excel Workbook/],
  ])('because it %s leads back with a sentence', async (_, name, content, sentence) => {
    const { page, complaints } = await open();
    await dropFile(page, 'Nordwind', name, content());
    const alert = page.getByRole('alert');
    await alert.getByText('This workbook cannot be read').waitFor();
    expect(await alert.innerText()).toMatch(sentence);
    await alert.getByRole('button', { name: 'Choose another file' }).click();
    await expectNothingLeft(page);
    expect(complaints).toEqual([]);
  });

  it('because its worker cannot be loaded leads back with a sentence', async () => {
    const { page } = await open();
    await page.route('**/assets/workbook-worker-*.js', (route) => route.abort());
    await dropFile(page, 'Nordwind', 'book.xlsx', priceList());
    await page.getByRole('alert').getByText('The service cannot be reached.').waitFor();
    expect(await findUnreadable(page)).toEqual([]);
    await button(page, 'Choose another file').click();
    await expectNothingLeft(page);
  });

  it('in time is cancelled, and leaves nothing', async () => {
    const { page, complaints } = await open();
    await page.route('**/assets/workbook-worker-*.js', () => undefined);
    await dropFile(page, 'Nordwind', 'book.xlsx', priceList());
    await page.getByRole('progressbar', { name: 'Opening the workbook…' }).waitFor();
    expect(await findUnreadable(page)).toEqual([]);
    await button(page, 'Cancel').click();
    await expectNothingLeft(page);
    expect(complaints).toEqual([]);
  });
});
